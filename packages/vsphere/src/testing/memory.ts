import type { MoRef, VCenter } from '../vcenter.ts';
import { addMachine, type ForeignMachine } from './foreign.ts';
import {
  type CallHook,
  type CallPhase,
  type CallRunner,
  ClientKilled,
  type MemoryClient,
  MUTATING_CALLS,
} from './hooks.ts';
import { abortLease } from './imports.ts';
import {
  type InventoryState,
  initialState,
  type MemoryLibraryItem,
  type MemoryOptions,
  newRef,
  resolvePath,
} from './inventory.ts';
import {
  type CloneRequest,
  cloneMachine,
  convertToMachine,
  machineOf,
  markMachine,
  powerMachine,
  removeMachine,
} from './machines.ts';
import { abortedCall, memoryCalls } from './memory-client.ts';
import { addLibraryItem } from './memory-libraries.ts';
import type { MemoryServer } from './memory-server.ts';
import { type InventorySnapshot, snapshotOf } from './snapshot.ts';

/** How often the server was called since the start. */
export interface MemoryCounters {
  calls: number;
  /** By the name that hooks see. A call that a `before` hook refused counts: it was tried. */
  readonly byMethod: Map<string, number>;
  /** Uploads of one file that were started. */
  uploads: number;
  /** Bytes that arrived, those of broken uploads included. */
  bytes: number;
}

/** A vCenter in memory: one inventory, any number of clients. */
export interface MemoryInventory {
  /** Another process with its own session. */
  client(): MemoryClient;
  /** Replaces the hook around every call; see `CallHook`. */
  onCall: CallHook | undefined;
  readonly counters: MemoryCounters;
  /** The server's own objects, for tests that must reach inside. */
  readonly state: InventoryState;
  /** A plain copy for assertions. */
  snapshot(): InventorySnapshot;
  /** Called after every call that changed something; returns how to stop it. For invariants that must hold at every instant. */
  subscribe(listener: (snapshot: InventorySnapshot) => void): () => void;
  /** The object at an inventory path; fails the test where there is none. */
  at(path: string): MoRef;
  /** Clones as vCenter does: extraConfig copied, instanceUuid not. */
  clone(source: MoRef, request: CloneRequest): MoRef;
  /** Makes a machine appear that no import made: a foreign VM, an installer's template. */
  add(folder: MoRef, machine: ForeignMachine): MoRef;
  /** A machine that is powered on leaves its traces, as on vCenter: they stay when it is off again. */
  power(vm: MoRef, state: 'poweredOn' | 'poweredOff' | 'suspended'): void;
  /** What an administrator does to a template or machine: MarkAsVirtualMachine, MarkAsTemplate. */
  convert(vm: MoRef, to: 'machine' | 'template'): void;
  /** Puts a running task on a machine, such as `VirtualMachine.clone`; returns how it ends. */
  startTask(vm: MoRef, descriptionId: string): () => void;
  /** What vCenter does to leases that nobody kept alive: they fail and their machines go. */
  expireLeases(): void;
  /** Deletes a machine behind everybody's back. */
  remove(vm: MoRef): void;
  /** Puts an item into a content library, which is made where nothing has its name. Returns its id. */
  addLibraryItem(library: string, name: string, files: MemoryLibraryItem['files']): string;
}

const FIXED_TIME = Date.UTC(2026, 0, 1);

/** The server in memory, without a client yet. */
export function memoryInventory(options: MemoryOptions = {}): MemoryInventory {
  const state = initialState(options);
  const now = options.now ?? (() => FIXED_TIME);
  const counters: MemoryCounters = { calls: 0, byMethod: new Map(), uploads: 0, bytes: 0 };
  const listeners = new Set<(snapshot: InventorySnapshot) => void>();
  const server: MemoryServer = {
    state: () => state,
    now,
    reportsVersion: options.reportsVersion ?? true,
    abortLeavesVm: options.abortLeavesVm ?? false,
    manifest: options.manifest ?? 'received',
    longAttributes: options.longAttributes ?? 'refused',
    takenDirectory: options.takenDirectory ?? 'next',
    countUpload: () => {
      counters.uploads += 1;
    },
    countBytes: (bytes) => {
      counters.bytes += bytes;
    },
  };
  // What another one's clients have open is nobody's here.
  let clients = Math.max(0, ...[...state.leases.values()].map(({ client: id }) => Number(id.replace('session-', ''))));

  const changed = (): void => {
    if (listeners.size === 0) return;
    const snapshot = snapshotOf(state);
    for (const listener of listeners) listener(snapshot);
  };

  const client = (): MemoryClient => {
    clients += 1;
    const id = `session-${clients}`;
    let life: 'live' | 'killed' | 'closed' = 'live';
    const check = (method: string): void => {
      if (life === 'killed') throw new ClientKilled();
      if (life === 'closed') throw abortedCall(method, 'the client is closed');
    };
    const run: CallRunner = async (method, args, act, options) => {
      check(method);
      if (options?.signal?.aborted === true) throw abortedCall(method, 'the call was aborted before it was made');
      options?.fence?.();
      counters.calls += 1;
      counters.byMethod.set(method, (counters.byMethod.get(method) ?? 0) + 1);
      const mutates = MUTATING_CALLS.has(method);
      const context = { client: self, index: counters.calls, mutates };
      const hook = async (phase: CallPhase): Promise<void> => {
        await inventory.onCall?.(method, phase, args, context);
        check(method);
      };
      await hook('before');
      const result = await act();
      check(method);
      if (mutates) changed();
      await hook('after');
      return result;
    };
    const calls = memoryCalls(server, id, run, () => life !== 'live');
    const self: MemoryClient = {
      ...calls,
      id,
      kill: () => {
        life = 'killed';
      },
      [Symbol.asyncDispose]: async () => {
        if (life === 'live') await run('logout', [], () => undefined).catch(() => undefined);
        if (life === 'live') life = 'closed';
      },
    };
    return self;
  };

  const inventory: MemoryInventory = {
    client,
    onCall: undefined,
    counters,
    state,
    snapshot: () => snapshotOf(state),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    at: (path) => {
      const ref = resolvePath(state, path);
      if (ref === undefined) throw new TypeError(`the in-memory vCenter has nothing at ${path}`);
      return ref;
    },
    clone: (source, request) => cloneMachine(state, source, request, new Date(now()).toISOString()),
    add: (folder, machine) => addMachine(state, folder, machine, new Date(now()).toISOString()),
    power: (vm, powerState) => powerMachine(machineOf(state, vm, 'PowerOnVM_Task'), powerState),
    convert: (vm, to) => {
      if (to === 'template') markMachine(machineOf(state, vm, 'MarkAsTemplate'));
      else convertToMachine(machineOf(state, vm, 'MarkAsVirtualMachine'));
    },
    startTask: (vm, descriptionId) => {
      const machine = machineOf(state, vm, descriptionId);
      const task = { ref: newRef(state, 'Task'), descriptionId, state: 'running' as const };
      machine.tasks.push(task);
      return () => {
        const at = machine.tasks.indexOf(task);
        if (at >= 0) machine.tasks.splice(at, 1);
      };
    },
    expireLeases: () => {
      for (const lease of state.leases.values()) if (lease.state === 'ready') abortLease(state, lease, false);
    },
    remove: (vm) => removeMachine(state, machineOf(state, vm, 'Destroy_Task')),
    addLibraryItem: (library, name, files) => addLibraryItem(state, library, name, files),
  };
  return inventory;
}

/** One client on a fresh in-memory vCenter; `inventory` gives more. */
export function memoryVCenter(options: MemoryOptions = {}): VCenter & { readonly inventory: MemoryInventory } {
  const inventory = memoryInventory(options);
  return { ...inventory.client(), inventory };
}
