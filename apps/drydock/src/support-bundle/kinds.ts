import type { Fields } from './fields.ts';

const META: Fields = {
  name: 'kept',
  namespace: 'kept',
  uid: 'kept',
  resourceVersion: 'kept',
  generation: 'kept',
  creationTimestamp: 'kept',
  deletionTimestamp: 'kept',
  finalizers: ['kept'],
  ownerReferences: [{ kind: 'kept', name: 'kept', controller: 'kept' }],
};
const CONDITIONS: Fields = [
  {
    type: 'kept',
    status: 'kept',
    reason: 'kept',
    message: 'kept',
    lastTransitionTime: 'kept',
    observedGeneration: 'kept',
    severity: 'kept',
  },
];
const NAMED: Fields = { name: 'kept', kind: 'kept', apiGroup: 'kept', namespace: 'kept' };

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
const COUNTS: Fields = {
  replicas: 'kept',
  readyReplicas: 'kept',
  availableReplicas: 'kept',
  updatedReplicas: 'kept',
  unavailableReplicas: 'kept',
  observedGeneration: 'kept',
  phase: 'kept',
  conditions: CONDITIONS,
};
/** A set of Cluster API. */
const CAPI_SET: Fields = {
  metadata: META,
  spec: {
    clusterName: 'kept',
    replicas: 'kept',
    paused: 'kept',
    version: 'kept',
    machineTemplate: { infrastructureRef: NAMED },
    template: {
      spec: { version: 'kept', failureDomain: 'kept', infrastructureRef: NAMED, bootstrap: { configRef: NAMED } },
    },
  },
  status: COUNTS,
};
const CAPI_TEMPLATE: Fields = {
  metadata: META,
  spec: {
    template: {
      spec: {
        template: 'kept',
        cloneMode: 'kept',
        server: 'kept',
        datacenter: 'kept',
        datastore: 'kept',
        folder: 'kept',
        resourcePool: 'kept',
        ami: { id: 'kept' },
        image: { id: 'kept' },
      },
    },
  },
};

/** Objects of one kind that a bundle has, and which of their fields. */
export interface BundledKind {
  /** File in the bundle, without `.json`. */
  readonly file: string;
  readonly about: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly fields: Fields;
}

const kind = (file: string, about: string, path: string, fields: Fields): BundledKind => {
  const [plural = '', version = '', ...group] = path.split(/[./]/);
  return { file, about, group: group.join('.'), version, plural, fields };
};

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
  kind('sets/capi-machine-deployments', 'sets of Cluster API', 'machinedeployments/v1beta1/cluster.x-k8s.io', CAPI_SET),
  kind('sets/capi-machine-sets', 'sets of Cluster API', 'machinesets/v1beta1/cluster.x-k8s.io', CAPI_SET),
  kind(
    'sets/capi-control-planes',
    'control planes of Cluster API',
    'kubeadmcontrolplanes/v1beta1/controlplane.cluster.x-k8s.io',
    CAPI_SET,
  ),
  kind(
    'sets/capi-vsphere-templates',
    'templates of Cluster API',
    'vspheremachinetemplates/v1beta1/infrastructure.cluster.x-k8s.io',
    CAPI_TEMPLATE,
  ),
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
