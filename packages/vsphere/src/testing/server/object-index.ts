import { EventEmitter } from 'node:events';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { NUMBER, type Profile, SMALL } from './machine-profiles.ts';
import { keyedVal, type Val } from './vim-values.ts';

/**
 * Keys of the containers that an object is in, with all that those are in; its own key with `=` before it, by which a filter names one object. Never
 * changed once made.
 */
export type Places = ReadonlySet<string>;

/** An object that can be watched. */
export interface IndexedObject {
  readonly type: string;
  readonly moid: string;
  /** Empty after it was destroyed. */
  places: Places;
  /** `<val>` of a property; undefined: it is unset. */
  read(path: string): Val | undefined;
}

/** A machine that nobody has to compute. Most of it is its profile's; only what was changed is kept apart. */
export interface ProfileMachine extends IndexedObject {
  /** Six digits. */
  readonly number: string;
  readonly profile: Profile;
  /** What differs from the profile; undefined: unset. */
  changed: Map<string, Val | undefined> | undefined;
}

/** Something that happened: a property changed (or whatever is below or above its path), or the object went from some places to others. */
export interface Entry {
  readonly object: IndexedObject;
  readonly path?: string;
  readonly from?: Places;
}

const NOWHERE: Places = new Set();
const FIRST = 100_000;

/** All objects of a server that can be watched, and all that happened to them. */
export class ObjectIndex {
  /** `changed` after each change of anything. */
  readonly events: EventEmitter<{ changed: [] }> = new EventEmitter();
  readonly #objects = new Map<string, IndexedObject>();
  readonly #machines = new Map<string, ProfileMachine>();
  /** Container → places of what is put into it. */
  readonly #containers = new Map<string, Places>();
  readonly #journal: Entry[] = [];
  /** Number of the journal's first entry. */
  #first = 0;
  #next = FIRST;

  constructor() {
    // One listener per wait.
    this.events.setMaxListeners(0);
  }

  /** How many things have happened so far: a point in time. */
  get now(): number {
    return this.#first + this.#journal.length;
  }

  /** Machines of profiles by moref value. */
  get machines(): ReadonlyMap<string, ProfileMachine> {
    return this.#machines;
  }

  /** Whether there is such a container. */
  has(container: MoRef): boolean {
    return this.#containers.has(refKey(container));
  }

  /** An object that can be watched; undefined: there is none. */
  object(ref: MoRef): IndexedObject | undefined {
    return this.#objects.get(refKey(ref));
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
      const machine = profileMachine(String(this.#next++), profile, into);
      this.#machines.set(machine.moid, machine);
      this.put(machine);
      made.push(machine.moid);
    }
    return made;
  }

  /** Sets a property of a profile's machine; undefined unsets it. */
  set(moid: string, path: string, val: Val | undefined): void {
    const machine = this.#machine(moid);
    machine.changed ??= new Map();
    machine.changed.set(path, val);
    this.touch(machine, path);
  }

  move(moid: string, places: MoRef | readonly MoRef[]): void {
    this.place(this.#machine(moid), this.#placesOf(places));
  }

  destroy(moid: string): void {
    this.remove(this.#machine(moid));
  }

  /** A container goes, with all that is in it. */
  removeContainer(container: MoRef): void {
    const key = refKey(container);
    for (const machine of [...this.#machines.values()]) if (machine.places.has(key)) this.destroy(machine.moid);
    for (const [other, places] of this.#containers) if (places.has(key)) this.#containers.delete(other);
    this.events.emit('changed');
  }

  /** An object appears. */
  put(object: IndexedObject): void {
    this.#objects.set(refKey({ type: object.type, value: object.moid }), object);
    this.#note({ object, from: NOWHERE });
  }

  /** Properties of an object, or all that is below them, have other values. */
  touch(object: IndexedObject, ...paths: readonly string[]): void {
    for (const path of paths) this.#journal.push({ object, path });
    if (paths.length > 0) this.events.emit('changed');
  }

  /** An object goes elsewhere. */
  place(object: IndexedObject, places: Places): void {
    const from = object.places;
    object.places = places;
    this.#note({ object, from });
  }

  /** An object goes. */
  remove(object: IndexedObject): void {
    this.#objects.delete(refKey({ type: object.type, value: object.moid }));
    this.#machines.delete(object.moid);
    this.place(object, NOWHERE);
  }

  /** Objects in any of these containers, in the order in which they were made. */
  *within(containers: Places): Generator<IndexedObject> {
    for (const object of this.#objects.values()) if (intersect(object.places, containers)) yield object;
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

  #note(entry: Entry): void {
    this.#journal.push(entry);
    this.events.emit('changed');
  }

  #machine(moid: string): ProfileMachine {
    const machine = this.#machines.get(moid);
    if (machine === undefined) throw new RangeError(`the vCenter has no machine ${moid} of a profile`);
    return machine;
  }

  #placesOf(containers: MoRef | readonly MoRef[]): Places {
    const refs: readonly MoRef[] = 'value' in containers ? [containers] : containers;
    const sets = refs.map((ref) => {
      const places = this.#containers.get(refKey(ref));
      if (places === undefined) throw new RangeError(`the vCenter has no container ${refKey(ref)}`);
      return places;
    });
    // Shared by all that are in the same one.
    return sets.length === 1 ? (sets[0] ?? NOWHERE) : new Set(sets.flatMap((set) => [...set]));
  }
}

const INSIDE_KEY = /^(.*)\["(.*)"\]$/;

function profileMachine(number: string, profile: Profile, places: Places): ProfileMachine {
  const machine: ProfileMachine = {
    ...{ type: 'VirtualMachine', moid: `vm-${number}`, number, profile, places, changed: undefined },
    read: (path) => {
      const [, whole = path, key] = path.endsWith(']') ? (INSIDE_KEY.exec(path) ?? []) : [];
      const said = machine.changed?.has(whole) === true ? machine.changed.get(whole) : machine.profile.get(whole);
      const val = said?.replaceAll(NUMBER, number);
      return key === undefined || val === undefined ? val : keyedVal(val, key);
    },
  };
  return machine;
}

/** The machine that a profile's stamp is made of: its number stands for any. */
export function stampMachine(profile: Profile): ProfileMachine {
  return profileMachine(NUMBER, profile, NOWHERE);
}

/** Whether two sets of containers have one in common. */
export function intersect(one: Places, other: Places): boolean {
  const [few, many] = one.size < other.size ? [one, other] : [other, one];
  for (const place of few) if (many.has(place)) return true;
  return false;
}
