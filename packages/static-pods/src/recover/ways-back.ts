import { isUsable, lastKnownGood, previousRevision, type RevisionPlace } from '../monitor/last-known-good.ts';
import { rootManifest } from '../monitor/monitor.ts';
import { type Environment, looking } from '../revision/environment.ts';
import { revisionOfDirectory } from '../revision/revision.ts';

/** Where a static pod would go back to if its revision did not become ready. */
export interface WayBack {
  /** The static pod without `-pod`. */
  readonly target: string;
  /** The revision that kubelet reads; without a manifest directory the newest one. */
  readonly revision: number;
  /** Undefined where nothing before it can be used. */
  readonly to: number | undefined;
  /** Whether that one is known to be good; otherwise it is the newest before. */
  readonly good: boolean;
}

/** Says for each static pod of a resource directory what a startup monitor would fall back to. Changes nothing. */
export async function waysBack(
  { resourceDir, manifestDir }: { readonly resourceDir: string; readonly manifestDir?: string },
  env: Environment = {},
): Promise<readonly WayBack[]> {
  const ops = looking(env);
  if ((await ops.lstat(resourceDir)) === undefined) return [];
  const newest = new Map<string, number>();
  for (const { name, kind } of await ops.list(resourceDir)) {
    const target = /^(.+)-pod-\d+$/.exec(name)?.[1];
    const revision = target === undefined ? undefined : revisionOfDirectory(name, `${target}-pod`);
    if (target === undefined || revision === undefined || kind !== 'directory') continue;
    newest.set(target, Math.max(revision, newest.get(target) ?? 0));
  }
  const ways: WayBack[] = [];
  for (const [target, last] of [...newest].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const place: RevisionPlace = { resourceDir, target };
    const read = manifestDir === undefined ? undefined : await rootManifest({ manifestDir, target }, env);
    const revision = read?.kind === 'revision' ? read.revision : last;
    const linked = await lastKnownGood(place, ops);
    const good = linked !== undefined && linked !== revision && (await isUsable(place, linked, ops).catch(() => false));
    ways.push({ target, revision, to: good ? linked : await previousRevision(place, revision, ops), good });
  }
  return ways;
}
