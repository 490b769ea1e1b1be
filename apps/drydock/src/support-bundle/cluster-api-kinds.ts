import type { Fields } from './fields.ts';
import { CONDITIONS, COUNTS, kind, META, NAMED } from './foreign-kind.ts';

const CORE = 'cluster.x-k8s.io';
const CONTROL_PLANE = `controlplane.${CORE}`;
const INFRASTRUCTURE = `infrastructure.${CORE}`;

const SET: Fields = {
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
/** Names alone: a value may be anything. */
const VARIABLES: Fields = [{ name: 'kept' }];
const TOPOLOGY_SETS: Fields = [
  { name: 'kept', class: 'kept', replicas: 'kept', failureDomain: 'kept', variables: { overrides: VARIABLES } },
];
const CLUSTER: Fields = {
  metadata: META,
  spec: {
    paused: 'kept',
    infrastructureRef: NAMED,
    controlPlaneRef: NAMED,
    topology: {
      class: 'kept',
      classNamespace: 'kept',
      classRef: NAMED,
      version: 'kept',
      variables: VARIABLES,
      controlPlane: { replicas: 'kept', variables: { overrides: VARIABLES } },
      workers: { machineDeployments: TOPOLOGY_SETS, machinePools: TOPOLOGY_SETS },
    },
  },
  status: COUNTS,
};
/** Which variable is written where, and not what else patches write. */
const CLUSTER_CLASS: Fields = {
  metadata: META,
  spec: {
    variables: VARIABLES,
    patches: [
      {
        name: 'kept',
        definitions: [
          {
            selector: { kind: 'kept', apiVersion: 'kept' },
            jsonPatches: [{ op: 'kept', path: 'kept', valueFrom: { variable: 'kept' } }],
          },
        ],
      },
    ],
  },
  status: { conditions: CONDITIONS },
};
const MACHINE: Fields = {
  metadata: META,
  spec: {
    clusterName: 'kept',
    version: 'kept',
    failureDomain: 'kept',
    providerID: 'kept',
    infrastructureRef: NAMED,
    bootstrap: { configRef: NAMED },
  },
  status: { phase: 'kept', failureReason: 'kept', nodeRef: NAMED, conditions: CONDITIONS },
};
const TEMPLATE: Fields = {
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

/** What Drydock reads of Cluster API and its providers. Not what machines are told when they start. */
export const CLUSTER_API_KINDS: readonly ReturnType<typeof kind>[] = [
  kind('sets/capi-clusters', 'clusters of Cluster API', `clusters/v1beta1/${CORE}`, CLUSTER),
  kind('sets/capi-cluster-classes', 'classes of Cluster API', `clusterclasses/v1beta1/${CORE}`, CLUSTER_CLASS),
  kind('sets/capi-machine-deployments', 'sets of Cluster API', `machinedeployments/v1beta1/${CORE}`, SET),
  kind('sets/capi-machine-sets', 'sets of Cluster API', `machinesets/v1beta1/${CORE}`, SET),
  kind('sets/capi-machine-pools', 'pools of Cluster API', `machinepools/v1beta1/${CORE}`, SET),
  kind(
    'sets/capi-control-planes',
    'control planes of Cluster API',
    `kubeadmcontrolplanes/v1beta1/${CONTROL_PLANE}`,
    SET,
  ),
  kind('sets/capi-machines', 'machines of Cluster API', `machines/v1beta1/${CORE}`, MACHINE),
  ...['vsphere', 'aws', 'azure', 'gcp'].map((provider) =>
    kind(
      `sets/capi-${provider}-templates`,
      'templates of Cluster API',
      `${provider}machinetemplates/v1beta1/${INFRASTRUCTURE}`,
      TEMPLATE,
    ),
  ),
  kind('sets/capi-vsphere-clusters', 'vCenters of clusters', `vsphereclusters/v1beta1/${INFRASTRUCTURE}`, {
    metadata: META,
    spec: { server: 'kept', identityRef: NAMED },
    status: { ready: 'kept', conditions: CONDITIONS },
  }),
  kind('sets/capi-vsphere-zones', 'zones of vCenters', `vspheredeploymentzones/v1beta1/${INFRASTRUCTURE}`, {
    metadata: META,
    spec: {
      server: 'kept',
      failureDomain: 'kept',
      controlPlane: 'kept',
      placementConstraint: { resourcePool: 'kept', folder: 'kept' },
    },
    status: { ready: 'kept', conditions: CONDITIONS },
  }),
  kind('sets/capi-vsphere-domains', 'places of zones', `vspherefailuredomains/v1beta1/${INFRASTRUCTURE}`, {
    metadata: META,
    spec: { topology: { datacenter: 'kept', computeCluster: 'kept', datastore: 'kept', networks: ['kept'] } },
  }),
];
