import { isVimError } from '../../errors.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { fieldsOf } from '../fault.ts';
import { type InventoryState, keyRef, type Machine, newRef } from '../inventory.ts';
import { machineOf, powerMachine, removeMachine } from '../machines.ts';
import { LastRead } from './last-read.ts';
import type { MachineDetails } from './machine-details.ts';
import { BORN_DEVICES } from './machine-details.ts';
import { type IndexedObject, ObjectIndex } from './object-index.ts';
import { ROOT } from './root-folder.ts';
import { notFound, Refusal, refusal } from './soap-refusal.ts';
import { type Value, val } from './vim-values.ts';

/** Where vCenters differ, and what can be switched off to be as govmomi's simulator is. */
export interface ServerBehaviour {
  /** A clone gets the extraConfig of its source and of the spec, and powerOn is obeyed. */
  copyExtraConfigOnClone: boolean;
  /** Collectors hear of template marks. */
  reportTemplates: boolean;
  /** A rename changes and reports config.name and summary.config.name too. */
  reportRenames: boolean;
  /** Aborting a lease destroys its machine. */
  destroyOnAbort: boolean;
  /** A rename onto a taken name fails with DuplicateName, onto its own name succeeds; else both fail with InvalidArgument. */
  duplicateNames: boolean;
  /** A machine that was powered on keeps what running machines write into their extraConfig. */
  bootTraces: boolean;
  /** A machine that is on tells its name and addresses, as VMware Tools do. */
  guestData: boolean;
  /** What the manifest of an import's lease says of what was uploaded: its sizes, those of a download, or nothing. */
  uploadManifest: 'uploads' | 'downloads' | 'empty';
  /** What becomes of the value of a custom attribute with more than 255 characters. */
  longCustomValues: 'refuse' | 'truncate' | 'keep';
}

/** A task. */
export interface TaskRecord {
  readonly ref: MoRef;
  /** `Rename_Task`. */
  readonly method: string;
  /** `VirtualMachine.rename`. */
  readonly descriptionId: string;
  readonly entity: MoRef;
  readonly user: string;
  readonly queued: Date;
  state: 'queued' | 'running' | 'success' | 'error';
  cancelled: boolean;
  result?: Value;
  error?: Refusal;
  completed?: Date;
}

/** A machine that was renamed or destroyed, or should have been. */
export interface NameEvent {
  readonly kind: 'rename' | 'destroy';
  readonly machine: MoRef;
  /** Key of the folder. */
  readonly folder: string;
  readonly from: string;
  readonly to: string;
  readonly task: TaskRecord;
}

/** The property at a path of an object; undefined: it is unset. */
export type ReadProperty = (world: VCenterWorld, ref: MoRef, path: string) => Value | undefined;

/** What a world is made with. */
export interface WorldOptions {
  readonly state: InventoryState;
  readonly read: ReadProperty;
  readonly now?: () => number;
  /** Seconds after which a lease that nobody keeps alive ends. */
  readonly leaseTimeout?: number;
}

/** Ended tasks that can still be asked for; a client asks within minutes. */
const KEPT_TASKS = 10_000;

/** One inventory, as clients of the wire see it: objects with properties, their changes, and tasks. */
export class VCenterWorld {
  readonly state: InventoryState;
  readonly index: ObjectIndex = new ObjectIndex();
  readonly tasks: Map<string, TaskRecord> = new Map();
  readonly lastRead: LastRead = new LastRead();
  /** Tasks that keep their machine from being destroyed. */
  readonly blockers: Set<string> = new Set();
  /** Attached tags of what is no machine: tag → keys. */
  readonly attachments: Map<string, Set<string>> = new Map();
  readonly behaviour: ServerBehaviour = {
    copyExtraConfigOnClone: true,
    reportTemplates: true,
    reportRenames: true,
    destroyOnAbort: true,
    duplicateNames: true,
    bootTraces: true,
    guestData: false,
    uploadManifest: 'downloads',
    longCustomValues: 'refuse',
  };
  /** Seconds. */
  readonly leaseTimeout: number;
  /** Maintenance mode by datastore key. */
  readonly datastoreModes: Map<string, string> = new Map();
  /** Hears of every rename and destruction of a machine. */
  onName: ((event: NameEvent) => void) | undefined;
  /** `https://127.0.0.1:<port>`, once it listens. */
  origin = '';
  readonly #read: ReadProperty;
  readonly #now: () => number;
  #guests = 0;
  #macs = 0;

  constructor({ state, read, now, leaseTimeout }: WorldOptions) {
    this.state = state;
    this.#read = read;
    this.#now = now ?? Date.now;
    this.index.events.on('changed', () => this.lastRead.forget());
    this.leaseTimeout = leaseTimeout ?? 300;
    this.#watch(refKey(ROOT));
    for (const key of state.places.keys()) this.#watch(key);
    for (const key of state.machines.keys()) this.#watch(key);
  }

  now(): Date {
    return new Date(this.#now());
  }

  /** A machine, or ManagedObjectNotFound. */
  machine(ref: MoRef): Machine {
    const found = this.state.machines.get(refKey(ref));
    if (found === undefined) throw notFound(ref);
    return found;
  }

  /** What the wire shows of a machine beyond the model of processes; made when it is first asked for. */
  details(machine: Machine): MachineDetails {
    machine.details ??= {
      uuid: `42${machine.instanceUuid.slice(2)}`,
      vmx: `[${this.nameOf(machine.datastore)}] ${machine.directory}/${machine.name}.vmx`,
      pool: machine.isTemplate ? undefined : this.poolOf(machine.host),
      devices: [...BORN_DEVICES],
      networks: [],
      snapshots: [],
      config: {},
    };
    return machine.details;
  }

  /** Key of the root pool of a host's cluster. */
  poolOf(host: string | undefined): string | undefined {
    const cluster = host === undefined ? undefined : this.state.places.get(host)?.parent;
    for (const [key, place] of this.state.places)
      if (place.parent === cluster && place.ref.type === 'ResourcePool') return key;
    return undefined;
  }

  nameOf(key: string): string {
    return this.state.machines.get(key)?.name ?? this.state.places.get(key)?.name ?? '?';
  }

  /** An address that no card has yet. */
  newMac(): string {
    this.#macs += 1;
    const [a, b, c] = [(this.#macs >> 16) & 0x3f, (this.#macs >> 8) & 255, this.#macs & 255];
    return `00:50:56:${[a, b, c].map((part) => part.toString(16).padStart(2, '0')).join(':')}`;
  }

  /** Says that a place or machine is there. */
  appeared(key: string): void {
    this.#watch(key);
    this.#childrenOf(key);
  }

  /** Says that a place or machine is gone. */
  gone(key: string, parent: string | undefined): void {
    const object = this.index.object(keyRef(key));
    if (object !== undefined) this.index.remove(object);
    this.touch(parent ?? refKey(ROOT), 'childEntity');
  }

  /** Says that a place or machine is elsewhere. */
  moved(key: string, from: string | undefined): void {
    const object = this.index.object(keyRef(key));
    if (object === undefined) return;
    this.index.place(object, this.#placesOf(key));
    this.index.touch(object, 'parent');
    this.touch(from ?? refKey(ROOT), 'childEntity');
    this.#childrenOf(key);
  }

  /** Says that properties have other values. */
  touch(key: string, ...paths: readonly string[]): void {
    const object = this.index.object(keyRef(key));
    if (object !== undefined) this.index.touch(object, ...paths);
  }

  /** Puts a task that runs until it is ended on an entity. */
  beginTask(method: string, entity: MoRef, user: string): TaskRecord {
    const name = method.replace(/_Task$/, '');
    // vCenter calls it so; consumers wait for this one.
    const said = name === 'CloneVM' ? 'clone' : `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
    const task: TaskRecord = {
      ref: newRef(this.state, 'Task'),
      ...{ method, entity, user, descriptionId: `${entity.type}.${said}` },
      ...{ queued: this.now(), state: 'running', cancelled: false },
    };
    this.tasks.set(task.ref.value, task);
    if (this.tasks.size > KEPT_TASKS) this.#forgetTask();
    this.index.put(this.#object(refKey(task.ref), new Set([`=${refKey(task.ref)}`])));
    const machine = this.state.machines.get(refKey(entity));
    machine?.tasks.push({ ref: task.ref, descriptionId: task.descriptionId, state: 'running' });
    return task;
  }

  /** Ends a task, unless it has ended: its client may have cancelled it. */
  endTask(task: TaskRecord, outcome: { readonly result?: Value; readonly error?: Refusal }): void {
    if (task.state === 'success' || task.state === 'error') return;
    task.completed = this.now();
    if (outcome.error === undefined) {
      task.state = 'success';
      if (outcome.result !== undefined) task.result = outcome.result;
    } else {
      task.state = 'error';
      task.error = outcome.error;
    }
    const machine = this.state.machines.get(refKey(task.entity));
    const at = machine?.tasks.findIndex(({ ref }) => ref.value === task.ref.value) ?? -1;
    if (at >= 0) machine?.tasks.splice(at, 1);
    this.touch(refKey(task.ref), 'info');
    this.touch(refKey(task.entity), 'recentTask');
  }

  /** Does something as a task: what it throws is how the task ends. */
  runTask(method: string, entity: MoRef, user: string, act: () => Value | undefined): TaskRecord {
    const task = this.beginTask(method, entity, user);
    try {
      const result = act();
      this.endTask(task, result === undefined ? {} : { result });
    } catch (error) {
      this.endTask(task, { error: asRefusal(error) });
    }
    return task;
  }

  /** Does something that has no result as a task. */
  doTask(method: string, entity: MoRef, user: string, act: () => void): TaskRecord {
    return this.runTask(method, entity, user, () => {
      act();
      return undefined;
    });
  }

  /** Renames or destroys a machine as a task, and says so. */
  nameTask(kind: NameEvent['kind'], entity: MoRef, user: string, to: string, act: () => void): TaskRecord {
    const machine = this.state.machines.get(refKey(entity));
    const [folder, from] = [machine?.folder ?? '', machine?.name ?? ''];
    const task = this.doTask(kind === 'rename' ? 'Rename_Task' : 'Destroy_Task', entity, user, act);
    if (machine !== undefined && to !== from) this.onName?.({ kind, machine: entity, folder, from, to, task });
    return task;
  }

  /** Takes a machine away, whatever runs on it. */
  remove(machine: Machine): void {
    removeMachine(this.state, machine);
    this.gone(refKey(machine.ref), machine.folder);
    this.touch(machine.datastore, 'summary', 'info', 'vm');
  }

  /** Switches a machine. */
  power(ref: MoRef, to: Machine['powerState']): void {
    const machine = machineOf(this.state, ref, 'PowerOnVM_Task');
    if (machine.powerState === to)
      throw refusal('InvalidPowerState', { requestedState: to, existingState: machine.powerState });
    if (to === 'poweredOn') {
      if (machine.isTemplate) throw refusal('NotSupported');
      const host = machine.host === undefined ? undefined : this.state.hosts.get(machine.host);
      if (host?.inMaintenanceMode === true) throw refusal('InvalidState');
    }
    powerMachine(machine, to, this.behaviour.bootTraces);
    const paths = ['runtime', 'summary.runtime', 'config.hardware.device'];
    if (to === 'poweredOn' && this.behaviour.bootTraces) paths.push('config.extraConfig');
    this.touch(refKey(ref), ...paths);
    if (this.behaviour.guestData) this.#tellGuest(machine, to === 'poweredOn');
  }

  #tellGuest(machine: Machine, on: boolean): void {
    const details = this.details(machine);
    if (on) {
      this.#guests += 1;
      const cards = details.devices.filter(({ fields }) => fields['macAddress'] !== undefined);
      const number = this.#guests;
      const addresses = cards.map((_, card) => `10.${card}.${(number >> 8) & 255}.${number & 255}`);
      details.guest = { hostName: machine.name, addresses };
    } else delete details.guest;
    this.touch(refKey(machine.ref), 'guest', 'summary.guest');
  }

  #childrenOf(key: string): void {
    const parent = this.state.machines.get(key)?.folder ?? this.state.places.get(key)?.parent;
    this.touch(parent ?? refKey(ROOT), 'childEntity');
  }

  #watch(key: string): void {
    this.index.put(this.#object(key, this.#placesOf(key)));
  }

  #object(key: string, places: ReadonlySet<string>): IndexedObject {
    const { type, value: moid } = keyRef(key);
    return {
      ...{ type, moid, places },
      read: (path) => {
        const found = this.#read(this, { type, value: moid }, path);
        return found === undefined ? undefined : val(found);
      },
    };
  }

  /** All that an object is in: folders, and for a machine its host, cluster and pools. */
  #placesOf(key: string): ReadonlySet<string> {
    const places = new Set([`=${key}`]);
    const machine = this.state.machines.get(key);
    const climb = (from: string | undefined): void => {
      for (let at = from; at !== undefined; at = this.state.places.get(at)?.parent) places.add(at);
    };
    // Nothing is inside itself.
    if (machine === undefined) climb(this.state.places.get(key)?.parent);
    else {
      climb(machine.folder);
      climb(machine.host);
      climb(machine.details?.pool ?? this.poolOf(machine.host));
    }
    if (key !== refKey(ROOT)) places.add(refKey(ROOT));
    return places;
  }

  #forgetTask(): void {
    for (const [id, task] of this.tasks) {
      if (task.completed === undefined) continue;
      this.tasks.delete(id);
      const object = this.index.object(task.ref);
      if (object !== undefined) this.index.remove(object);
      return;
    }
  }
}

/** What a client is told of an error: a refusal as it is, a fault of the model as one, anything else as a SystemError. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (isVimError(error) && error.fault !== undefined)
    return refusal(error.fault.name, fieldsOf(error), error.fault.message);
  return refusal('SystemError', { reason: String(error) }, String(error));
}
