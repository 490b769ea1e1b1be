import { type CanaryGroup, canaryGroup, canaryLabels } from '../canary/machine.ts';
import { at, list, nonEmpty, object } from '../observe/json.ts';
import { BOOTSTRAP, TAINTED_KINDS, tainted, taintFault } from './bootstrap-taints.ts';
import { machineKind } from './collect-templates.ts';
import { type ImageLeaf, specWithImage } from './image-leaf.ts';
import { type ClusterApiObject, CORE } from './kinds.ts';
import { CLONED_FROM, CLONED_FROM_KIND } from './needs.ts';
import type { Rotation, RotationCanary } from './rotation.ts';
import { CLUSTER_NAME, type Reference, type RotatedSet, referenceOf, setText } from './set.ts';

/** Where sets and templates say what their machines are made of. */
const MACHINE: readonly string[] = ['spec', 'template', 'spec'];

/** What becomes one machine of Cluster API. */
export interface CanaryParts {
  readonly machine: ClusterApiObject;
  /** What it is told before it joins, and what it is made of; both go with it, because it owns them. */
  readonly bootstrap: ClusterApiObject;
  readonly infrastructure: ClusterApiObject;
}

/** Why no canary is made of a set, by what it says itself, as a clause; undefined where one can be. */
export function canaryFault({ set, siblings, template }: Rotation, leaf: ImageLeaf): string | undefined {
  const plane = [set, ...siblings].find(({ kind }) => kind === 'KubeadmControlPlane');
  if (plane === set) return 'a machine of the control plane would join etcd';
  if (plane !== undefined) return `its image comes from a variable that ${setText(plane)} follows, too`;
  if (set.kind === 'MachinePool') return 'machines of a pool are not made one by one';
  if (set.clusterName === undefined) return 'it names no cluster';
  if (template === undefined || !MACHINE.every((key, index) => leaf.path[index] === key))
    return `${leaf.path.join('.')} is nothing that one machine is made of`;
  const bootstrap = bootstrapOf(set);
  if (bootstrap === undefined)
    return 'its machines start from a Secret with bootstrap data, which cannot keep workloads off one of them';
  if (bootstrap.group !== BOOTSTRAP || !TAINTED_KINDS.includes(bootstrap.kind))
    return `its machines start from a ${bootstrap.kind}, of which it is not known how to keep workloads off one of them`;
  return undefined;
}

/** The same by what its machines are told before they join; `kind`: of the template that says it. */
export function bootstrapFault(kind: string, config: ClusterApiObject | undefined): string | undefined {
  if (config === undefined) return `the ${kind} that its machines start from is not there`;
  const whose = `${kind.toLowerCase()} ${config.metadata.name}`;
  if (at(config.spec, ['template']) === undefined) return `${whose} has no spec.template`;
  const fault = taintFault(kind, object(at(config.spec, MACHINE.slice(1))));
  return fault === undefined ? undefined : `${whose}: ${fault}`;
}

/** What machines of a set are told before they join; undefined where they are given data. */
export function bootstrapOf({ object: live }: RotatedSet): Reference | undefined {
  return referenceOf(at(live, [...MACHINE, 'bootstrap', 'configRef']));
}

/** Sets whose new machines start alike are one group. A policy that changes, or another image, makes another one. */
export function rotationGroup(set: RotatedSet, { policy }: RotationCanary, image: string): CanaryGroup {
  const { namespace, clusterName, failureDomains } = set;
  // Without a failure domain nobody knows which sets are equal.
  const place = failureDomains.length > 0 ? failureDomains : setText(set);
  const architecture = set.object.metadata.annotations?.['capacity.cluster-autoscaler.kubernetes.io/labels'] ?? '';
  const { name, uid, generation } = policy;
  const line = [name, uid, namespace, clusterName, place, architecture, bootstrapOf(set)];
  const tried = [name, uid, generation, namespace, clusterName, place, architecture, bootstrapOf(set), image];
  return canaryGroup(tried, line, image);
}

/** Labels of a canary of Cluster API: that of its cluster, without which no controller looks at it, and none by which a set knows its machines. */
export function canaryLabelsOf({ clusterName = '' }: RotatedSet, group: string): Readonly<Record<string, string>> {
  return { [CLUSTER_NAME]: clusterName, ...canaryLabels(group) };
}

/**
 * The canary of a group: a machine as the set would make it, from the image that is tried. It lacks owner and labels of the set, so that no set, autoscaler or health check counts it, and it registers
 * with a taint that keeps workloads off. `config`: what its machines are told before they join.
 */
export function canaryParts(
  { set, template }: Rotation,
  group: CanaryGroup,
  {
    leaf,
    config,
    machineVersion,
  }: { readonly leaf: ImageLeaf; readonly config: ClusterApiObject; readonly machineVersion: string },
): CanaryParts {
  const { namespace, object: live } = set;
  const labels = canaryLabelsOf(set, group.id);
  const metadata = { name: group.machine, namespace, labels };
  const spec = object(at(live, MACHINE));
  const bootstrap = object(spec['bootstrap']);
  const { apiVersion: configVersion = '' } = config;
  const { apiVersion = '', kind = '' } = template ?? {};
  const changed: ClusterApiObject = {
    metadata: { name: '' },
    spec: specWithImage(template ?? config, leaf, group.image) ?? {},
  };
  const made = object(at(changed.spec, ['template']));
  const { labels: own = {}, annotations = {} } = object(made['metadata']) as Pick<
    ClusterApiObject['metadata'],
    'labels' | 'annotations'
  >;
  const { kind: configTemplate = '' } = config;
  const configKind = machineKind(configTemplate);
  return {
    machine: {
      ...{ apiVersion: `${CORE}/${machineVersion}`, kind: 'Machine', metadata },
      spec: {
        ...spec,
        bootstrap: { ...bootstrap, configRef: referred(bootstrap['configRef'], configKind, group.machine) },
        infrastructureRef: referred(spec['infrastructureRef'], machineKind(kind), group.machine),
      },
    },
    bootstrap: {
      ...{ apiVersion: configVersion, kind: configKind, metadata },
      spec: tainted(configTemplate, object(at(config.spec, MACHINE.slice(1)))),
    },
    infrastructure: {
      ...{ apiVersion, kind: machineKind(kind) },
      metadata: {
        ...metadata,
        labels: { ...own, ...labels },
        annotations: {
          ...annotations,
          [CLONED_FROM]: template?.metadata.name ?? '',
          [CLONED_FROM_KIND]: `${kind}.${apiVersion.split('/')[0]}`,
        },
      },
      spec: object(made['spec']),
    },
  };
}

/** A reference in the form that the set's own has, to another object. */
function referred(reference: unknown, kind: string, name: string): Readonly<Record<string, unknown>> {
  return { ...object(reference), kind, name };
}

/** With the machine as its owner, so that it goes with it. */
export function ownedBy(
  part: ClusterApiObject,
  { apiVersion = '', kind = '', metadata }: ClusterApiObject,
): ClusterApiObject {
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true };
  return { ...part, metadata: { ...part.metadata, ownerReferences: [owner] } };
}

/** What there is to see of a machine of Cluster API, for people, in one line. `infrastructure`: what it is made of, which alone says why its provider cannot make it. */
export function rotationSeen({ status }: ClusterApiObject, infrastructure?: ClusterApiObject): string {
  const { phase, nodeRef } = object(status);
  const { reason, message } = failureIn(status);
  const parts = [
    `phase ${nonEmpty(phase) ?? 'none'}`,
    reason === undefined && message === undefined
      ? undefined
      : `error ${[reason, message].filter((one) => one !== undefined).join(': ')}`,
    ...TOLD.flatMap((type) => {
      const found = conditionIn(status, type);
      const said = nonEmpty(found?.['message']) ?? nonEmpty(found?.['reason']);
      return found === undefined || found['status'] === 'True' || said === undefined ? [] : [`${type}: ${said}`];
    }),
    ...new Set(list(object(infrastructure?.status)['conditions']).map(object).flatMap(refusal)),
    nodeName(nodeRef) === undefined ? 'no node' : `node ${nodeName(nodeRef)}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

/** A condition of a provider that is not as it should be. */
function refusal({ status, reason, message }: Readonly<Record<string, unknown>>): readonly string[] {
  const said = [nonEmpty(reason), nonEmpty(message)].filter((one) => one !== undefined);
  return status === 'False' && said.length > 0 ? [said.join(': ')] : [];
}

/** Conditions of which a message tells why it is not there yet; v1beta1 calls some otherwise. */
const TOLD = ['BootstrapConfigReady', 'BootstrapReady', 'InfrastructureReady', 'NodeReady', 'NodeHealthy'];

/** What a machine says of its end, in either version of the contract. */
export function failureIn(status: unknown): {
  readonly reason: string | undefined;
  readonly message: string | undefined;
} {
  const held = [object(status), object(at(status, ['deprecated', 'v1beta1']))];
  const first = (key: string): string | undefined =>
    held.map((one) => nonEmpty(one[key])).find((one) => one !== undefined);
  return { reason: first('failureReason'), message: first('failureMessage') };
}

/** The node that a machine has become, where it is ready; undefined where there is none yet. */
export function readyNodeIn(status: unknown): string | undefined {
  const condition = conditionIn(status, 'NodeReady') ?? conditionIn(status, 'NodeHealthy');
  return condition?.['status'] === 'True' ? nodeName(object(status)['nodeRef']) : undefined;
}

function nodeName(reference: unknown): string | undefined {
  return nonEmpty(object(reference)['name']);
}

function conditionIn(status: unknown, type: string): Readonly<Record<string, unknown>> | undefined {
  return [...list(at(status, ['v1beta2', 'conditions'])), ...list(object(status)['conditions'])]
    .map(object)
    .find((one) => one['type'] === type);
}
