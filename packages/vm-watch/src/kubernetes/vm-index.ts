import type { VirtualMachine, Zone } from '@drydock/api';
import { type Cache, type Key, keyOf, keyText } from '@drydock/kube';
import type { KnownObject, Lookup } from '../delivery/resolve.ts';
import { VCENTER_ANNOTATION } from './zone.ts';

/** VirtualMachine objects with all that is known of them, and by their machines. */
export interface WholeMachines {
  get(key: Key): VirtualMachine | undefined;
  byUniqueId(uniqueId: string): readonly VirtualMachine[];
  /** More is known than before: everything is indexed anew. */
  refresh(): void;
}

/** The objects of a cache, of which an older definition may hide parts that `whole` still knows. */
export function wholeMachines(
  vms: Pick<Cache<VirtualMachine>, 'get' | 'all' | 'subscribe'>,
  whole: (vm: VirtualMachine) => VirtualMachine,
): WholeMachines {
  const machineOf = new Map<string, string>();
  const objects = new Map<string, Map<string, Key>>();
  const index = (key: Key, vm: VirtualMachine | undefined): void => {
    const id = keyText(key);
    const { uniqueID = '' } = (vm && whole(vm).status) ?? {};
    const before = machineOf.get(id);
    if ((before ?? '') === uniqueID) return;
    if (before !== undefined) {
      objects.get(before)?.delete(id);
      if (objects.get(before)?.size === 0) objects.delete(before);
      machineOf.delete(id);
    }
    if (uniqueID === '') return;
    machineOf.set(id, uniqueID);
    objects.set(uniqueID, (objects.get(uniqueID) ?? new Map<string, Key>()).set(id, key));
  };
  vms.subscribe(({ key, now }) => index(key, now));
  const get = (key: Key): VirtualMachine | undefined => {
    const vm = vms.get(key);
    return vm && whole(vm);
  };
  return {
    get,
    byUniqueId: (uniqueId) => [...(objects.get(uniqueId)?.values() ?? [])].map(get).filter((vm) => vm !== undefined),
    refresh: () => {
      for (const vm of vms.all()) index(keyOf(vm), vm);
    },
  };
}

/** Which vCenter something belongs to. */
export interface Whereabouts {
  readonly zone: (zone: Zone) => string;
  readonly vm: (vm: VirtualMachine) => string;
  /** Name of the Zone that a VirtualMachine runs in, given the moref value of its cluster; undefined where that cannot be told. */
  readonly zoneOf: (vm: VirtualMachine, cluster: string) => string | undefined;
}

/** The zone that upstream's scheduler chose. */
const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Tells by the annotation {@link VCENTER_ANNOTATION}, for a VirtualMachine also by its Zone or the only vCenter of its namespace's Zones; else `first`. */
export function whereabouts(zones: () => Iterable<Zone>, first: () => string): Whereabouts {
  const named = ({ metadata }: Zone | VirtualMachine): string | undefined => metadata.annotations?.[VCENTER_ANNOTATION];
  const zone = (of: Zone): string => named(of) ?? first();
  const near = (vm: VirtualMachine): readonly Zone[] =>
    [...zones()].filter(({ metadata }) => metadata.namespace === vm.metadata.namespace);
  return {
    zone,
    vm: (vm) => {
      const own = named(vm);
      if (own !== undefined) return own;
      const all = near(vm);
      const label = vm.metadata.labels?.[ZONE_LABEL];
      const labelled = all.find(({ metadata }) => metadata.name === label);
      const servers = new Set((labelled === undefined ? all : [labelled]).map(zone));
      const [only = first()] = servers;
      return servers.size === 1 ? only : first();
    },
    zoneOf: (vm, cluster) => {
      const label = vm.metadata.labels?.[ZONE_LABEL];
      if (label !== undefined) return label;
      const all = near(vm);
      const held = all.filter(({ spec }) => spec?.managedVMs?.clusterMoIDs?.includes(cluster) === true);
      const [only] = held.length === 1 ? held : all;
      return held.length === 1 || all.length === 1 ? only?.metadata.name : undefined;
    },
  };
}

/** The VirtualMachine objects of one vCenter, as a watch looks them up. */
export function vmLookup(
  vms: Pick<WholeMachines, 'get' | 'byUniqueId'>,
  serverOf: (vm: VirtualMachine) => string,
  server: string,
): Lookup {
  return {
    named: (namespace, name) => {
      const vm = vms.get({ namespace, name });
      return vm !== undefined && serverOf(vm) === server ? known(vm) : undefined;
    },
    byUniqueId: (id) =>
      vms
        .byUniqueId(id)
        .filter((vm) => serverOf(vm) === server)
        .map(known),
  };
}

function known({ metadata, status }: VirtualMachine): KnownObject {
  const { uniqueID = '' } = status ?? {};
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uniqueId: uniqueID === '' ? undefined : uniqueID,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
