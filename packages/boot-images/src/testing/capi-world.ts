import type { Clock, KubeClient, KubeObject, Resource } from '@drydock/kube';
import { type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import { BOOTSTRAP } from '../cluster-api/bootstrap-taints.ts';
import { type ClusterApiObject, CONTROL_PLANE, CORE, INFRASTRUCTURE } from '../cluster-api/kinds.ts';
import { CLONED_FROM, CLONED_FROM_KIND } from '../cluster-api/needs.ts';
import { rotatedSet } from '../cluster-api/set.ts';
import { object } from '../observe/json.ts';
import { ourCrds } from './fake-client.ts';

/** Kinds of Cluster API as the in-memory cluster serves them. */
export const CAPI_KINDS: Readonly<Record<string, Resource<ClusterApiObject>>> = Object.fromEntries(
  (
    [
      [CORE, 'Cluster', 'clusters'],
      [CORE, 'ClusterClass', 'clusterclasses'],
      [CORE, 'MachineDeployment', 'machinedeployments'],
      [CORE, 'MachineSet', 'machinesets'],
      [CORE, 'MachinePool', 'machinepools'],
      [CORE, 'Machine', 'machines'],
      [CORE, 'MachineHealthCheck', 'machinehealthchecks'],
      [BOOTSTRAP, 'KubeadmConfigTemplate', 'kubeadmconfigtemplates'],
      [BOOTSTRAP, 'KubeadmConfig', 'kubeadmconfigs'],
      [BOOTSTRAP, 'RKE2ConfigTemplate', 'rke2configtemplates'],
      [BOOTSTRAP, 'RKE2Config', 'rke2configs'],
      [CONTROL_PLANE, 'KubeadmControlPlane', 'kubeadmcontrolplanes'],
      [INFRASTRUCTURE, 'VSphereMachineTemplate', 'vspheremachinetemplates'],
      [INFRASTRUCTURE, 'VSphereMachine', 'vspheremachines'],
      [INFRASTRUCTURE, 'VSphereCluster', 'vsphereclusters'],
      [INFRASTRUCTURE, 'AWSMachineTemplate', 'awsmachinetemplates'],
      [INFRASTRUCTURE, 'AWSMachine', 'awsmachines'],
      [INFRASTRUCTURE, 'MetalMachineTemplate', 'metalmachinetemplates'],
      [INFRASTRUCTURE, 'MetalMachine', 'metalmachines'],
    ] as const
  ).map(([group, kind, plural]) => [kind, { group, version: 'v1beta1', kind, plural, scope: 'Namespaced' } as const]),
);

/** The kind of that name. */
export function capiKind(kind: string): Resource<ClusterApiObject> {
  const found = CAPI_KINDS[kind];
  if (found === undefined) throw new TypeError(`${kind} is not served here`);
  return found;
}

/** A cluster in memory that serves them, and what else is asked for. */
export function capiCluster(
  more: {
    readonly resources?: readonly Resource<KubeObject>[];
    readonly namespaces?: readonly string[];
    readonly clock?: Clock;
  } = {},
): MemoryCluster {
  const resources = [...Object.values(CAPI_KINDS), ...(more.resources ?? [])] as readonly Resource<KubeObject>[];
  const clock = more.clock === undefined ? {} : { clock: more.clock };
  return memoryCluster({ resources, crds: ourCrds, namespaces: ['ns', ...(more.namespaces ?? [])], ...clock });
}

/** A client that is also told which of these kinds are served. */
export function servingCapi(client: KubeClient): KubeClient {
  const served = Map.groupBy(Object.values(CAPI_KINDS), ({ group, version }) => `${group}/${version}`);
  const groups = [...served.keys()].map((of) => {
    const [name, version] = of.split('/');
    return { name, versions: [{ version }], preferredVersion: { version } };
  });
  return {
    ...client,
    raw: async (request, call) => {
      if (request.path === '/apis') return { groups };
      const kinds = served.get(request.path.replace('/apis/', ''));
      if (kinds === undefined) return client.raw(request, call);
      return { resources: kinds.map(({ plural, kind }) => ({ name: plural, kind, namespaced: true })) };
    },
  };
}

/** An object of Cluster API as a person applies it. */
export function capiObject(
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>>,
  metadata: Partial<ClusterApiObject['metadata']> = {},
): ClusterApiObject {
  const { group, version } = capiKind(kind);
  return { apiVersion: `${group}/${version}`, kind, metadata: { name, namespace: 'ns', ...metadata }, spec };
}

/** A reference to a template. */
export function templateRef(name: string, kind: string = 'VSphereMachineTemplate'): Readonly<Record<string, string>> {
  return { apiVersion: `${INFRASTRUCTURE}/v1beta1`, kind, name, namespace: 'ns' };
}

/** A template of a person, with something besides the image by which it is known again. */
export function vsphereTemplate(name: string, image: string, numCPUs: number): ClusterApiObject {
  return capiObject('VSphereMachineTemplate', name, {
    template: { spec: { template: image, numCPUs, server: 'vc1' } },
  });
}

/** What machines are told before they join. */
export function kubeadmTemplate(name: string, spec: Readonly<Record<string, unknown>> = {}): ClusterApiObject {
  return capiObject('KubeadmConfigTemplate', name, { template: { spec } });
}

/** A reference to it, as a set has it. */
export function bootstrapRef(name: string): Readonly<Record<string, unknown>> {
  const apiVersion = `${BOOTSTRAP}/v1beta1`;
  return { configRef: { apiVersion, kind: 'KubeadmConfigTemplate', name, namespace: 'ns' } };
}

/** A deployment that names a template. */
export function machineDeployment(
  name: string,
  template: string,
  more: Readonly<Record<string, unknown>> = {},
): ClusterApiObject {
  const { strategy = { type: 'OnDelete' }, replicas = 2, version = 'v1.34.2', ...rest } = more;
  return capiObject('MachineDeployment', name, {
    ...{ clusterName: 'c1', replicas, strategy, selector: {} },
    template: {
      spec: { clusterName: 'c1', version, bootstrap: {}, infrastructureRef: templateRef(template), ...rest },
    },
  });
}

/**
 * What Cluster API's controllers make of the deployments of a namespace, in one go: a revision for each template that a deployment names, machines of the newest, and of the older revisions
 * one that is kept. It stands in for them; a template that is not there makes nothing.
 */
export function rolloutActor(cluster: MemoryCluster, kept: number = 1, provider: 'VSphere' | 'AWS' = 'VSphere'): void {
  const made = `${provider}Machine`;
  const all = (kind: string): ClusterApiObject[] => {
    const { plural, group } = capiKind(kind);
    return Object.entries(cluster.snapshot())
      .filter(([id]) => id.startsWith(`${plural}.${group} `))
      .map(([, one]) => one as ClusterApiObject);
  };
  const put = (one: ClusterApiObject): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace: 'ns', name: one.metadata.name }, one);
  const remove = (kind: string, name: string): void =>
    cluster.put(capiKind(kind), { namespace: 'ns', name }, undefined);
  for (const deployment of all('MachineDeployment')) {
    const { reference, replicas, rolls } = rotatedSet('MachineDeployment', deployment);
    if (reference === undefined) continue;
    const { name } = deployment.metadata;
    const owner = { apiVersion: `${CORE}/v1beta1`, kind: 'MachineDeployment', name, uid: 'u', controller: true };
    const mine = all('MachineSet').filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === name);
    const revision = mine.find((one) => rotatedSet('MachineSet', one).reference?.name === reference.name);
    const number = Math.max(0, ...mine.map((one) => Number(one.metadata.annotations?.['revision'])));
    if (revision === undefined || Number(revision.metadata.annotations?.['revision']) !== number)
      put(
        capiObject(
          'MachineSet',
          revision?.metadata.name ?? `${name}-${number + 1}`,
          {
            ...{ clusterName: 'c1', selector: { matchLabels: { set: name } } },
            template: { spec: object(object(object(deployment.spec)['template'])['spec']) },
          },
          { ownerReferences: [owner], annotations: { revision: String(number + 1) } },
        ),
      );
    const newest = all('MachineSet')
      .filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === name)
      .toSorted((a, b) => Number(b.metadata.annotations?.['revision']) - Number(a.metadata.annotations?.['revision']));
    for (const old of newest.slice(1 + kept)) remove('MachineSet', old.metadata.name);
    const { group, kind } = reference;
    const machines = all(made).filter(({ metadata }) => metadata.labels?.['set'] === name);
    if (rolls === 'at once')
      for (const machine of machines)
        if (machine.metadata.annotations?.[CLONED_FROM] !== reference.name) remove(made, machine.metadata.name);
    const left = all(made).filter(({ metadata }) => metadata.labels?.['set'] === name);
    if (cluster.peek(capiKind(`${made}Template`), { namespace: 'ns', name: reference.name }) === undefined) continue;
    for (let at = left.length; at < replicas; at += 1)
      put(
        capiObject(
          made,
          `${name}-${number}-${at}`,
          {},
          {
            labels: { set: name },
            annotations: { [CLONED_FROM]: reference.name, [CLONED_FROM_KIND]: `${kind}.${group}` },
          },
        ),
      );
  }
}
