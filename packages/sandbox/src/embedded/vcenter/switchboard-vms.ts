import {
  clone,
  createMachine,
  datacenterOf,
  datastoresNamed,
  defineField,
  destroy,
  giveName,
  keyRef,
  type Machine,
  type MachinePlace,
  markTemplate,
  moveInto,
  pathOf,
  setCustomValue,
  specXml,
  takeSnapshot,
  unmarkTemplate,
  type VCenterWorld,
} from '@drydock/vsphere/testing/server';
import type { NewClone, NewVm, Ref } from '../../switchboard-types.ts';
import { findMachine, findObject, keyOf, type MoRef, toRef } from './switchboard-lookup.ts';

// Changes of machines as an administrator makes them: without a session, a rule or a privilege.

const optionsOf = (extraConfig: Readonly<Record<string, string>> = {}) => ({
  list: '',
  items: Object.entries(extraConfig).map(([key, value]) => ({ data: '', fields: { key, value } })),
});

export function createVm(world: VCenterWorld, vm: NewVm): Ref {
  const place = placementOf(world, findObject(world, 'Folder', vm.folder), vm);
  const disks = Array.from({ length: Math.min(vm.disks ?? 0, 2) }, (_, unitNumber) => {
    const backing = { data: 'VirtualDiskFlatVer2BackingInfo', fields: { thinProvisioned: true } };
    const fields = { key: -1 - unitNumber, controllerKey: 200, unitNumber, capacityInKB: 1024, backing };
    return { data: '', fields: { operation: 'add', device: { data: 'VirtualDisk', fields } } };
  });
  const spec = specXml('config', {
    ...{ name: vm.name, guestId: 'rhel8_64Guest', numCPUs: 2, memoryMB: 1024 },
    ...(vm.annotation === undefined ? {} : { annotation: vm.annotation }),
    ...(vm.instanceUuid === undefined ? {} : { instanceUuid: vm.instanceUuid }),
    deviceChange: { list: '', items: disks },
    extraConfig: optionsOf(vm.extraConfig),
  });
  const machine = createMachine(world, spec, place, 'CreateVM_Task');
  if (vm.productVersion !== undefined) machine.productVersion = vm.productVersion;
  if (vm.template === true) markTemplate(world, machine);
  else if (vm.powerOn === true) world.power(machine.ref, 'poweredOn');
  return toRef(machine.ref);
}

/** The first cluster, host and datastore that match. */
function placementOf(world: VCenterWorld, folder: MoRef, wanted: NewVm): MachinePlace {
  const { state } = world;
  const { cluster, host: hostName, datastore } = wanted;
  const matches = (key: string, where: string | undefined): boolean =>
    where === undefined || [keyRef(key).value, world.nameOf(key), pathOf(state, key)].includes(where);
  const datacenter = datacenterOf(state, keyOf(folder));
  for (const [key, host] of state.hosts) {
    const pool = world.poolOf(key);
    if (datacenterOf(state, key) !== datacenter || pool === undefined) continue;
    if (!matches(state.places.get(key)?.parent ?? '', cluster) || !matches(key, hostName)) continue;
    const store = datastoresNamed(state, key, host.datastores).find((one) => matches(keyOf(one), datastore));
    if (store !== undefined) return { folder, pool, host: key, datastore: keyOf(store) };
  }
  const place = `host of cluster "${cluster ?? ''}", host "${hostName ?? ''}"`;
  throw new Error(`no ${place} mounts datastore "${datastore ?? ''}"`);
}

export function cloneVm(world: VCenterWorld, order: NewClone): Ref {
  const source = findMachine(world, order.template);
  const folder = order.folder === undefined ? keyRef(source.folder) : findObject(world, 'Folder', order.folder);
  const linked = order.linked === true;
  if (linked && source.disks.length === 0) throw new Error(`${source.name} has no disk to link to`);
  const pool = world.poolOf(source.host);
  if (pool === undefined || source.host === undefined) throw new Error(`${order.template} cannot be cloned`);
  const spec = specXml('spec', {
    location: {
      data: '',
      fields: {
        ...{ pool: keyRef(pool), host: keyRef(source.host) },
        ...(linked ? { diskMoveType: 'createNewChildDiskBacking' } : {}),
      },
    },
    config: { data: '', fields: { extraConfig: optionsOf(order.extraConfig) } },
    powerOn: order.powerOn === true,
  });
  return toRef(clone(world, source, { name: order.name, folder, spec }).ref);
}

export function renameVm(world: VCenterWorld, where: string | undefined, name: string | undefined): Ref {
  if (name === undefined || name === '') throw new Error('a VM needs a name');
  const machine = findMachine(world, where);
  const task = world.nameTask('rename', machine.ref, '', name, () => giveName(world, machine, name));
  return ended(machine, task);
}

export function destroyVm(world: VCenterWorld, where: string | undefined): Ref {
  const machine = findMachine(world, where);
  const task = world.nameTask('destroy', machine.ref, '', '', () => destroy(world, machine.ref));
  return ended(machine, task);
}

function ended({ ref }: Machine, task: ReturnType<VCenterWorld['nameTask']>): Ref {
  if (task.error !== undefined) throw new Error(`${task.method} failed with ${task.error.fault}`);
  return toRef(ref);
}

export function powerVm(world: VCenterWorld, where: string | undefined, on: boolean): Ref {
  const { ref } = findMachine(world, where);
  world.power(ref, on ? 'poweredOn' : 'poweredOff');
  return toRef(ref);
}

export function moveVm(world: VCenterWorld, where: string | undefined, folder: string | undefined): Ref {
  const { ref } = findMachine(world, where);
  moveInto(world, findObject(world, 'Folder', folder), ref);
  return toRef(ref);
}

/** Converts a VM to a template, or back. */
export function convertVm(world: VCenterWorld, where: string | undefined, template: boolean): Ref {
  const machine = findMachine(world, where);
  if (template) markTemplate(world, machine);
  else {
    const pool = world.poolOf(machine.host);
    if (pool === undefined) throw new Error(`${machine.name} has no host in a cluster`);
    unmarkTemplate(world, machine, pool, machine.host);
  }
  return toRef(machine.ref);
}

export function snapshotVm(world: VCenterWorld, where: string | undefined, name: string): Ref {
  const machine = findMachine(world, where);
  takeSnapshot(world, machine, name, '');
  return toRef(machine.ref);
}

/** Sets a custom attribute, which is created if it does not exist. */
export function setCustomAttribute(
  world: VCenterWorld,
  where: string | undefined,
  name: string | undefined,
  value: string,
): Ref {
  if (name === undefined || name === '') throw new Error('the custom attribute to set is not given');
  const machine = findMachine(world, where);
  const key = world.state.customFields.indexOf(name);
  setCustomValue(world, machine.ref, key < 0 ? defineField(world, name) : key, value);
  return toRef(machine.ref);
}

/** Starts a task of a machine that runs until a test ends it. */
export function startTask(world: VCenterWorld, where: string | undefined, method = 'CloneVM_Task'): Ref {
  const task = world.beginTask(method, findMachine(world, where).ref, '');
  world.blockers.add(task.ref.value);
  world.touch(keyOf(task.entity), 'recentTask');
  return toRef(task.ref);
}
