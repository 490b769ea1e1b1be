import type { KubeObject } from '@drydock/kube';
import { benchObject } from '../kube/objects.ts';

/** The kinds whose definitions the benchmark multiplies, each with an object that looks like a real one. */
export const OBJECTS: Readonly<Record<string, (apiVersion: string, index: number) => KubeObject>> = {
  clusteroperators: clusterOperator,
  clusterversions: clusterVersion,
  machines: (apiVersion, index) => ({ ...machineSpec(apiVersion, 'Machine', index), status: MACHINE_STATUS }),
  machinesets: (apiVersion, index) => ({
    ...machineSpec(apiVersion, 'MachineSet', index),
    status: { replicas: 3, readyReplicas: 3, availableReplicas: 3, observedGeneration: 1 },
  }),
};

const TIME = '2026-01-02T03:04:05Z';
const IMAGE = `registry.example.com/release@sha256:${'0123456789abcdef'.repeat(4)}`;

function head(
  apiVersion: string,
  kind: string,
  index: number,
): Required<Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>> {
  const annotations = { 'example.com/description': `object ${index} of a cluster that was not made for a benchmark` };
  const labels = { 'example.com/zone': `zone-${index % 7}`, 'example.com/owner': `team-${index % 31}` };
  return { apiVersion, kind, metadata: { name: `object-${index}`, labels, annotations } };
}

function condition(type: string, index: number): object {
  return {
    type,
    status: index % 3 === 0 ? 'False' : 'True',
    reason: 'AsExpected',
    message: `${type}: all ${index} of its parts are as they should be`,
    lastTransitionTime: TIME,
  };
}

function clusterOperator(apiVersion: string, index: number): KubeObject {
  const conditions = ['Available', 'Progressing', 'Degraded', 'Upgradeable', 'EvaluationConditionsDetected'];
  const related = Array.from({ length: 12 }, (_, at) => ({
    group: 'apps',
    resource: 'deployments',
    namespace: `openshift-component-${at}`,
    name: `part-${at}`,
  }));
  return {
    ...head(apiVersion, 'ClusterOperator', index),
    spec: {},
    status: {
      conditions: conditions.map((type) => condition(type, index)),
      versions: [{ name: 'operator', version: `4.21.${index % 20}` }],
      relatedObjects: related,
    },
  } as KubeObject;
}

/** One in twenty of each kind has a capability that the older release does not know. */
function clusterVersion(apiVersion: string, index: number): KubeObject {
  const known = ['Build', 'CSISnapshot', 'Console', 'ImageRegistry', 'Insights', 'MachineAPI', 'NodeTuning', 'Storage'];
  const capabilities = Math.floor(index / 60) % 20 === 0 ? [...known, 'OperatorLifecycleManagerV1'] : known;
  const history = Array.from({ length: 20 }, (_, at) => ({
    state: 'Completed',
    startedTime: TIME,
    completionTime: TIME,
    version: `4.${21 - Math.floor(at / 5)}.${at}`,
    image: IMAGE,
    verified: true,
  }));
  return {
    ...head(apiVersion, 'ClusterVersion', index),
    spec: { clusterID: '6f1c1b0e-2c7e-4d3a-9b58-0d6c7b1a2f34', channel: 'stable-4.21' },
    status: {
      desired: { version: '4.21.0', image: IMAGE, channels: ['stable-4.20', 'stable-4.21'] },
      history,
      observedGeneration: 3,
      versionHash: 'hash',
      capabilities: { enabledCapabilities: capabilities, knownCapabilities: capabilities },
      conditions: ['Available', 'Failing', 'Progressing', 'RetrievedUpdates'].map((type) => condition(type, index)),
      availableUpdates: null,
    },
  } as unknown as KubeObject;
}

const MACHINE_STATUS = {
  phase: 'Running',
  lastUpdated: TIME,
  addresses: [
    { type: 'InternalIP', address: '10.0.0.7' },
    { type: 'Hostname', address: 'worker-7' },
  ],
  nodeRef: { kind: 'Node', name: 'worker-7' },
};

function machineSpec(apiVersion: string, kind: 'Machine' | 'MachineSet', index: number): KubeObject {
  const set = { group: '', version: '', kind: 'MachineSet', plural: '', count: 1 };
  const { spec } = benchObject(set, index, 1) as unknown as {
    readonly spec: { readonly template: { readonly spec: object } };
  };
  return { ...head(apiVersion, kind, index), spec: kind === 'Machine' ? spec.template.spec : spec } as KubeObject;
}
