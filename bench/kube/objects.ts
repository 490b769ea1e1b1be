import type { BenchKind } from './job.ts';

const WORDS = Array.from(
  { length: 20 },
  (_, index) => `setting-${index}: value that is as long as such values are, ${index}`,
);
const OWNED = Object.fromEntries(WORDS.map((_, index) => [`f:key-${index}`, {}]));
const managed = (manager: string, subresource?: string): object => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } }, 'f:data': { '.': {}, ...OWNED } },
  ...(subresource === undefined ? {} : { subresource }),
});

/** One object of a kind, as big as real ones are: a ConfigMap, or a MachineSet. Fields by two managers take a third of it. */
export function benchObject(kind: BenchKind, index: number, version: number, annotations: object = {}): object {
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const metadata = {
    name: `object-${index}`,
    namespace: `namespace-${index % 50}`,
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    resourceVersion: String(version),
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: `app-${index % 100}`, 'machine.openshift.io/cluster-api-cluster': 'cluster-x7k2p' },
    annotations: { 'bench.drydock.dev/note': `object ${index}`, ...annotations },
    managedFields: [managed('kubectl-client-side-apply'), managed('machine-controller', 'status')],
  };
  if (kind.kind === 'ConfigMap') {
    const data = Object.fromEntries(WORDS.slice(0, 8).map((word, at) => [`key-${at}`, `${word} of ${index}`]));
    return { apiVersion, kind: kind.kind, metadata, data };
  }
  const labels = { 'machine.openshift.io/cluster-api-machineset': `object-${index}` };
  const value = {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'VSphereMachineProviderSpec',
    template: `cluster-x7k2p-rhcos-domain-${index % 10}`,
    diskGiB: 120,
    memoryMiB: 16384,
    numCPUs: 4,
    network: { devices: [{ networkName: 'VM Network' }] },
    userDataSecret: { name: 'worker-user-data' },
    workspace: {
      server: 'vcenter.example.com',
      datacenter: 'DC0',
      datastore: '/DC0/datastore/LocalDS_0',
      folder: '/DC0/vm/cluster-x7k2p',
      resourcePool: '/DC0/host/DC0_C0/Resources',
    },
  };
  const spec = {
    replicas: 3,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { lifecycleHooks: {}, metadata: {}, providerSpec: { value } } },
  };
  const status = {
    availableReplicas: 3,
    fullyLabeledReplicas: 3,
    observedGeneration: 1,
    readyReplicas: 3,
    replicas: 3,
  };
  return { apiVersion, kind: kind.kind, metadata, spec, status };
}
