import { escapeName, unescapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, type XmlElement } from '../../xml/xml.ts';
import { childOf, type Machine, newRef } from '../inventory.ts';
import { checkName, cloneMachine, convertToMachine, markMachine } from '../machines.ts';
import { applySpec, fieldRef, fill, networksOf } from './machine-spec.ts';
import { answerTask, type MethodCall, type MethodTable } from './method-call.ts';
import { found, invalidArgument, notFound, refusal } from './soap-refusal.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import type { Value } from './vim-values.ts';

/** What is at MarkAsTemplate's end: a template has no pool. */
export function markTemplate(world: VCenterWorld, machine: Machine): void {
  markMachine(machine);
  world.details(machine).pool = undefined;
  tellTemplate(world, machine);
}

/** MarkAsVirtualMachine. */
export function unmarkTemplate(world: VCenterWorld, machine: Machine, pool: string, host: string | undefined): void {
  convertToMachine(machine);
  world.details(machine).pool = pool;
  if (host !== undefined) machine.host = host;
  tellTemplate(world, machine);
}

function tellTemplate(world: VCenterWorld, machine: Machine): void {
  const paths = ['config.template', 'summary.config', 'config.changeVersion', 'resourcePool'];
  if (world.behaviour.reportTemplates) world.touch(refKey(machine.ref), ...paths);
}

/** Gives a machine another name. */
export function giveName(world: VCenterWorld, machine: Machine, name: string): void {
  const { state, behaviour } = world;
  if (!behaviour.duplicateNames && childOf(state, machine.folder, name) !== undefined) throw invalidArgument('name');
  checkName(state, machine.folder, name, 'Rename_Task', machine.ref);
  machine.name = name;
  const more = behaviour.reportRenames ? ['config.name', 'summary.config'] : [];
  world.touch(refKey(machine.ref), 'name', ...more);
}

/** Rename_Task of a machine. */
export function renameMachine(call: MethodCall): string {
  const { state, session, self, body } = call;
  const name = unescapeName(childText(body, 'newName') ?? '');
  if (name === '') throw refusal('InvalidName', { name });
  const rename = (): void => giveName(state.world, state.world.machine(self), name);
  return answerTask(call, state.world.nameTask('rename', self, session.user, name, rename));
}

/** Destroy_Task of a machine. */
export function destroyMachineTask(call: MethodCall): string {
  const { state, session, self } = call;
  return answerTask(
    call,
    state.world.nameTask('destroy', self, session.user, '', () => destroy(state.world, self)),
  );
}

/** Refuses what is on. */
export function destroy(world: VCenterWorld, ref: MoRef): void {
  const machine = world.machine(ref);
  if (machine.powerState !== 'poweredOff')
    throw refusal('InvalidPowerState', { requestedState: 'poweredOff', existingState: machine.powerState });
  world.remove(machine);
}

/** What a client says of a clone. */
interface CloneOrder {
  readonly name: string;
  readonly folder: MoRef;
  readonly spec: XmlElement | undefined;
}

/** CloneVM_Task: extraConfig is copied, instanceUuid is not; each disk gets a file and an identity of its own. */
export function clone(world: VCenterWorld, source: Machine, { name, folder, spec }: CloneOrder): Machine {
  const { state, behaviour } = world;
  const where = child(spec, 'location');
  const move = [
    childText(where, 'diskMoveType'),
    ...elements(where, 'disk').map((one) => childText(one, 'diskMoveType')),
  ];
  const linked = move.includes('createNewChildDiskBacking');
  const from = world.details(source);
  const ref = cloneMachine(state, source.ref, { name, folder, linked }, world.now().toISOString());
  const machine = world.machine(ref);
  const datastore = fieldRef(where, 'datastore');
  const host = fieldRef(where, 'host');
  const pool = fieldRef(where, 'pool');
  if (host !== undefined) machine.host = refKey(host);
  machine.details = {
    ...structuredClone(from),
    ...{ uuid: `42${machine.instanceUuid.slice(2)}`, snapshots: [], currentSnapshot: undefined },
    pool: pool === undefined ? (from.pool ?? world.poolOf(machine.host)) : refKey(pool),
    vmx: `[${world.nameOf(machine.datastore)}] ${machine.directory}/${name}.vmx`,
  };
  delete machine.details.guest;
  machine.details.devices = machine.details.devices.map((device) =>
    device.fields['macAddress'] === undefined
      ? device
      : { ...device, fields: { ...device.fields, macAddress: world.newMac() } },
  );
  machine.bytes = 0;
  if (datastore !== undefined && refKey(datastore) !== machine.datastore) {
    if (!state.datastores.has(refKey(datastore))) throw notFound(datastore);
    machine.datastore = refKey(datastore);
  }
  const store = world.nameOf(machine.datastore);
  machine.disks = machine.disks.map((disk, index) => ({
    ...disk,
    file: `[${store}] ${machine.directory}/${name}${index === 0 ? '' : `_${index}`}.vmdk`,
  }));
  if (!linked) for (const { capacityKB = 0 } of machine.disks) fill(world, machine, capacityKB);
  if (!behaviour.copyExtraConfigOnClone) machine.extraConfig.clear();
  machine.changes = 0;
  machine.complete = true;
  const config = child(spec, 'config');
  for (const one of [where, config]) if (one !== undefined) applySpec(world, machine, one);
  const wished = childText(config, 'instanceUuid') ?? '';
  if (wished !== '') machine.instanceUuid = wished;
  machine.details.networks = networksOf(world, machine);
  if (childText(spec, 'template') === 'true') {
    machine.isTemplate = true;
    machine.details.pool = undefined;
  }
  world.appeared(refKey(ref));
  world.touch(machine.datastore, 'summary', 'info', 'vm');
  if (childText(spec, 'powerOn') === 'true' && behaviour.copyExtraConfigOnClone) world.power(ref, 'poweredOn');
  return machine;
}

/** Refuses a clone that has nowhere to go. */
function checkClone(world: VCenterWorld, source: Machine, body: XmlElement): void {
  const { state } = world;
  const folder = found(fieldRef(body, 'folder'), undefined);
  if (!state.places.has(refKey(folder))) throw notFound(folder);
  const where = child(child(body, 'spec'), 'location');
  const host = fieldRef(where, 'host');
  const key = host === undefined ? source.host : refKey(host);
  if (key === undefined) throw invalidArgument('spec.location.host');
  const on = state.hosts.get(key);
  if (on === undefined) throw notFound(host ?? { type: 'HostSystem', value: key });
  const datastore = fieldRef(where, 'datastore');
  if (datastore === undefined) return;
  const name = state.places.get(refKey(datastore))?.name;
  if (name === undefined) throw notFound(datastore);
  // Without a host the cluster of the pool chooses one.
  if (!on.datastores.includes(name) && host !== undefined)
    throw refusal('InvalidDatastore', { name: escapeName(name) }, `The host does not mount ${name}.`);
}

/** Takes a snapshot without memory. */
export function takeSnapshot(world: VCenterWorld, machine: Machine, name: string, description: string): MoRef {
  const ref = newRef(world.state, 'VirtualMachineSnapshot');
  const details = world.details(machine);
  details.snapshots.push({ ref, name, description, at: world.now().toISOString(), parent: details.currentSnapshot });
  details.currentSnapshot = ref.value;
  tellSnapshots(world, machine);
  return ref;
}

function tellSnapshots(world: VCenterWorld, { ref }: Machine): void {
  world.touch(refKey(ref), 'snapshot', 'rootSnapshot');
}

/** The machine of a snapshot. */
function snapshotOwner(world: VCenterWorld, snapshot: MoRef): Machine {
  for (const machine of world.state.machines.values())
    if (machine.details?.snapshots.some(({ ref }) => ref.value === snapshot.value) === true) return machine;
  throw notFound(snapshot);
}

/** A task on the machine of a snapshot. */
function snapshotTask(call: MethodCall, act: (machine: Machine) => void): string {
  const { state, session, self, method } = call;
  const machine = snapshotOwner(state.world, self);
  const task = state.world.doTask(method, machine.ref, session.user, () => {
    act(machine);
    tellSnapshots(state.world, machine);
  });
  return answerTask(call, task);
}

/** Takes a snapshot away, or with all that were taken on it; those that stay hang from what it hung from. */
function removeSnapshot({ state: { world }, self, body }: MethodCall, machine: Machine): void {
  const details = world.details(machine);
  const gone = new Set([self.value]);
  if (childText(body, 'removeChildren') === 'true')
    for (const { ref, parent } of details.snapshots) if (parent !== undefined && gone.has(parent)) gone.add(ref.value);
  const above = details.snapshots.find(({ ref }) => ref.value === self.value)?.parent;
  details.snapshots = details.snapshots
    .filter(({ ref }) => !gone.has(ref.value))
    .map((point) => (point.parent === self.value ? { ...point, parent: above } : point));
  if (details.currentSnapshot !== undefined && gone.has(details.currentSnapshot)) details.currentSnapshot = above;
}

function powerTask(call: MethodCall, to: Machine['powerState']): string {
  const { state, session, self, method } = call;
  const power = (): void => state.world.power(self, to);
  return answerTask(call, state.world.doTask(method, self, session.user, power));
}

/** A task that only a running machine can do. */
function guestAct(call: MethodCall, to: Machine['powerState']): string {
  const { state, self } = call;
  const { powerState } = state.world.machine(self);
  if (powerState !== 'poweredOn')
    throw refusal('InvalidPowerState', { requestedState: 'poweredOn', existingState: powerState });
  if (to !== 'poweredOn') state.world.power(self, to);
  return '';
}

/** Virtual machines and their snapshots. */
export const machineMethods: readonly MethodTable[] = [
  {
    on: 'VirtualMachineSnapshot',
    methods: {
      RevertToSnapshot_Task: (call) =>
        snapshotTask(call, (machine) => {
          call.state.world.details(machine).currentSnapshot = call.self.value;
        }),
      RemoveSnapshot_Task: (call) => snapshotTask(call, (machine) => removeSnapshot(call, machine)),
    },
  },
  {
    on: 'VirtualMachine',
    methods: {
      MarkAsTemplate: ({ state, self }) => {
        markTemplate(state.world, state.world.machine(self));
        return '';
      },
      MarkAsVirtualMachine: ({ state, self, body }) => {
        const pool = found(fieldRef(body, 'pool'), undefined);
        if (!state.world.state.places.has(refKey(pool))) throw notFound(pool);
        const host = fieldRef(body, 'host');
        unmarkTemplate(
          state.world,
          state.world.machine(self),
          refKey(pool),
          host === undefined ? undefined : refKey(host),
        );
        return '';
      },
      PowerOnVM_Task: (call) => powerTask(call, 'poweredOn'),
      PowerOffVM_Task: (call) => powerTask(call, 'poweredOff'),
      SuspendVM_Task: (call) => powerTask(call, 'suspended'),
      ShutdownGuest: (call) => guestAct(call, 'poweredOff'),
      RebootGuest: (call) => guestAct(call, 'poweredOn'),
      ResetVM_Task: (call) => {
        const { state, session, self } = call;
        const reset = (): void => {
          guestAct(call, 'poweredOn');
        };
        return answerTask(call, state.world.doTask('ResetVM_Task', self, session.user, reset));
      },
      ReconfigVM_Task: (call) => {
        const { state, session, self, body } = call;
        const task = state.world.doTask('ReconfigVM_Task', self, session.user, () => {
          reconfigure(state.world, state.world.machine(self), found(child(body, 'spec'), undefined));
        });
        return answerTask(call, task);
      },
      CloneVM_Task: (call) => {
        const { state, session, self, body } = call;
        const source = state.world.machine(self);
        checkClone(state.world, source, body);
        const folder = found(fieldRef(body, 'folder'), undefined);
        const order = { name: unescapeName(childText(body, 'name') ?? ''), folder, spec: child(body, 'spec') };
        const task = state.world.runTask('CloneVM_Task', self, session.user, () => {
          const pool = fieldRef(child(order.spec, 'location'), 'pool');
          if (pool === undefined && source.isTemplate) throw invalidArgument('spec.location.pool');
          return clone(state.world, source, order).ref;
        });
        return answerTask(call, task);
      },
      RelocateVM_Task: (call) => {
        const { state, session, self, body } = call;
        const { world } = state;
        const task = world.doTask('RelocateVM_Task', self, session.user, () => {
          relocate(world, world.machine(self), child(body, 'spec'));
        });
        return answerTask(call, task);
      },
      CreateSnapshot_Task: (call) => {
        const { state, session, self, body } = call;
        const said = (name: string): string => childText(body, name) ?? '';
        const snapshot = (): Value =>
          takeSnapshot(state.world, state.world.machine(self), said('name'), said('description'));
        return answerTask(call, state.world.runTask('CreateSnapshot_Task', self, session.user, snapshot));
      },
      RemoveAllSnapshots_Task: (call) => {
        const { state, session, self } = call;
        const task = state.world.doTask('RemoveAllSnapshots_Task', self, session.user, () => {
          Object.assign(state.world.details(state.world.machine(self)), { snapshots: [], currentSnapshot: undefined });
          tellSnapshots(state.world, state.world.machine(self));
        });
        return answerTask(call, task);
      },
      UnregisterVM: ({ state, self }) => {
        destroy(state.world, self);
        return '';
      },
      RefreshStorageInfo: () => '',
      Reload: () => '',
    },
  },
];

/** ReconfigVM_Task. A template takes its name and annotation only. */
function reconfigure(world: VCenterWorld, machine: Machine, spec: XmlElement): void {
  if (machine.isTemplate && elements(spec).some(({ name }) => name !== 'name' && name !== 'annotation'))
    throw refusal('NotSupported');
  if (
    machine.powerState !== 'poweredOff' &&
    childText(child(spec, 'bootOptions'), 'efiSecureBootEnabled') !== undefined
  )
    throw refusal('InvalidPowerState', { requestedState: 'poweredOff', existingState: machine.powerState });
  world.touch(refKey(machine.ref), ...applySpec(world, machine, spec));
}

function relocate(world: VCenterWorld, machine: Machine, spec: XmlElement | undefined): void {
  const host = fieldRef(spec, 'host');
  const pool = fieldRef(spec, 'pool');
  const datastore = fieldRef(spec, 'datastore');
  if (host !== undefined) machine.host = refKey(host);
  if (pool !== undefined) world.details(machine).pool = refKey(pool);
  if (datastore !== undefined) {
    const to = `[${world.nameOf(refKey(datastore))}]`;
    machine.disks = machine.disks.map((disk) => ({ ...disk, file: disk.file.replace(/^\[.*?\]/, to) }));
  }
  machine.changes += 1;
  world.touch(refKey(machine.ref), 'runtime', 'summary.runtime', 'resourcePool', 'datastore', 'config.hardware.device');
}
