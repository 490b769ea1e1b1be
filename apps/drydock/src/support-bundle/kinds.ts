import { CLUSTER_API_KINDS } from './cluster-api-kinds.ts';
import type { Fields } from './fields.ts';
import { type BundledKind, CONDITIONS, COUNTS, kind, META, NAMED } from './foreign-kind.ts';

/** Of a set of machines: which image, and where. Not what its machines are told when they start. */
const PROVIDER: Fields = {
  kind: 'kept',
  template: 'kept',
  numCPUs: 'kept',
  memoryMiB: 'kept',
  diskGiB: 'kept',
  workspace: { server: 'kept', datacenter: 'kept', datastore: 'kept', folder: 'kept', resourcePool: 'kept' },
  network: { devices: [{ networkName: 'kept' }] },
  userDataSecret: { name: 'kept' },
  credentialsSecret: { name: 'kept' },
  ami: { id: 'kept' },
  instanceType: 'kept',
  machineType: 'kept',
  vmSize: 'kept',
  region: 'kept',
  zone: 'kept',
  placement: { region: 'kept', availabilityZone: 'kept' },
  image: { publisher: 'kept', offer: 'kept', sku: 'kept', version: 'kept', resourceID: 'kept', type: 'kept' },
  disks: [{ boot: 'kept', image: 'kept', sizeGb: 'kept' }],
};
const MACHINE: Fields = { spec: { providerSpec: { value: PROVIDER } } };
/** Kinds of others; ours are kept by their definitions. */
export const FOREIGN_KINDS: readonly BundledKind[] = [
  kind('cluster/versions', 'releases of the cluster', 'clusterversions/v1/config.openshift.io', {
    metadata: META,
    spec: { clusterID: 'kept', channel: 'kept', overrides: [{ ...NAMED, group: 'kept', unmanaged: 'kept' }] },
    status: {
      desired: { version: 'kept', image: 'kept' },
      history: [{ state: 'kept', version: 'kept', startedTime: 'kept', completionTime: 'kept', verified: 'kept' }],
      conditions: CONDITIONS,
      observedGeneration: 'kept',
    },
  }),
  kind('cluster/infrastructures', 'platform, failure domains and vCenters', 'infrastructures/v1/config.openshift.io', {
    metadata: META,
    spec: {
      platformSpec: {
        type: 'kept',
        vsphere: {
          vcenters: [{ server: 'kept', port: 'kept', datacenters: ['kept'] }],
          failureDomains: [
            {
              name: 'kept',
              region: 'kept',
              zone: 'kept',
              server: 'kept',
              topology: {
                datacenter: 'kept',
                computeCluster: 'kept',
                networks: ['kept'],
                datastore: 'kept',
                resourcePool: 'kept',
                folder: 'kept',
                template: 'kept',
              },
            },
          ],
        },
      },
    },
    status: { infrastructureName: 'kept', platform: 'kept', platformStatus: { type: 'kept' } },
  }),
  kind('cluster/operators', 'what operators of the cluster say', 'clusteroperators/v1/config.openshift.io', {
    metadata: META,
    status: { conditions: CONDITIONS, versions: [{ name: 'kept', version: 'kept' }] },
  }),
  kind('cluster/machine-configurations', 'which sets are managed', 'machineconfigurations/v1/operator.openshift.io', {
    metadata: META,
    spec: {
      managementState: 'kept',
      managedBootImages: {
        machineManagers: [{ resource: 'kept', apiGroup: 'kept', selection: { mode: 'kept' } }],
      },
    },
    status: { conditions: CONDITIONS, observedGeneration: 'kept' },
  }),
  kind('sets/machine-sets', 'sets of machines', 'machinesets/v1beta1/machine.openshift.io', {
    metadata: META,
    spec: { replicas: 'kept', template: MACHINE },
    status: COUNTS,
  }),
  kind('sets/control-plane', 'sets of the control plane', 'controlplanemachinesets/v1/machine.openshift.io', {
    metadata: META,
    spec: {
      replicas: 'kept',
      state: 'kept',
      template: { machineType: 'kept', machines_v1beta1_machine_openshift_io: MACHINE },
    },
    status: COUNTS,
  }),
  kind('sets/machines', 'machines', 'machines/v1beta1/machine.openshift.io', {
    metadata: META,
    spec: { providerID: 'kept', providerSpec: { value: PROVIDER } },
    status: { phase: 'kept', errorReason: 'kept', errorMessage: 'kept', nodeRef: NAMED, conditions: CONDITIONS },
  }),
  ...CLUSTER_API_KINDS,
  kind('watch/virtual-machines', 'machines of the watch', 'virtualmachines/v1alpha5/vmoperator.vmware.com', {
    metadata: META,
    spec: { className: 'kept', powerState: 'kept' },
    status: { powerState: 'kept', uniqueID: 'kept', zone: 'kept', conditions: CONDITIONS },
  }),
  kind('watch/zones', 'zones of the watch', 'zones/v1alpha1/topology.tanzu.vmware.com', {
    metadata: META,
    status: { conditions: CONDITIONS },
  }),
];

/** Of each kind of ours, besides what its definition names. */
export const OWN_META: Fields = META;

/** A Deployment or a pod of ours: images, state, names of variables. Flags are looked at one by one. */
const CONTAINER: Fields = {
  name: 'kept',
  image: 'kept',
  resources: { requests: { '*': 'kept' }, limits: { '*': 'kept' } },
};
export const DEPLOYMENT: Fields = {
  metadata: META,
  spec: { replicas: 'kept', template: { spec: { serviceAccountName: 'kept', containers: [CONTAINER] } } },
  status: COUNTS,
};
export const POD: Fields = {
  metadata: META,
  spec: { nodeName: 'kept', containers: [CONTAINER] },
  status: {
    phase: 'kept',
    reason: 'kept',
    message: 'kept',
    startTime: 'kept',
    conditions: CONDITIONS,
    containerStatuses: [
      {
        name: 'kept',
        ready: 'kept',
        restartCount: 'kept',
        imageID: 'kept',
        state: { '*': { reason: 'kept', startedAt: 'kept', exitCode: 'kept', finishedAt: 'kept' } },
        lastState: { '*': { reason: 'kept', startedAt: 'kept', exitCode: 'kept', finishedAt: 'kept' } },
      },
    ],
  },
};
export const LEASE: Fields = {
  metadata: META,
  spec: {
    holderIdentity: 'kept',
    acquireTime: 'kept',
    renewTime: 'kept',
    leaseDurationSeconds: 'kept',
    leaseTransitions: 'kept',
  },
};
export const EVENT: Fields = {
  metadata: META,
  eventTime: 'kept',
  reportingController: 'kept',
  action: 'kept',
  reason: 'kept',
  type: 'kept',
  note: 'kept',
  regarding: NAMED,
  series: { count: 'kept', lastObservedTime: 'kept' },
  deprecatedFirstTimestamp: 'kept',
  deprecatedLastTimestamp: 'kept',
  deprecatedCount: 'kept',
};
