import type { Change } from '../cache/cache.ts';
import type { KubeObject } from '../resource.ts';

/** Whether a change is worth a reconcile. */
export type Predicate<T extends KubeObject = KubeObject> = (change: Change<T>) => boolean;

/**
 * True for what appeared, vanished, or whose spec changed: `metadata.generation` moves with the spec alone. Kinds without a generation
 * (ConfigMap, Secret) change unseen here; do not filter those.
 */
export const generationChanged: Predicate = ({ old, now }) =>
  old?.metadata.generation !== now?.metadata.generation || appeared({ old, now });

/** True for what appeared, vanished, or whose labels changed. */
export const labelsChanged: Predicate = ({ old, now }) =>
  appeared({ old, now }) || !same(old?.metadata.labels, now?.metadata.labels);

/** True for what appeared, vanished, or whose annotations changed. */
export const annotationsChanged: Predicate = ({ old, now }) =>
  appeared({ old, now }) || !same(old?.metadata.annotations, now?.metadata.annotations);

/** True while the object is being deleted, and when it is gone. */
export const deleting: Predicate = ({ now }) => now === undefined || now.metadata.deletionTimestamp !== undefined;

/** True when one of them is. */
export function or<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

/** True when all of them are. */
export function and<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change));
}

/** True when it is not. */
export function not<T extends KubeObject>(predicate: Predicate<T>): Predicate<T> {
  return (change) => !predicate(change);
}

interface Pair {
  readonly old: KubeObject | undefined;
  readonly now: KubeObject | undefined;
}

/** Appearing and vanishing always count, so that no predicate can hide them; a new uid is both at once. */
function appeared({ old, now }: Pair): boolean {
  return old === undefined || now === undefined || old.metadata.uid !== now.metadata.uid;
}

type Words = Readonly<Record<string, string>> | undefined;

function same(a: Words = {}, b: Words = {}): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}
