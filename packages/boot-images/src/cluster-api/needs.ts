import { at, list, nonEmpty, object } from '../observe/json.ts';
import type { ClusterApiObject } from './kinds.ts';
import { isRevision, type Reference, type RotatedSet, referenceOf, setText } from './set.ts';

/** Everything that can need an infrastructure template of one namespace, as it is now. */
export interface NeedSources {
  /** Of all kinds, revisions among them. */
  readonly sets: readonly RotatedSet[];
  /** What machines became, which says of which template. */
  readonly infrastructure: readonly ClusterApiObject[];
  readonly clusterClasses: readonly ClusterApiObject[];
  /** Which way back needs a template, in words; undefined where none does. */
  readonly history: (template: ClusterApiObject) => string | undefined;
}

/** On what was made of a template. */
export const CLONED_FROM = 'cluster.x-k8s.io/cloned-from-name';
/** Of which kind that template was: `VSphereMachineTemplate.infrastructure.cluster.x-k8s.io`. */
export const CLONED_FROM_KIND = 'cluster.x-k8s.io/cloned-from-groupkind';

/** Tells of a template who needs it, in words; undefined where nobody does. */
export function needsOf(sources: NeedSources): (template: ClusterApiObject) => string | undefined {
  const sets = firstBy(sources.sets, (set) => (set.reference === undefined ? [] : [nameOf(set.reference)]));
  const machines = firstBy(sources.infrastructure, ({ metadata: { annotations = {} } }) => {
    const [name, made] = [annotations[CLONED_FROM], annotations[CLONED_FROM_KIND]];
    return name === undefined ? [] : [made === undefined ? name : `${made} ${name}`];
  });
  const classes = firstBy(sources.clusterClasses, (one) => classReferences(one).map(nameOf));
  return (template) => {
    const { apiVersion = '', kind = '', metadata } = template;
    const { name } = metadata;
    const id = nameOf({ group: apiVersion.split('/')[0] ?? '', kind, name });
    const set = sets.get(id);
    if (set !== undefined)
      return isRevision(set)
        ? `${setText(set)}, a revision of ${set.owner?.kind.toLowerCase()} ${set.owner?.name}`
        : setText(set);
    // One that does not say which kind it was made of may have been made of any.
    const machine = machines.get(id) ?? machines.get(name);
    if (machine !== undefined) return `${(machine.kind ?? 'machine').toLowerCase()} ${machine.metadata.name}`;
    const past = sources.history(template);
    if (past !== undefined) return past;
    const holder = classes.get(id);
    return holder === undefined ? undefined : `clusterclass ${holder.metadata.name}`;
  };
}

/** As annotations have it: kind and group, then the name. */
function nameOf({ group, kind, name }: Reference): string {
  return `${kind}.${group} ${name}`;
}

/** The first of them under each of its keys. */
export function firstBy<T>(all: Iterable<T>, keysOf: (one: T) => readonly string[]): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const one of all) for (const key of keysOf(one)) found.getOrInsert(key, one);
  return found;
}

function classReferences({ spec }: ClusterApiObject): readonly Reference[] {
  const holders = [
    at(spec, ['controlPlane', 'machineInfrastructure']),
    ...['machineDeployments', 'machinePools'].flatMap((kind) =>
      list(at(spec, ['workers', kind])).flatMap((one) => [
        object(one)['infrastructure'],
        at(one, ['template', 'infrastructure']),
      ]),
    ),
  ];
  return holders.flatMap((holder) => referenceOf(object(holder)['templateRef'] ?? object(holder)['ref']) ?? []);
}

/** Names in vCenter that templates and machines use; the last part of a path counts. */
export function namesInUse(objects: Iterable<ClusterApiObject>): ReadonlyMap<string, string> {
  const users = new Map<string, string>();
  for (const { kind = 'object', metadata, spec } of objects) {
    const reference = nonEmpty(at(spec, ['template', 'spec', 'template'])) ?? nonEmpty(object(spec)['template']);
    if (reference === undefined) continue;
    users.set(
      reference.slice(reference.lastIndexOf('/') + 1),
      `${kind.toLowerCase()} ${metadata.namespace ?? ''}/${metadata.name}`,
    );
  }
  return users;
}
