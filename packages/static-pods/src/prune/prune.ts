import { basename, dirname, join } from 'node:path';
import { type Entry, type FsOps, lockFile, nodeOps, recover, removeTreeDurable } from '@drydock/durable';
import { usage } from '../errors.ts';
import { type Environment, looking } from '../revision/environment.ts';
import { checkObjectName } from '../revision/install-spec.ts';
import { revisionOfDirectory } from '../revision/revision.ts';

/** What to prune. */
export interface PruneSpec {
  readonly resourceDir: string;
  /** Directories named `<this>-<revision>` are its revisions. */
  readonly staticPod: string;
  /** Newer ones are not touched. */
  readonly maxEligibleRevision: number;
  readonly protectedRevisions: readonly number[];
}

/** An entry of the resource directory. */
export interface PruneEntry extends Entry {
  /** Of a link: the revision that it leads to. */
  readonly leadsTo?: number;
}

/** Which directory goes next, or why none does. */
export type PruneStep = { readonly do: 'remove'; readonly name: string } | { readonly do: 'done' };

/** What a prune did. */
export interface PruneResult {
  readonly removed: readonly string[];
  /** Looks like a revision by its beginning, but is none: left alone. */
  readonly skipped: readonly string[];
}

/** The oldest revision that may go: eligible, not protected, and no link (such as last-known-good) leads to it. */
export function decidePrune(entries: readonly PruneEntry[], spec: PruneSpec): PruneStep {
  const linked = new Set(entries.map(({ leadsTo }) => leadsTo));
  const [oldest] = entries
    .filter(({ kind }) => kind === 'directory')
    .map(({ name }) => ({ name, revision: revisionOfDirectory(name, spec.staticPod) ?? Infinity }))
    .filter(({ revision }) => revision <= spec.maxEligibleRevision)
    .filter(({ revision }) => !spec.protectedRevisions.includes(revision) && !linked.has(revision))
    .sort((a, b) => a.revision - b.revision);
  return oldest === undefined ? { do: 'done' } : { do: 'remove', name: oldest.name };
}

/** Removes revisions that nobody needs, each as a whole: a reader and a power cut find all of it or nothing. Fails with `StaticPodError` or `DurableError`. */
export async function prune(spec: PruneSpec, env: Environment = {}): Promise<PruneResult> {
  const { resourceDir, staticPod, maxEligibleRevision, protectedRevisions } = spec;
  if (!(Number.isInteger(maxEligibleRevision) && maxEligibleRevision > 0))
    throw usage('--max-eligible-revision must be greater than 0');
  if (!protectedRevisions.every(Number.isInteger)) throw usage('--protected-revisions must be numbers');
  if (resourceDir === '') throw usage('--resource-dir is required');
  checkObjectName('--static-pod-name', staticPod);
  const { ops = nodeOps } = env;
  const look = looking(env);
  const removed: string[] = [];
  if ((await look.lstat(resourceDir)) === undefined) return { removed, skipped: [] };
  await using _lock = await lockFile(join(resourceDir, `.${staticPod}.lock`), {
    ops,
    ...(env.signal && { signal: env.signal }),
  });
  // Also what crashes left of revisions that are no longer wanted; the lock is held, so no installer is making one of them.
  await recover(resourceDir, { ...env, owns: (name) => revisionOfDirectory(name, staticPod) !== undefined });
  for (;;) {
    env.signal?.throwIfAborted();
    const entries = await observe(look, spec);
    const step = decidePrune(entries, spec);
    if (step.do === 'done') {
      const skipped = entries
        .filter(({ name, kind }) => kind === 'directory' && isOdd(name, staticPod))
        .map(({ name }) => name);
      for (const name of skipped) env.log?.(`${name} is no revision of ${staticPod}: left alone`);
      return { removed, skipped };
    }
    await removeTreeDurable(join(resourceDir, step.name), resourceDir, env);
    env.log?.(`${step.name} removed`);
    removed.push(step.name);
  }
}

async function observe(ops: FsOps, { resourceDir, staticPod }: PruneSpec): Promise<readonly PruneEntry[]> {
  const entries: PruneEntry[] = [];
  for (const entry of await ops.list(resourceDir)) {
    const target = entry.kind === 'symlink' ? await ops.readlink(join(resourceDir, entry.name)) : undefined;
    // Links lead to a manifest within a revision, or to the revision itself; absolute ones may be seen through another mount.
    const revision = [basename(dirname(target ?? '')), basename(target ?? '')]
      .map((name) => revisionOfDirectory(name, staticPod))
      .find((one) => one !== undefined);
    entries.push(revision === undefined ? entry : { ...entry, leadsTo: revision });
  }
  return entries;
}

function isOdd(name: string, staticPod: string): boolean {
  return name.startsWith(staticPod) && revisionOfDirectory(name, staticPod) === undefined;
}
