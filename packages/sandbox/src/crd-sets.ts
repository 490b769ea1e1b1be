import { HISTORY_SETS } from './crd-histories.ts';
import type { CrdSet } from './crd-set.ts';

const manifests = (group: string, names: readonly string[]): readonly string[] =>
  names.map((name) => `${group}/zz_generated.crd-manifests/${name}.crd.yaml`);

const CVO = '0000_00_cluster-version-operator_01_';
const CONFIG = '0000_10_config-operator_01_';
const MACHINE_API = '0000_10_machine-api_01_';
const MCO = '0000_80_machine-config_01_';

// The Default feature set, except machineconfigurations: skew enforcement and control plane machine sets as a
// resource of managedBootImages exist only in CustomNoUpgrade.
const generated = (pools: string): readonly string[] => [
  ...manifests('config/v1', [
    `${CVO}clusteroperators`,
    `${CVO}clusterversions-Default`,
    `${CONFIG}featuregates`,
    `${CONFIG}infrastructures-Default`,
  ]),
  ...manifests('machine/v1', ['0000_10_control-plane-machine-set_01_controlplanemachinesets-Default']),
  ...manifests('machine/v1beta1', [`${MACHINE_API}machines-Default`, `${MACHINE_API}machinesets-Default`]),
  ...manifests('machineconfiguration/v1', [`${MCO}${pools}`, `${MCO}machineconfigs`]),
  ...manifests('operator/v1', [`${MCO}machineconfigurations-CustomNoUpgrade`]),
];

/** Every set that a build copies unless it is told which. Where each version keeps its manifests differs by release. */
export const CRD_SETS: readonly CrdSet[] = [
  { name: 'openshift-4.21', pin: 'crds-4.21', files: generated('machineconfigpools') },
  { name: 'openshift-4.17', pin: 'crds-4.17', files: generated('machineconfigpools-Default') },
  {
    name: 'openshift-4.14',
    pin: 'crds-4.14',
    files: [
      'config/v1/0000_00_cluster-version-operator_01_clusteroperator.crd.yaml',
      'config/v1/0000_00_cluster-version-operator_01_clusterversion.crd.yaml',
      'config/v1/0000_10_config-operator_01_featuregate.crd.yaml',
      'config/v1/0000_10_config-operator_01_infrastructure-Default.crd.yaml',
      'machine/v1/0000_10_controlplanemachineset.crd.yaml',
      'machine/v1beta1/0000_10_machine.crd.yaml',
      'machine/v1beta1/0000_10_machineset.crd.yaml',
    ],
  },
  {
    name: 'cluster-api',
    pin: 'crds-cluster-api',
    files: ['clusters', 'machinedeployments', 'machines', 'machinesets'].map(
      (plural) => `core/config/crd/bases/cluster.x-k8s.io_${plural}.yaml`,
    ),
  },
  {
    name: 'cluster-api-sets',
    pin: 'crds-cluster-api',
    files: [
      ...['clusters', 'clusterclasses', 'machinedeployments', 'machinepools', 'machines', 'machinesets'].map(
        (plural) => `core/config/crd/bases/cluster.x-k8s.io_${plural}.yaml`,
      ),
      'controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml',
    ],
  },
  {
    name: 'cluster-api-vsphere',
    pin: 'crds-cluster-api-vsphere',
    files: [
      ...['clusteridentities', 'clusters', 'deploymentzones', 'failuredomains', 'machines', 'machinetemplates', 'vms'],
    ].map((plural) => `config/default/crd/bases/infrastructure.cluster.x-k8s.io_vsphere${plural}.yaml`),
  },
];

/** What programs of upstream watch besides; fetched when they are named. */
const NEIGHBOUR_SETS: readonly CrdSet[] = [
  {
    name: 'machine-api-controllers',
    pin: 'crds-4.21',
    files: manifests('config/v1', [`${CONFIG}dnses`]),
  },
  {
    name: 'cluster-version-operator',
    pin: 'crds-4.14',
    files: ['config/v1/0000_03_config-operator_01_proxy.crd.yaml'],
  },
  {
    name: 'cluster-api-managers',
    pin: 'crds-cluster-api',
    files: [
      ...['addons.cluster.x-k8s.io_clusterresourcesetbindings', 'addons.cluster.x-k8s.io_clusterresourcesets'],
      ...['cluster.x-k8s.io_machinedrainrules', 'cluster.x-k8s.io_machinehealthchecks'],
      ...['ipam.cluster.x-k8s.io_ipaddressclaims', 'ipam.cluster.x-k8s.io_ipaddresses'],
      'runtime.cluster.x-k8s.io_extensionconfigs',
    ]
      .map((name) => `core/config/crd/bases/${name}.yaml`)
      .concat(
        ['kubeadmconfigs', 'kubeadmconfigtemplates'].map(
          (plural) => `bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_${plural}.yaml`,
        ),
      ),
  },
];

/** What `crds: ['openshift']` means: the newest release. */
export const OPENSHIFT = 'openshift-4.21';

/** A set by its name, of those that a build copies and of those that are fetched when they are named. */
export function findCrdSet(name: string): CrdSet | undefined {
  return [...CRD_SETS, ...NEIGHBOUR_SETS, ...HISTORY_SETS].find((set) => set.name === name);
}
