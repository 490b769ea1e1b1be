import { EventEmitter } from 'node:events';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { NUMBER, type Profile, SMALL } from './profile.ts';
import type { Val } from './values.ts';

/** Containers that a machine is in, with all that those are in. Never changed once made. */
export type Places = ReadonlySet<string>;

/** A machine. Most of it is its profile's; only what was changed is kept apart. */
export interface SyntheticMachine {
  readonly moid: string;
  /** Six digits. */
  readonly number: string;
  readonly profile: Profile;
  /** Empty after it was destroyed. */
  places: Places;
  /** What differs from the profile; undefined: unset. */
  changed: Map<string, Val | undefined> | undefined;
}

/** Something that happened: a property changed, or the machine went from some places to others. */
export interface Entry {
  readonly machine: SyntheticMachine;
  readonly path?: string;
  readonly from?: Places;
}

const NOWHERE: Places = new Set();
const FIRST = 100_000;

/** The machines of a synthetic vCenter, and all that happened to them. */
export class SyntheticInventory {
  /** `changed` after each change of anything. */
  readonly events: EventEmitter<{ changed: [] }> = new EventEmitter();
  readonly #machines = new Map<string, SyntheticMachine>();
  /** Container → places of what is put into it. */
  readonly #containers = new Map<string, Places>();
  readonly #journal: Entry[] = [];
  /** Number of the journal's first entry. */
  #first = 0;
  #next = FIRST;

  /** How many things have happened so far: a point in time. */
  get now(): number {
    return this.#first + this.#journal.length;
  }

  get machines(): ReadonlyMap<string, SyntheticMachine> {
    return this.#machines;
  }

  has(container: MoRef): boolean {
    return this.#containers.has(refKey(container));
  }

  /** Makes a container of any type, inside another one where `parent` is given. */
  container(type: string, value: string, parent?: MoRef): MoRef {
    const above = parent === undefined ? NOWHERE : (this.#containers.get(refKey(parent)) ?? NOWHERE);
    this.#containers.set(`${type}:${value}`, new Set([`${type}:${value}`, ...above]));
    return { type, value };
  }

  /** A container without machines is no more. */
  dropContainer(ref: MoRef): void {
    this.#containers.delete(refKey(ref));
  }

  /** Adds machines of one profile; resolves to their moref values, in order. They appear one after another, as if just made. */
  add(count: number, places: MoRef | readonly MoRef[], profile: Profile = SMALL): readonly string[] {
    const into = this.#placesOf(places);
    const made: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const number = String(this.#next++);
      const machine = { moid: `vm-${number}`, number, profile, places: into, changed: undefined };
      this.#machines.set(machine.moid, machine);
      this.#journal.push({ machine, from: NOWHERE });
      made.push(machine.moid);
    }
    this.events.emit('changed');
    return made;
  }

  /** Sets a property; undefined unsets it. */
  set(moid: string, path: string, val: Val | undefined): void {
    const machine = this.#machine(moid);
    machine.changed ??= new Map();
    machine.changed.set(path, val);
    this.#journal.push({ machine, path });
    this.events.emit('changed');
  }

  move(moid: string, places: MoRef | readonly MoRef[]): void {
    const machine = this.#machine(moid);
    const from = machine.places;
    machine.places = this.#placesOf(places);
    this.#journal.push({ machine, from });
    this.events.emit('changed');
  }

  destroy(moid: string): void {
    const machine = this.#machine(moid);
    this.#machines.delete(moid);
    this.#journal.push({ machine, from: machine.places });
    machine.places = NOWHERE;
    this.events.emit('changed');
  }

  /** A container goes, with all that is in it. */
  removeContainer(container: MoRef): void {
    const key = refKey(container);
    for (const machine of [...this.#machines.values()]) if (machine.places.has(key)) this.destroy(machine.moid);
    for (const [other, places] of this.#containers) if (places.has(key)) this.#containers.delete(other);
    this.events.emit('changed');
  }

  /** Machines in any of these containers, in the order in which they were made. */
  *within(containers: Places): Generator<SyntheticMachine> {
    for (const machine of this.#machines.values()) if (intersect(machine.places, containers)) yield machine;
  }

  /** What happened since a point in time; undefined: that is too long ago. */
  since(at: number): readonly Entry[] | undefined {
    return at < this.#first ? undefined : this.#journal.slice(at - this.#first);
  }

  /** Nobody will ask for what was before this point. */
  forgetBefore(at: number): void {
    const old = at - this.#first;
    // In large steps: the rest is copied.
    if (old < 10_000 || old < this.#journal.length / 2) return;
    this.#journal.splice(0, old);
    this.#first = at;
  }

  #machine(moid: string): SyntheticMachine {
    const machine = this.#machines.get(moid);
    if (machine === undefined) throw new RangeError(`the synthetic vCenter has no machine ${moid}`);
    return machine;
  }

  #placesOf(containers: MoRef | readonly MoRef[]): Places {
    const refs: readonly MoRef[] = 'value' in containers ? [containers] : containers;
    const sets = refs.map((ref) => {
      const places = this.#containers.get(refKey(ref));
      if (places === undefined) throw new RangeError(`the synthetic vCenter has no container ${refKey(ref)}`);
      return places;
    });
    // Shared by all that are in the same one.
    return sets.length === 1 ? (sets[0] ?? NOWHERE) : new Set(sets.flatMap((set) => [...set]));
  }
}

/** Value of a property; undefined: it is unset. */
export function propertyOf(machine: SyntheticMachine, path: string): Val | undefined {
  if (machine.changed?.has(path) === true) return machine.changed.get(path)?.replaceAll(NUMBER, machine.number);
  return machine.profile.get(path)?.replaceAll(NUMBER, machine.number);
}

/** Whether two sets of containers have one in common. */
export function intersect(one: Places, other: Places): boolean {
  for (const place of one) if (other.has(place)) return true;
  return false;
}
