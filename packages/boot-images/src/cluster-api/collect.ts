import { baseOf, isOurs, RETIRED } from './clone.ts';
import type { ClusterApiObject } from './kinds.ts';
import { type NeedSources, needsOf } from './needs.ts';

/** What is done about one template of ours. */
export type CollectStep =
  | { readonly kind: 'retire' | 'keep'; readonly template: ClusterApiObject }
  | { readonly kind: 'delete'; readonly template: ClusterApiObject };

/** Options of {@link decideCollection}. */
export interface CollectionOptions {
  readonly now: Date;
  /** Templates of each line that stay as a way back although nothing needs them. */
  readonly keep: number;
  /** How long (ms) a template is new, and how long it says that it goes, before it goes. */
  readonly graceMs: number;
}

/** What was decided of the templates of one namespace. */
export interface Collection {
  readonly steps: readonly CollectStep[];
  /** Milliseconds until something may be due; undefined where nothing will be. */
  readonly after: number | undefined;
}

/**
 * Which templates of ours go. One that nothing needs says so first; whoever points at it afterwards takes that off, and a removal that was decided before is refused by the
 * server, because the template is another version then.
 */
export function decideCollection(
  templates: readonly ClusterApiObject[],
  sources: NeedSources,
  { now, keep, graceMs }: CollectionOptions,
): Collection {
  const steps: CollectStep[] = [];
  let after: number | undefined;
  const due = (since: number): boolean => {
    const rest = since + graceMs - now.getTime();
    // A clock that was set back makes nothing old.
    if (rest > 0 || !Number.isFinite(rest)) {
      after = Math.min(after ?? graceMs, Number.isFinite(rest) ? Math.min(rest, graceMs) : graceMs);
      return false;
    }
    return true;
  };
  const needOf = needsOf(sources);
  const own = templates.filter((one) => isOurs(one) && one.metadata.deletionTimestamp === undefined);
  for (const line of Map.groupBy(own, (one) => `${one.kind} ${baseOf(one)}`).values()) {
    const unneeded: ClusterApiObject[] = [];
    for (const template of line) {
      if (needOf(template) === undefined) unneeded.push(template);
      else if (retiredSince(template) !== undefined) steps.push({ kind: 'keep', template });
    }
    const newestFirst = unneeded.toSorted((a, b) => created(b) - created(a));
    for (const [at, template] of newestFirst.entries()) {
      const since = retiredSince(template);
      if (at < keep) {
        if (since !== undefined) steps.push({ kind: 'keep', template });
      } else if (since === undefined) {
        if (due(created(template))) steps.push({ kind: 'retire', template });
      } else if (due(since)) steps.push({ kind: 'delete', template });
    }
  }
  return { steps, after };
}

function created({ metadata }: ClusterApiObject): number {
  return Date.parse(metadata.creationTimestamp ?? '');
}

function retiredSince({ metadata }: ClusterApiObject): number | undefined {
  const said = metadata.annotations?.[RETIRED];
  return said === undefined ? undefined : Date.parse(said);
}
