import { classNameOf, isShared } from './cluster-class.ts';
import { type ClusterApiObject, CORE } from './kinds.ts';
import type { Rotation } from './rotation.ts';
import { isRemediated, ROTATED_KINDS, type RotatedKind, type RotatedSet, rotatedSet } from './set.ts';

/** One object by kind and name; cluster-scoped where it has no namespace. */
export interface ObjectName {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** What a rotation is read from. */
export interface RotationReader {
  /** The object as it is on the server now; undefined where it is not there, or its kind is not served. */
  readonly get: (
    name: ObjectName,
    call: { readonly signal?: AbortSignal | undefined },
  ) => Promise<ClusterApiObject | undefined>;
  /** The object as it was seen last. */
  readonly seen: (name: ObjectName) => ClusterApiObject | undefined;
  /** All sets that the topology of a cluster makes, as they were seen last. */
  readonly ofTopology: (namespace: string, cluster: string) => readonly RotatedSet[];
  /** Machines of a set, as they were seen last. */
  readonly machines: (set: RotatedSet) => readonly ClusterApiObject[];
  /** Who else manages the machines of a set. */
  readonly otherAuthority: (set: RotatedSet) => string | undefined;
}

/** Which set. */
export interface SetName {
  readonly kind: RotatedKind;
  readonly namespace: string;
  readonly name: string;
}

/** How much of it is asked anew. */
export interface ObserveOptions {
  /** The set and its cluster too, for a decision that is acted upon. The template always is. */
  readonly fresh: boolean;
  /** Templates that are asked for by name, besides the one that is referred to. */
  readonly beside: Iterable<string>;
  readonly signal?: AbortSignal | undefined;
}

/** Reads what is decided upon; undefined where the set is gone. */
export async function observeRotation(
  { kind, namespace, name }: SetName,
  reader: RotationReader,
  { fresh, beside, signal }: ObserveOptions,
): Promise<Rotation | undefined> {
  const read = (what: ObjectName): Promise<ClusterApiObject | undefined> =>
    fresh ? reader.get(what, { signal }) : Promise.resolve(reader.seen(what));
  const group = ROTATED_KINDS.find((one) => one.kind === kind)?.group ?? CORE;
  const live = await read({ group, kind, namespace, name });
  if (live === undefined) return undefined;
  const set = rotatedSet(kind, live);
  const { reference, clusterName } = set;
  const cluster =
    clusterName === undefined ? undefined : await read({ group: CORE, kind: 'Cluster', namespace, name: clusterName });
  const className = cluster === undefined || !set.byClass ? undefined : classNameOf(cluster);
  const clusterClass =
    className === undefined
      ? undefined
      : await reader.get({ group: CORE, kind: 'ClusterClass', ...className }, { signal });
  const found = new Map<string, ClusterApiObject | undefined>();
  if (reference !== undefined)
    for (const one of new Set([reference.name, ...beside]))
      found.set(one, await reader.get({ ...reference, namespace, name: one }, { signal }));
  return {
    set,
    siblings: [],
    cluster,
    clusterClass,
    template: reference === undefined ? undefined : found.get(reference.name),
    beside: (one) => found.get(one),
    remediated: reader
      .machines(set)
      .filter(isRemediated)
      .map(({ metadata }) => metadata.name),
    otherAuthority: reader.otherAuthority(set),
  };
}

/** With the sets that get their image from the same variable of the topology. */
export function withSiblings(
  seen: Rotation,
  variable: string | undefined,
  reader: Pick<RotationReader, 'ofTopology'>,
): Rotation {
  const { set, cluster } = seen;
  if (variable === undefined || cluster === undefined || !set.byClass) return seen;
  if (!isShared(set, cluster, variable)) return seen;
  const siblings = reader
    .ofTopology(set.namespace, cluster.metadata.name)
    .filter(
      (one) => one.id !== set.id && one.reference?.kind === set.reference?.kind && isShared(one, cluster, variable),
    );
  return { ...seen, siblings };
}
