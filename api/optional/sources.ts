/** A compact CRD of an upstream kind, and what is generated from it. */
export interface OptionalSource {
  readonly crd: string;
  readonly version: string;
  /** File with the generated types, beside this one. */
  readonly out: string;
}

/** All of them. */
export const OPTIONAL_SOURCES: readonly OptionalSource[] = [
  { crd: 'vmoperator.vmware.com_virtualmachines.yaml', version: 'v1alpha5', out: 'virtualmachine.gen.ts' },
  { crd: 'topology.tanzu.vmware.com_zones.yaml', version: 'v1alpha1', out: 'zone.gen.ts' },
];
