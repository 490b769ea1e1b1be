import type { Client } from '@drydock/kube';
import { type CapiObject, type Contract, capi, infrastructureRef, team } from './rotation-world.ts';

/** A control plane of kubeadm of three machines, made from a template of its name. */
export function controlPlaneOf(contract: Contract, name: string): CapiObject {
  const infrastructure = { infrastructureRef: infrastructureRef(contract, capi.template, name) };
  return {
    metadata: { name, namespace: team, labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } },
    spec: {
      ...{ replicas: 3, version: 'v1.34.2', kubeadmConfigSpec: { format: 'cloud-config' } },
      machineTemplate: contract === 'v1beta2' ? { spec: infrastructure } : infrastructure,
    },
  };
}

/** Name of the template that a control plane names. */
export function templateOfPlane({ spec }: CapiObject): string {
  const machine = spec?.['machineTemplate'] as Machine & { readonly spec?: Machine };
  return (machine.spec ?? machine).infrastructureRef?.name ?? '';
}

interface Machine {
  readonly infrastructureRef?: { readonly name: string };
}

/** A variable of a cluster's topology. */
export interface TopologyVariable {
  readonly name: string;
  readonly value: unknown;
}

/** The variables of cluster `c2`. */
export async function classVariables(client: Client): Promise<readonly TopologyVariable[]> {
  const { spec = {} } = await client.get(capi.cluster, { namespace: team, name: 'c2' });
  return (spec['topology'] as { readonly variables: readonly TopologyVariable[] }).variables;
}

/** Cluster `c2`, by a class whose variable `imageName` is the image, and what the topology controller makes of it: deployment `classy`. */
export async function createClassyCluster(client: Client): Promise<void> {
  const { group, version, kind } = capi.template;
  const reference = (name: string, of = kind): object => ({ apiVersion: `${group}/${version}`, kind: of, name });
  const path = '/spec/template/spec/template';
  const matchResources = { machineDeploymentClass: { names: ['worker'] } };
  await client.create(capi.clusterClass, {
    metadata: { namespace: team, name: 'by-class' },
    spec: {
      infrastructure: { templateRef: reference('c2', 'VSphereClusterTemplate') },
      controlPlane: { templateRef: { ...reference('c2'), kind: 'KubeadmControlPlaneTemplate' } },
      workers: {
        machineDeployments: [
          {
            class: 'worker',
            bootstrap: { templateRef: reference('classy', 'KubeadmConfigTemplate') },
            infrastructure: { templateRef: reference('classy') },
          },
        ],
      },
      variables: [
        { name: 'imageName', required: true, schema: { openAPIV3Schema: { type: 'string' } } },
        { name: 'replicas', required: false, schema: { openAPIV3Schema: { type: 'integer' } } },
      ],
      patches: [
        {
          name: 'image',
          definitions: [
            {
              selector: { apiVersion: `${group}/${version}`, kind, matchResources },
              jsonPatches: [{ op: 'replace', path, valueFrom: { variable: 'imageName' } }],
            },
          ],
        },
      ],
    },
  });
  const c1 = await client.get(capi.cluster, { namespace: team, name: 'c1' });
  await client.create(capi.cluster, {
    metadata: { namespace: team, name: 'c2' },
    spec: {
      ...c1.spec,
      topology: {
        ...{ classRef: { name: 'by-class' }, version: 'v1.34.2' },
        variables: [
          { name: 'imageName', value: 'by-hand' },
          { name: 'replicas', value: 3 },
        ],
        workers: { machineDeployments: [{ class: 'worker', name: 'md-0' }] },
      },
    },
  });
}

/** Labels of what a topology makes. */
export const classyLabels: Readonly<Record<string, string>> = {
  'topology.cluster.x-k8s.io/owned': '',
  'topology.cluster.x-k8s.io/deployment-name': 'md-0',
};
