/** A CRD of an upstream project and the file that its types are generated into. The CRD itself is not committed. */
export interface UpstreamSource {
  /** Name of the file in the sandbox's CRD set `openshift-4.21`. */
  readonly crd: string;
  readonly version: string;
  /** Beside this file. */
  readonly out: string;
}

/** The newest release's CRDs whose kinds Drydock reads or writes. */
export const UPSTREAM_SOURCES: readonly UpstreamSource[] = [
  { crd: '0000_10_machine-api_01_machines-Default.crd.yaml', version: 'v1beta1', out: 'machines.gen.ts' },
  { crd: '0000_10_machine-api_01_machinesets-Default.crd.yaml', version: 'v1beta1', out: 'machinesets.gen.ts' },
  {
    crd: '0000_10_control-plane-machine-set_01_controlplanemachinesets-Default.crd.yaml',
    version: 'v1',
    out: 'controlplanemachinesets.gen.ts',
  },
  {
    crd: '0000_80_machine-config_01_machineconfigurations-CustomNoUpgrade.crd.yaml',
    version: 'v1',
    out: 'machineconfigurations.gen.ts',
  },
  { crd: '0000_10_config-operator_01_infrastructures-Default.crd.yaml', version: 'v1', out: 'infrastructures.gen.ts' },
  {
    crd: '0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml',
    version: 'v1',
    out: 'clusterversions.gen.ts',
  },
];

/** The set that they are taken from, as `startSandbox({ crds })` calls it. */
export const UPSTREAM_SET = 'openshift-4.21';
