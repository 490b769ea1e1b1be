import { at, list, object, text } from './json.ts';
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

/** Who needs a template, in words; undefined where nobody does. */
export function needOf(
  template: ClusterApiObject,
  { sets, infrastructure, clusterClasses, history }: NeedSources,
): string | undefined {
  const { apiVersion = '', kind = '' } = template;
  const { name } = template.metadata;
  const group = apiVersion.split('/')[0] ?? '';
  const refers = ({ reference }: RotatedSet): boolean =>
    reference?.group === group && reference.kind === kind && reference.name === name;
  const set = sets.find(refers);
  if (set !== undefined)
    return isRevision(set)
      ? `${setText(set)}, a revision of ${set.owner?.kind.toLowerCase()} ${set.owner?.name}`
      : setText(set);
  const machine = infrastructure.find(({ metadata: { annotations = {} } }) => {
    const made = annotations[CLONED_FROM_KIND];
    return annotations[CLONED_FROM] === name && (made === undefined || made === `${kind}.${group}`);
  });
  if (machine !== undefined) return `${(machine.kind ?? 'machine').toLowerCase()} ${machine.metadata.name}`;
  const past = history(template);
  if (past !== undefined) return past;
  const holder = clusterClasses.find((one) =>
    classReferences(one).some((ref) => ref.group === group && ref.kind === kind && ref.name === name),
  );
  return holder === undefined ? undefined : `clusterclass ${holder.metadata.name}`;
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
    const reference = text(at(spec, ['template', 'spec', 'template'])) ?? text(object(spec)['template']);
    if (reference === undefined) continue;
    users.set(
      reference.slice(reference.lastIndexOf('/') + 1),
      `${kind.toLowerCase()} ${metadata.namespace ?? ''}/${metadata.name}`,
    );
  }
  return users;
}
