import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ADMISSION_KINDS, type Crd, CrdError, type JsonObject, readCrd, readManifests } from '@drydock/crd';
import { type ClusterFlags, connect } from '../connect.ts';
import { UsageError } from '../exit.ts';

/** Definitions from somewhere. */
export interface Source {
  /** As the person named it. */
  readonly name: string;
  readonly crds: readonly Crd[];
  /** Configurations of webhooks, and policies; undefined where only definitions are there, which says nothing about them. */
  readonly admission?: readonly JsonObject[];
  /** What could not be judged, with the reason. The rest is. */
  readonly problems: readonly string[];
}

/** Annotations by which a payload with several definitions of one name says which is for whom. */
const FEATURE_SET = 'release.openshift.io/feature-set';
const PROFILE = 'include.release.openshift.io/self-managed-high-availability';

/** Kinds that answer to webhooks. */
const WORKLOADS = ['DaemonSet', 'Deployment', 'StatefulSet'] as const;

/** Reads a file, a folder with everything below it, or a cluster (`cluster:` for the current context, `cluster:NAME` for another). */
export async function readSource(
  name: string,
  flags: ClusterFlags & { readonly featureSet?: string },
  signal?: AbortSignal,
): Promise<Source> {
  if (name.startsWith('cluster:')) {
    const { clusterAdmission, clusterCrds } = await import('@drydock/preflight');
    const context = name.slice('cluster:'.length);
    await using client = await connect({ ...flags, ...(context === '' ? {} : { context }) });
    const call = signal === undefined ? {} : { signal };
    const { crds, unreadable } = await clusterCrds(client, call);
    const { configurations, notes } = await clusterAdmission(client, call);
    const admission = notes.length === 0 ? { admission: configurations } : {};
    return { name, crds, ...admission, problems: unreadable.map(({ why }) => why) };
  }
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new UsageError(`there is no file or folder ${name}; a cluster is written as cluster: or cluster:CONTEXT`);
  const files = stat.isDirectory() ? globSync(join(name, '**/*.{yaml,yml,json}')).toSorted() : [name];
  const problems: string[] = [];
  const texts = chosen(readTexts(files, problems), flags.featureSet ?? 'Default', problems);
  const crds = new Map<string, Crd>();
  const others: JsonObject[] = [];
  for (const { file, text } of texts) {
    try {
      for (const manifest of readManifests(text, file)) {
        if (manifest['kind'] !== 'CustomResourceDefinition') {
          others.push(manifest);
          continue;
        }
        const crd = readCrd(manifest, file);
        if (crds.has(crd.name))
          problems.push(`${crd.name} is defined twice, the second time in ${file}: the first is judged.`);
        else crds.set(crd.name, crd);
      }
    } catch (error) {
      if (!(error instanceof CrdError)) throw error;
      problems.push(error.message);
    }
  }
  if (crds.size === 0 && problems.length === 0) throw new UsageError(`there is no CustomResourceDefinition in ${name}`);
  const of = (kinds: readonly string[]): readonly JsonObject[] =>
    others.filter(({ kind }) => typeof kind === 'string' && kinds.includes(kind));
  // A folder with workloads or webhooks is a release: what it does not have, it does not bring.
  const isRelease = of([...ADMISSION_KINDS, ...WORKLOADS]).length > 0;
  const admission = isRelease ? { admission: of(ADMISSION_KINDS) } : {};
  return { name, crds: [...crds.values()], ...admission, problems };
}

function readTexts(files: readonly string[], problems: string[]): readonly Text[] {
  return files.flatMap((file): readonly Text[] => {
    try {
      return [{ file, text: readFileSync(file, 'utf8') }];
    } catch (error) {
      problems.push(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`);
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
function chosen(files: readonly Text[], featureSet: string, problems: string[]): readonly Text[] {
  const byName = Map.groupBy(files, ({ file, text }) => nameIn(text) ?? file);
  return [...byName.values()].flatMap((all): readonly Text[] => {
    if (all.length === 1) return all;
    const ofSet = all.filter(({ text }) => isOf(annotation(text, FEATURE_SET), featureSet));
    const ofProfile = ofSet.filter(({ text }) => annotation(text, PROFILE) === 'true');
    const fitting = ofSet.length > 1 && ofProfile.length > 0 ? ofProfile : ofSet;
    if (fitting.length > 1) {
      const which = fitting.map(({ file }) => file).join(', ');
      problems.push(
        `${nameIn(all[0]?.text ?? '') ?? ''} is in ${which}: the first is judged. Name one folder, or choose with --feature-set.`,
      );
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
  return sets === undefined || sets.split(',').some((one) => (one.trim() || 'Default') === featureSet);
}
