import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import type { Place } from '../inventory.ts';
import { uuidOf } from './compute-properties.ts';
import { ENTITY, type PlaceProperties, unset } from './folder-properties.ts';
import { hostsReaching, machinesWhere, placesWhere } from './place-queries.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { data, list, refs } from './vim-values.ts';

/** Places of a type in the folder of a place. */
function siblings(world: VCenterWorld, { parent }: Place, type: string): MoRef[] {
  return placesWhere(world, (one) => one.parent === parent && one.ref.type === type);
}

export const NETWORK: PlaceProperties = {
  ...ENTITY,
  host: (world, { ref }) => refs(hostsReaching(world, ref, 'networks')),
  vm: (world, { ref }) => {
    const key = refKey(ref);
    return refs(machinesWhere(world, ({ details }) => details?.networks.includes(key) === true));
  },
  summary: (_, { ref, name }) =>
    data('NetworkSummary', { network: ref, name: escapeName(name), accessible: true, ipPoolName: '' }),
};

export const PORTGROUP: PlaceProperties = {
  ...NETWORK,
  key: (_, { ref }) => ref.value,
  portKeys: () => list('string', []),
  config: (world, place) =>
    data('DVPortgroupConfigInfo', {
      ...{ key: place.ref.value, name: escapeName(place.name), numPorts: 1, type: 'earlyBinding' },
      distributedVirtualSwitch: siblings(world, place, 'VmwareDistributedVirtualSwitch')[0],
    }),
};

const SWITCH_PRODUCT = data('DistributedVirtualSwitchProductSpec', {
  ...{ name: 'DVS', vendor: 'VMware, Inc.', version: '6.5.0' },
});

export const SWITCH: PlaceProperties = {
  ...ENTITY,
  uuid: (_, { ref }) => uuidOf(ref),
  portgroup: (world, place) => refs(siblings(world, place, 'DistributedVirtualPortgroup')),
  capability: unset,
  runtime: unset,
  summary: (world, place) => {
    const portgroups = siblings(world, place, 'DistributedVirtualPortgroup');
    const names = portgroups.map((ref) => world.nameOf(refKey(ref)));
    return data('DVSSummary', {
      ...{ name: escapeName(place.name), uuid: uuidOf(place.ref), numPorts: 0, productInfo: SWITCH_PRODUCT },
      portgroupName: list('string', names),
    });
  },
  config: (_, { ref, name }) => data('VMwareDVSConfigInfo', { uuid: uuidOf(ref), name: escapeName(name), numPorts: 0 }),
};
