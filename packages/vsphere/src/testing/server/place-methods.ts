import { escapeName, unescapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, referenceOf } from '../../xml/xml.ts';
import { childOf, datacenterOf, newRef } from '../inventory.ts';
import { checkName } from '../machines.ts';
import { destroyMachineTask, renameMachine } from './machine-methods.ts';
import { createMachine, fieldRef, placeFor, specOf } from './machine-spec.ts';
import { answerTask, type MethodCall, type MethodTable, returned } from './method-call.ts';
import { openLease } from './nfc-leases.ts';
import { childrenOf } from './place-queries.ts';
import { found, invalidArgument, notFound, refusal } from './soap-refusal.ts';
import { asRefusal, type VCenterWorld } from './vcenter-world.ts';
import { data, list, type Value } from './vim-values.ts';

/** Makes a folder or something else that holds objects. */
export function makePlace(world: VCenterWorld, parent: MoRef, name: string, type: string): MoRef {
  const { state } = world;
  checkName(state, refKey(parent), name, 'CreateFolder');
  const ref = newRef(state, type);
  state.places.set(refKey(ref), { ref, name, parent: parent.value === 'group-d1' ? undefined : refKey(parent) });
  world.appeared(refKey(ref));
  return ref;
}

/** Moves a machine, folder or datastore into a folder. */
export function moveInto(world: VCenterWorld, folder: MoRef, moved: MoRef): void {
  const { state } = world;
  const key = refKey(moved);
  const name = world.nameOf(key);
  const taken = childOf(state, refKey(folder), name);
  if (taken !== undefined && refKey(taken) !== key)
    throw refusal('DuplicateName', { name: escapeName(name), object: taken });
  const machine = state.machines.get(key);
  const place = state.places.get(key);
  const from = machine?.folder ?? place?.parent;
  if (machine !== undefined) machine.folder = refKey(folder);
  else if (place !== undefined) place.parent = refKey(folder);
  else throw notFound(moved);
  world.moved(key, from);
}

/** Renames a folder or the like. */
function renamePlace(world: VCenterWorld, self: MoRef, name: string): void {
  const place = world.state.places.get(refKey(self));
  if (place === undefined) throw notFound(self);
  if (place.parent !== undefined) checkName(world.state, place.parent, name, 'Rename_Task', self);
  place.name = name;
  world.touch(refKey(self), 'name', 'summary', 'info');
}

/** Takes a folder away with all that is in it. */
function destroyPlace(world: VCenterWorld, self: MoRef): void {
  for (const below of childrenOf(world, self)) {
    const machine = world.state.machines.get(refKey(below));
    if (machine === undefined) destroyPlace(world, below);
    else if (machine.powerState === 'poweredOn')
      throw refusal('InvalidPowerState', { requestedState: 'poweredOff', existingState: machine.powerState });
    else world.remove(machine);
  }
  const place = world.state.places.get(refKey(self));
  world.state.places.delete(refKey(self));
  world.gone(refKey(self), place?.parent);
}

/** Puts a host into or out of maintenance mode. */
export function setMaintenance(world: VCenterWorld, host: MoRef, on: boolean): void {
  const state = world.state.hosts.get(refKey(host));
  if (state === undefined) throw notFound(host);
  if (state.inMaintenanceMode === on) throw refusal('InvalidState');
  state.inMaintenanceMode = on;
  world.touch(refKey(host), 'runtime', 'summary.runtime');
}

function maintenanceTask(call: MethodCall, on: boolean): string {
  const { state, session, self, method } = call;
  const set = (): void => setMaintenance(state.world, self, on);
  return answerTask(call, state.world.doTask(method, self, session.user, set));
}

function connectionTask(call: MethodCall, connectionState: string): string {
  const { state, session, self, method } = call;
  const { world } = state;
  const set = (): void => {
    const host = world.state.hosts.get(refKey(self));
    if (host === undefined) throw notFound(self);
    host.connectionState = connectionState;
    world.touch(refKey(self), 'runtime', 'summary.runtime');
  };
  return answerTask(call, world.doTask(method, self, session.user, set));
}

/** The folder of machines in the datacenter of a pool. */
function vmFolderOf(world: VCenterWorld, pool: MoRef): MoRef {
  const folder = childOf(world.state, datacenterOf(world.state, refKey(pool)), 'vm');
  return found(folder, pool);
}

/** Folders, datacenters, pools, hosts. */
export const placeMethods: readonly MethodTable[] = [
  {
    on: 'Folder',
    methods: {
      CreateFolder: ({ state, self, body }) =>
        returned(makePlace(state.world, self, unescapeName(childText(body, 'name') ?? ''), 'Folder')),
      CreateStoragePod: ({ state, self, body }) =>
        returned(makePlace(state.world, self, unescapeName(childText(body, 'name') ?? ''), 'StoragePod')),
      CreateVM_Task: (call) => {
        const { state, session, self, body } = call;
        const spec = specOf(body, 'config');
        const pool = found(fieldRef(body, 'pool'), undefined);
        const place = placeFor(state.world, spec, { folder: self, pool, host: fieldRef(body, 'host') });
        const task = state.world.runTask('CreateVM_Task', self, session.user, () => {
          return createMachine(state.world, spec, place, 'CreateVM_Task').ref;
        });
        return answerTask(call, task);
      },
      MoveIntoFolder_Task: (call) => {
        const { state, session, self, body } = call;
        const moved = elements(body, 'list').map((one) => found(referenceOf(one), undefined));
        const move = (): void => {
          for (const ref of moved) moveInto(state.world, self, ref);
        };
        return answerTask(call, state.world.doTask('MoveIntoFolder_Task', self, session.user, move));
      },
    },
  },
  {
    on: 'ResourcePool',
    methods: {
      ImportVApp: ({ state, session, self, body }) => {
        const spec = child(body, 'spec');
        if (spec?.type?.local !== 'VirtualMachineImportSpec') throw invalidArgument('spec');
        const config = specOf(spec, 'configSpec');
        const folder = fieldRef(body, 'folder') ?? vmFolderOf(state.world, self);
        const place = placeFor(state.world, config, { folder, pool: self, host: fieldRef(body, 'host') });
        try {
          const machine = createMachine(state.world, config, place, 'ImportVApp');
          machine.complete = false;
          return returned(openLease(state, session.key, { machine }).ref);
        } catch (error) {
          return returned(openLease(state, session.key, { error: asRefusal(error) }).ref);
        }
      },
    },
  },
  {
    on: 'Datacenter',
    methods: {
      PowerOnMultiVM_Task: (call) => {
        const { state, session, self, body } = call;
        const { world } = state;
        const machines = elements(body, 'vm').map((one) => found(referenceOf(one), undefined));
        const task = world.runTask('PowerOnMultiVM_Task', self, session.user, () => {
          const attempted = machines.map((vm): Value => {
            const own = world.doTask('PowerOnVM_Task', vm, session.user, () => world.power(vm, 'poweredOn'));
            return data('ClusterAttemptedVmInfo', { vm, task: own.ref });
          });
          return data('ClusterPowerOnVmResult', { attempted: list('ClusterAttemptedVmInfo', attempted) });
        });
        return answerTask(call, task);
      },
    },
  },
  {
    on: 'HostSystem',
    methods: {
      EnterMaintenanceMode_Task: (call) => maintenanceTask(call, true),
      ExitMaintenanceMode_Task: (call) => maintenanceTask(call, false),
      DisconnectHost_Task: (call) => connectionTask(call, 'disconnected'),
      ReconnectHost_Task: (call) => connectionTask(call, 'connected'),
    },
  },
  {
    // Machines have their own.
    on: 'ManagedEntity',
    methods: {
      Rename_Task: (call) => {
        const { state, session, self, body } = call;
        if (self.type === 'VirtualMachine') return renameMachine(call);
        const name = unescapeName(childText(body, 'newName') ?? '');
        const rename = (): void => renamePlace(state.world, self, name);
        return answerTask(call, state.world.doTask('Rename_Task', self, session.user, rename));
      },
      Destroy_Task: (call) => {
        const { state, session, self } = call;
        if (self.type === 'VirtualMachine') return destroyMachineTask(call);
        const destroy = (): void => destroyPlace(state.world, self);
        return answerTask(call, state.world.doTask('Destroy_Task', self, session.user, destroy));
      },
    },
  },
];
