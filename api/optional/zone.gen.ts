// Generated from zones.topology.tanzu.vmware.com v1alpha1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

/** Where the machines of a namespace live in vCenter. Field names are those of the upstream kind. */
export interface Zone {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** The places; further fields are kept as they are. */
  readonly spec?: ZoneSpec;
  /** Left to its owner. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** The places; further fields are kept as they are. */
export interface ZoneSpec {
  /** Where the machines of VirtualMachine objects live. */
  readonly managedVMs?: ZoneSpecManagedVMs;
  readonly [key: string]: unknown;
}

/** Where the machines of VirtualMachine objects live. */
export interface ZoneSpecManagedVMs {
  /** Managed object reference value of their folder, which is watched. Zones of one namespace share it. */
  readonly folderMoID?: string;
  /** Their resource pools. */
  readonly poolMoIDs?: readonly string[];
  /** The compute clusters of the zone. */
  readonly clusterMoIDs?: readonly string[];
}

/** The kind Zone of topology.tanzu.vmware.com/v1alpha1. */
export const Zone: Resource<Zone> = {
  group: 'topology.tanzu.vmware.com',
  version: 'v1alpha1',
  kind: 'Zone',
  plural: 'zones',
  scope: 'Namespaced',
};
