import { isUtf8 } from 'node:buffer';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMISSION_KINDS, type Crd, CrdError, type JsonObject, readCrd, readManifests } from '@drydock/crd';
import type { PayloadFiles } from '@drydock/release';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { UsageError } from '../exit.ts';
import { imageFiles, type RegistryFlags, registryFlags } from '../release/payload-source.ts';
import { type SourceName, sourceNamed, waysOf } from '../release/source-name.ts';

/** Definitions from somewhere. */
export interface Source {
  /** As the person named it. */
  readonly name: string;
  readonly crds: readonly Crd[];
  /** Configurations of webhooks, and policies; undefined where only definitions are there, which says nothing about them. */
  readonly admission?: readonly JsonObject[];
  /** `NAMESPACE/NAME` of Services that come with the definitions. */
  readonly services: ReadonlySet<string>;
  /** What could not be judged. The rest is. */
  readonly problems: readonly Problem[];
}

/** Something that could not be judged. */
export interface Problem {
  /** Name of the definition, where it is known: it is there, whatever it is. */
  readonly crd?: string;
  readonly why: string;
}

/** Annotations by which a payload with several definitions of one name says which is for whom. */
const FEATURE_SET = 'release.openshift.io/feature-set';
const PROFILE = 'include.release.openshift.io/self-managed-high-availability';

/** Kinds that answer to webhooks. */
const WORKLOADS = ['DaemonSet', 'Deployment', 'StatefulSet'] as const;

/** The sources that CRDs come from. */
const CRD_SOURCES = ['folder', 'file', 'image', 'cluster'] as const;
/** How they are named, for help. */
export const CRD_ARGUMENT: string = waysOf(CRD_SOURCES);

/** How CRDs are read. */
export interface SourceFlags extends ClusterFlags, RegistryFlags {
  readonly featureSet: string;
}

/** Adds the flags that say how CRDs are read. */
export function sourceFlags(verb: Command): Command {
  return registryFlags(
    clusterFlags(verb).option(
      '--feature-set <name>',
      'feature set whose CRDs count, where there are several',
      'Default',
    ),
  );
}

/** Reads CRDs, and what comes with them: of a file, of a folder with everything below it, of a release image, or of a cluster. */
export async function readSource(name: string, flags: SourceFlags, signal: AbortSignal): Promise<Source> {
  const source = sourceNamed(name, CRD_SOURCES);
  if (source.kind === 'cluster') return ofCluster(name, source, flags, signal);
  const problems: Problem[] = [];
  const read =
    source.kind === 'image'
      ? textsOf(await imageFiles(name, flags, signal))
      : readTexts(source.kind === 'folder' ? filesBelow(source.path) : [source.path], problems);
  return ofTexts(name, chosen(read, flags.featureSet, problems), problems);
}

async function ofCluster(
  name: string,
  { context }: SourceName & { readonly kind: 'cluster' },
  flags: ClusterFlags,
  signal: AbortSignal,
): Promise<Source> {
  const { clusterAdmission, clusterCrds } = await import('@drydock/preflight');
  await using client = await connect({ ...flags, ...(context === undefined ? {} : { context }) });
  const { crds, unreadable } = await clusterCrds(client, { signal });
  const { configurations, notes } = await clusterAdmission(client, { signal });
  const admission = notes.length === 0 ? { admission: configurations } : {};
  return { name, crds, ...admission, services: new Set(), problems: unreadable };
}

function filesBelow(folder: string): readonly string[] {
  return globSync(join(folder, '**/*.{yaml,yml,json}')).toSorted();
}

/** The manifests of a release: its other files are no YAML or JSON by their names. */
function textsOf({ files }: PayloadFiles): readonly Text[] {
  const manifests = [...files].filter(([file]) => /\.(?:ya?ml|json)$/.test(file));
  return manifests.map(([file, text]) => ({ file, text })).toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

function ofTexts(name: string, texts: readonly Text[], problems: Problem[]): Source {
  const crds = new Map<string, Crd>();
  const others: JsonObject[] = [];
  for (const { file, text } of texts) {
    for (const manifest of attempt(() => readManifests(text, file), problems) ?? []) {
      if (manifest['kind'] !== 'CustomResourceDefinition') {
        others.push(manifest);
        continue;
      }
      const { name: named } = (manifest['metadata'] ?? {}) as { readonly name?: string };
      const crd = attempt(() => readCrd(manifest, file), problems, named);
      if (crd === undefined) continue;
      if (crds.has(crd.name))
        problems.push({ why: `${crd.name} is defined twice, the second time in ${file}: the first is judged.` });
      else crds.set(crd.name, crd);
    }
  }
  if (crds.size === 0 && problems.length === 0) throw new UsageError(`there is no CustomResourceDefinition in ${name}`);
  const of = (kinds: readonly string[]): readonly JsonObject[] =>
    others.filter(({ kind }) => typeof kind === 'string' && kinds.includes(kind));
  // A folder with workloads or webhooks is a release: what it does not have, it does not bring.
  const isRelease = of([...ADMISSION_KINDS, ...WORKLOADS]).length > 0;
  const admission = isRelease ? { admission: of(ADMISSION_KINDS) } : {};
  const services = new Set(of(['Service']).map(placeOf));
  return { name, crds: [...crds.values()], ...admission, services, problems };
}

function placeOf(object: JsonObject): string {
  const { name, namespace } = (object['metadata'] ?? {}) as { readonly name?: string; readonly namespace?: string };
  return `${namespace ?? ''}/${name ?? ''}`;
}

/** undefined where the input is at fault: that is told, and the rest goes on. */
function attempt<T>(read: () => T, problems: Problem[], crd?: string): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CrdError)) throw error;
    problems.push({ ...(crd === undefined ? {} : { crd }), why: error.message });
    return undefined;
  }
}

function readTexts(files: readonly string[], problems: Problem[]): readonly Text[] {
  return files.flatMap((file): readonly Text[] => {
    try {
      const bytes = readFileSync(file);
      if (isUtf8(bytes)) return [{ file, text: bytes.toString() }];
      problems.push({ why: `${file} cannot be read: it is no text in UTF-8` });
      return [];
    } catch (error) {
      problems.push({ why: `${file} cannot be read: ${error instanceof Error ? error.message : ''}` });
      return [];
    }
  });
}

interface Text {
  readonly file: string;
  readonly text: string;
}

/**
 * Of several files for one definition, that of the feature set; one that no release of this set ships is left out. Told from the text, because reading it all takes most of the time of a comparison.
 */
function chosen(files: readonly Text[], featureSet: string, problems: Problem[]): readonly Text[] {
  const byName = Map.groupBy(files, ({ file, text }) => nameIn(text) ?? file);
  const sets = new Set(files.flatMap(({ text }) => setsIn(annotation(text, FEATURE_SET) ?? 'Default')));
  // A slip of the pen would leave out whatever there are several of.
  if (sets.size > 1 && !sets.has(featureSet))
    problems.push({
      why: `no file is for the feature set ${featureSet}; there are ${[...sets].toSorted().join(', ')}`,
    });
  return [...byName.values()].flatMap((all): readonly Text[] => {
    if (all.length === 1) return all;
    const ofSet = all.filter(({ text }) => isOf(annotation(text, FEATURE_SET), featureSet));
    const ofProfile = ofSet.filter(({ text }) => annotation(text, PROFILE) === 'true');
    const fitting = ofSet.length > 1 && ofProfile.length > 0 ? ofProfile : ofSet;
    if (fitting.length > 1) {
      const which = fitting.map(({ file }) => file).join(', ');
      const name = nameIn(all[0]?.text ?? '') ?? '';
      problems.push({
        why: `${name} is in ${which}: the first is judged. Name one folder, or choose with --feature-set.`,
      });
    }
    return fitting.slice(0, 1);
  });
}

/** Name of the only definition in a text; undefined where there may be several. */
function nameIn(text: string): string | undefined {
  const names = [...text.matchAll(/^ {2}name: ([a-z0-9.-]+)$/gm)];
  return names.length === 1 && /^kind: CustomResourceDefinition$/m.test(text) ? names[0]?.[1] : undefined;
}

function annotation(text: string, name: string): string | undefined {
  const escaped = name.replaceAll('.', '\\.');
  return new RegExp(`^ {4}${escaped}: ["']?([^"'\\n]*)["']?$`, 'm').exec(text)?.[1];
}

function isOf(sets: string | undefined, featureSet: string): boolean {
  return sets === undefined || setsIn(sets).includes(featureSet);
}

function setsIn(sets: string): readonly string[] {
  return sets.split(',').map((one) => one.trim() || 'Default');
}
