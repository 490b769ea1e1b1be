import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Crd, CrdError, readCrds } from '@drydock/crd';
import { clusterCrds } from '@drydock/preflight';
import { type ClusterFlags, connect } from '../connect.ts';
import { UsageError } from '../exit.ts';

/** Definitions from somewhere. */
export interface Source {
  /** As the person named it. */
  readonly name: string;
  readonly crds: readonly Crd[];
  /** What could not be judged, with the reason. The rest is. */
  readonly problems: readonly string[];
}

/** Annotations by which a payload with several definitions of one name says which is for whom. */
const FEATURE_SET = 'release.openshift.io/feature-set';
const PROFILE = 'include.release.openshift.io/self-managed-high-availability';

/** Reads a file, a folder with everything below it, or a cluster (`cluster:` for the current context, `cluster:NAME` for another). */
export async function readSource(
  name: string,
  flags: ClusterFlags & { readonly featureSet?: string },
  signal?: AbortSignal,
): Promise<Source> {
  if (name.startsWith('cluster:')) {
    const context = name.slice('cluster:'.length);
    await using client = await connect({ ...flags, ...(context === '' ? {} : { context }) });
    const { crds, unreadable } = await clusterCrds(client, signal === undefined ? {} : { signal });
    return { name, crds, problems: unreadable.map(({ why }) => why) };
  }
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new UsageError(`there is no file or folder ${name}; a cluster is written as cluster: or cluster:CONTEXT`);
  const files = stat.isDirectory() ? globSync(join(name, '**/*.{yaml,yml,json}')).toSorted() : [name];
  const problems: string[] = [];
  const texts = chosen(
    files.map((file) => ({ file, text: readFileSync(file, 'utf8') })),
    flags.featureSet ?? 'Default',
    problems,
  );
  const crds = new Map<string, Crd>();
  for (const { file, text } of texts) {
    try {
      for (const crd of readCrds(text, file)) {
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
  return { name, crds: [...crds.values()], problems };
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
        `${nameIn(all[0]?.text ?? '') ?? ''} is in ${which}: name one folder, or choose with --feature-set.`,
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
