import { type Advice, authoring, type Crd, diff, type Step, type WayVerdict, wayOf, weightOf } from '@drydock/crd';
import type { Source } from './sources.ts';

/** Which ways are compared. */
export const DIRECTIONS = ['both', 'upgrade', 'rollback'] as const;

/** The way from one set of definitions to another. */
export interface Way {
  readonly direction: 'upgrade' | 'rollback';
  readonly from: string;
  readonly to: string;
  /** What could not be read counts: nobody knows what it would have said. */
  readonly verdict: WayVerdict;
  /** Definitions with differences, in the order of their names. */
  readonly crds: readonly { readonly crd: string; readonly steps: readonly Step[] }[];
}

/** The answer of `crd check`; `docs/schemas/crd-check.json` describes it for machines. */
export interface Check {
  readonly ways: readonly Way[];
  /** What the author of the newer definitions should reconsider. */
  readonly advice: readonly (Advice & { readonly crd: string })[];
  readonly problems: readonly string[];
  /** Pairs of definitions that were compared: of one name, and both read. */
  readonly compared: number;
}

/** Compares two sets; `advises`: with advice to authors. */
export function compare(old: Source, now: Source, direction: (typeof DIRECTIONS)[number], advises: boolean): Check {
  const ways: Way[] = [];
  if (direction !== 'rollback') ways.push(wayBetween('upgrade', old, now));
  if (direction !== 'upgrade') ways.push(wayBetween('rollback', now, old));
  const advice = (advises ? old.crds : []).flatMap((crd) => {
    const next = now.crds.find(({ name }) => name === crd.name);
    return next === undefined ? [] : authoring(crd, next).map((one) => ({ ...one, crd: crd.name }));
  });
  const all = [...old.problems, ...now.problems];
  const unread = new Set(all.map(({ crd }) => crd));
  const pairs = old.crds.filter(({ name }) => !unread.has(name) && now.crds.some((crd) => crd.name === name));
  return { ways, advice, problems: all.map(({ why }) => why), compared: pairs.length };
}

function wayBetween(direction: Way['direction'], from: Source, to: Source): Way {
  const before = new Map(from.crds.map((crd): readonly [string, Crd] => [crd.name, crd]));
  const after = new Map(to.crds.map((crd): readonly [string, Crd] => [crd.name, crd]));
  // What is there and cannot be read is not absent.
  const unread = new Set([...from.problems, ...to.problems].map((problem) => problem.crd));
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => !unread.has(name)).toSorted();
  const crds = names.flatMap((crd) => {
    const { steps } = diff(before.get(crd), after.get(crd));
    return steps.length === 0 ? [] : [{ crd, steps }];
  });
  const doubts = [...from.problems, ...to.problems].map(() => 'doubt' as const);
  const verdict = wayOf([...crds.flatMap(({ steps }) => steps.map(weightOf)), ...doubts]);
  return { direction, from: from.name, to: to.name, verdict, crds };
}
