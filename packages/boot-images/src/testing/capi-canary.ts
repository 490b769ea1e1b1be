import type { BootImagePolicySpec } from '@drydock/api';
import { type MemoryCluster, until } from '@drydock/kube/testing';
import type { ClusterApiObject } from '../cluster-api/kinds.ts';
import { type CapiMachineActor, capiMachineActor, type RotatedMachineFate } from './capi-machine-actor.ts';
import { type CapiRoleOptions, putPolicy, type RunningCapiRole, runCapiRole, saidOfDeployment } from './capi-role.ts';
import {
  bootstrapRef,
  capiCluster,
  capiKind,
  capiObject,
  kubeadmTemplate,
  machineDeployment,
  templateRef,
} from './capi-world.ts';

const namespace = 'ns';

/** The role for Cluster API on a cluster in memory, under a policy that wants canaries, and whoever makes machines. */
export interface CanaryScene extends AsyncDisposable {
  readonly cluster: MemoryCluster;
  readonly role: RunningCapiRole;
  readonly actor: CapiMachineActor;
  /** Machines that were ever made. */
  readonly made: () => number;
  readonly all: (kind: string) => readonly ClusterApiObject[];
  readonly policy: (generation: number, image: string, more?: BootImagePolicySpec) => void;
  /** Until a deployment is so; the controllers of machines work meanwhile. */
  readonly said: (
    name: string,
    what: string,
    wanted: (status: NonNullable<ReturnType<typeof saidOfDeployment>>) => boolean,
  ) => Promise<void>;
}

/** See {@link CanaryScene}. `objects` besides the cluster and what its machines are told. */
export async function canaryScene(
  objects: readonly ClusterApiObject[],
  {
    fate = 'boots',
    canary = {},
    image = 'new',
    ...options
  }: Pick<CapiRoleOptions, 'may' | 'elapsed' | 'now' | 'store'> & {
    readonly fate?: RotatedMachineFate | (() => RotatedMachineFate);
    readonly canary?: object;
    /** What the policy wants from the beginning. */
    readonly image?: string;
  } = {},
): Promise<CanaryScene> {
  const cluster = capiCluster();
  const put = (one: ClusterApiObject): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace, name: one.metadata.name }, one);
  for (const one of [capiObject('Cluster', 'c1', {}), kubeadmTemplate('boot'), ...objects]) put(one);
  const policy: CanaryScene['policy'] = (generation, image, more = {}) =>
    putPolicy(
      cluster,
      {
        ...{ canary: { mode: 'Machine', ...canary }, clusterAPI: { rollout: 'Allow' } },
        image: { catalogue: [{ version: 'v1.34.2', ...imageAt(image) }] },
        ...more,
      } as BootImagePolicySpec,
      generation,
    );
  policy(1, image);
  let made = 0;
  cluster.subscribe(({ resource, old }) => {
    if (resource.startsWith('machines.') && old === undefined) made += 1;
  });
  const role = await runCapiRole(cluster, options);
  const actor = capiMachineActor({
    client: cluster.client(),
    templates: () => 1,
    fate: typeof fate === 'function' ? fate : () => fate,
  });
  const all: CanaryScene['all'] = (kind) =>
    Object.entries(cluster.snapshot()).flatMap(([id, one]) =>
      id.startsWith(`${capiKind(kind).plural}.`) ? [one as ClusterApiObject] : [],
    );
  return {
    ...{ cluster, role, actor, all, policy, made: () => made },
    said: (name, what, wanted) =>
      until(`${name}: ${what}`, async () => {
        await actor.round();
        const status = saidOfDeployment(cluster, name);
        return status !== undefined && wanted(status);
      }).then(() => undefined),
    [Symbol.asyncDispose]: () => role[Symbol.asyncDispose](),
  };
}

/** An address in place of a name is imported. */
function imageAt(image: string): object {
  return image.startsWith('http') ? { url: image, sha256: 'a'.repeat(64) } : { image };
}

/** A template of machines on AWS. */
export const awsTemplate = (name: string): ClusterApiObject =>
  capiObject('AWSMachineTemplate', name, {
    template: { metadata: { labels: { team: 'a' } }, spec: { ami: { id: 'old' }, instanceType: 'm6i' } },
  });

/** A deployment of them, in one failure domain. */
export const awsDeployment = (name: string, more: Readonly<Record<string, unknown>> = {}): ClusterApiObject => {
  const infrastructureRef = templateRef(name, 'AWSMachineTemplate');
  return machineDeployment(name, name, {
    infrastructureRef,
    bootstrap: bootstrapRef('boot'),
    failureDomain: 'fd',
    ...more,
  });
};
