/** Supertypes, besides ManagedEntity. */
const SUPERTYPES: Readonly<Record<string, string>> = {
  ClusterComputeResource: 'ComputeResource',
  DistributedVirtualPortgroup: 'Network',
  OpaqueNetwork: 'Network',
  StoragePod: 'Folder',
  VmwareDistributedVirtualSwitch: 'DistributedVirtualSwitch',
};

const ENTITIES: ReadonlySet<string> = new Set([
  ...['VirtualMachine', 'Folder', 'Datacenter', 'ResourcePool', 'HostSystem', 'Datastore', 'Network'],
  ...Object.keys(SUPERTYPES),
]);

/** Whether a type is another type or extends it: a cluster is a ComputeResource and a ManagedEntity. */
export function isA(type: string, wanted: string): boolean {
  return type === wanted || SUPERTYPES[type] === wanted || (wanted === 'ManagedEntity' && ENTITIES.has(type));
}
