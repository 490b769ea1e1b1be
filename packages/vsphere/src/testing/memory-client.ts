import { VimError } from '../errors.ts';
import { refKey } from '../soap/soap.ts';
import type { HostSummary, MoRef, VCenter } from '../vcenter.ts';
import { importedDescriptor } from './descriptor.ts';
import { estateReads } from './estate.ts';
import { simulatedFault } from './fault.ts';
import type { CallRunner } from './hooks.ts';
import { importMachine } from './imports.ts';
import { childOf, datastoresNamed, type InventoryState, networksNamed, type Place, resolvePath } from './inventory.ts';
import {
  checkEnabled,
  checkName,
  destroyMachine,
  machineOf,
  markMachine,
  obstacleOf,
  reconfigureMachine,
  summarize,
} from './machines.ts';
import { memoryLease } from './memory-lease.ts';
import { memoryLibraries } from './memory-libraries.ts';
import type { MemoryServer } from './memory-server.ts';

/** What the value of a custom attribute may have. */
const ATTRIBUTE_CHARACTERS = 255;

/** The error for a call that is not made because the caller ended it. */
export function abortedCall(op: string, reason: string): VimError {
  return new VimError({ kind: 'aborted', code: 'VIM_ABORTED', op, message: reason });
}

function placeOf(state: InventoryState, ref: MoRef, op: string): Place {
  const place = state.places.get(refKey(ref));
  if (place === undefined) throw simulatedFault('ManagedObjectNotFound', op, refKey(ref), { obj: ref });
  return place;
}

function hostsOf(state: InventoryState, compute: MoRef): HostSummary[] {
  placeOf(state, compute, 'RetrievePropertiesEx');
  const hosts: HostSummary[] = [];
  for (const [key, host] of state.hosts) {
    const place = state.places.get(key);
    if (place === undefined || place.parent !== refKey(compute)) continue;
    hosts.push({
      ref: place.ref,
      name: place.name,
      connectionState: host.connectionState,
      powerState: host.powerState,
      inMaintenanceMode: host.inMaintenanceMode,
      datastores: datastoresNamed(state, key, host.datastores),
      networks: networksNamed(state, key, host.networks),
    });
  }
  return hosts;
}

/** The calls of one client. `run` puts each between its hooks and refuses them once the client is dead or closed. */
export function memoryCalls(server: MemoryServer, id: string, run: CallRunner, dead: () => boolean): VCenter {
  const { state } = server;
  return {
    server: state().server,
    ...reads(server, run),
    ...estateReads(server, run),
    checkImport: (request, options) =>
      run(
        'checkImport',
        [request],
        () => {
          importedDescriptor(request.descriptor);
          return [];
        },
        options,
      ),
    startImport: (request, options) =>
      run(
        'startImport',
        [request],
        () => {
          const lease = importMachine(state(), id, request, importedDescriptor(request.descriptor), {
            createDate: new Date(server.now()).toISOString(),
            reportsVersion: server.reportsVersion,
            takenDirectory: server.takenDirectory,
          });
          return memoryLease({ ...server, client: id, run, dead }, lease);
        },
        options,
      ),
    reconfigure: (vm, change, options) =>
      run(
        'reconfigure',
        [vm, change],
        () => reconfigureMachine(machineOf(state(), vm, 'ReconfigVM_Task'), change),
        options,
      ),
    markAsTemplate: (vm, options) =>
      run(
        'markAsTemplate',
        [vm],
        () => {
          const machine = machineOf(state(), vm, 'MarkAsTemplate');
          // The server says NotSupported, and the client looks and sees that it is done.
          if (!machine.isTemplate) markMachine(machine);
        },
        options,
      ),
    rename: (vm, name, options) =>
      run(
        'rename',
        [vm, name],
        () => {
          const machine = machineOf(state(), vm, 'Rename_Task');
          checkEnabled(machine, 'Rename_Task');
          checkName(state(), machine.folder, name, 'Rename_Task', vm);
          machine.name = name;
        },
        options,
      ),
    destroy: async (vm, options) => {
      if (vm.type !== 'VirtualMachine') throw notAMachine(vm);
      const destroy = (): void => {
        // The server says ManagedObjectNotFound, which is what the caller wanted.
        if (state().machines.has(refKey(vm))) destroyMachine(state(), vm);
      };
      await run('destroy', [vm], destroy, options);
    },
    definesAttribute: (name, options) =>
      run('customField.read', [name], () => state().customFields.includes(name), options),
    setCustomValue: async (vm, name, value, options) => {
      let key = state().customFields.indexOf(name);
      const define = (): number => {
        // Somebody else may have been faster: a name is defined once.
        const known = state().customFields.indexOf(name);
        return known < 0 ? state().customFields.push(name) - 1 : known;
      };
      if (key < 0) key = await run('customField.define', [name], define, options);
      const set = (): void => {
        const kept = value.slice(0, ATTRIBUTE_CHARACTERS);
        if (kept !== value && server.longAttributes !== 'truncated')
          throw simulatedFault('InvalidArgument', 'SetField', name, { invalidProperty: 'value' });
        machineOf(state(), vm, 'SetField').customValues.set(key, kept);
      };
      await run('setCustomValue', [vm, name, value], set, options);
    },
    tags: tags(server, run),
    libraries: memoryLibraries(state, run),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function notAMachine(ref: MoRef): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_REFUSED',
    op: 'Destroy_Task',
    message: `${refKey(ref)} is not a VirtualMachine, and destroying it would destroy what is inside`,
  });
}

function reads(
  { state }: MemoryServer,
  run: CallRunner,
): Pick<
  VCenter,
  | 'instanceUuid'
  | 'findByPath'
  | 'findChild'
  | 'findByInstanceUuid'
  | 'children'
  | 'vm'
  | 'obstacle'
  | 'guest'
  | 'hosts'
  | 'datastore'
> {
  return {
    instanceUuid: (options) => run('instanceUuid', [], () => state().instanceUuid, options),
    findByPath: (path, options) => run('findByPath', [path], () => resolvePath(state(), path), options),
    findChild: (folder, name, options) =>
      run(
        'findChild',
        [folder, name],
        () => {
          placeOf(state(), folder, 'FindChild');
          return childOf(state(), refKey(folder), name);
        },
        options,
      ),
    findByInstanceUuid: (uuid, options) =>
      run(
        'findByInstanceUuid',
        [uuid],
        () => [...state().machines.values()].find((machine) => machine.instanceUuid === uuid)?.ref,
        options,
      ),
    children: (folder, options) =>
      run(
        'children',
        [folder],
        () => {
          placeOf(state(), folder, 'RetrievePropertiesEx');
          const here = [...state().machines.values()].filter((machine) => machine.folder === refKey(folder));
          return here.map((machine) => summarize(state(), machine));
        },
        options,
      ),
    vm: (ref, options) =>
      run(
        'vm',
        [ref],
        () => {
          const machine = state().machines.get(refKey(ref));
          return machine === undefined ? undefined : summarize(state(), machine);
        },
        options,
      ),
    obstacle: (ref, methods, options) =>
      run(
        'obstacle',
        [ref, methods],
        () => {
          const machine = state().machines.get(refKey(ref));
          return machine === undefined ? undefined : obstacleOf(state(), machine, methods);
        },
        options,
      ),
    guest: (ref, options) =>
      run(
        'guest',
        [ref],
        () => {
          const machine = state().machines.get(refKey(ref));
          return machine === undefined ? undefined : { power: machine.powerState, tools: 'guestToolsNotRunning' };
        },
        options,
      ),
    hosts: (compute, options) => run('hosts', [compute], () => hostsOf(state(), compute), options),
    datastore: (ref, options) =>
      run(
        'datastore',
        [ref],
        () => {
          const { name } = placeOf(state(), ref, 'RetrievePropertiesEx');
          const datastore = state().datastores.get(refKey(ref));
          return { name, freeSpace: 0, accessible: false, ...datastore };
        },
        options,
      ),
  };
}

function tags({ state }: MemoryServer, run: CallRunner): VCenter['tags'] {
  const named = (name: string) =>
    [...state().tags].filter(([, tag]) => tag.name === name).map(([id, { category }]) => ({ id, category }));
  return {
    named: (name, options) => run('tags.named', [name], () => named(name), options),
    attached: (vm, options) =>
      run('tags.attached', [vm], () => [...machineOf(state(), vm, 'list-attached-tags').tags], options),
    attach: async (vm, tagIds, options) => {
      for (const tag of tagIds) {
        const attach = (): void => {
          if (!state().tags.has(tag)) throw unknownTag(tag);
          machineOf(state(), vm, 'POST tag-association').tags.add(tag);
        };
        await run('tags.attach', [vm, tag], attach, options);
      }
    },
  };
}

function unknownTag(tag: string): VimError {
  return new VimError({
    kind: 'http',
    code: 'VIM_NOT_FOUND',
    op: 'POST tag-association',
    message: `tag ${tag} does not exist`,
    status: 404,
  });
}
