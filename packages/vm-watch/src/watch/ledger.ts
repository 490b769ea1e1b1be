import type { ItemRanges, MoRef, UpdateSink, XmlElement } from '@drydock/vsphere';
import type { ChangeKind, DirtyMachine } from './dirty-machine.ts';
import type { Hash64 } from './hash.ts';
import { listHash } from './list-hash.ts';
import { Looks } from './looks.ts';
import { HashSlab } from './slab.ts';
import { EXTRA_CONFIG, UNORDERED_PATHS } from './watched-paths.ts';

/** What a {@link Ledger} needs. */
export interface LedgerOptions {
  readonly paths: readonly string[];
  readonly ignoredKeys: ReadonlySet<string>;
  readonly hash: Hash64;
  /** A property that the server does not give, or whose value cannot be read; called for each occurrence. */
  readonly onUnreadable?: (ref: MoRef, path: string, fault: XmlElement | undefined) => void;
  /** A machine became dirty: somebody should come and take it. */
  readonly onDirty?: () => void;
  /** Sees each change of a value, once decoded where that is cheap; for people who watch. */
  readonly onChange?: (ref: MoRef, path: string, value: XmlElement | undefined) => void;
}

interface Machine {
  readonly ref: MoRef;
  readonly slot: number;
  /** The last full pass in which it was seen. */
  epoch: number;
  present: boolean;
  carries: string | undefined;
}

interface Dirty {
  kind: ChangeKind;
  readonly paths: Set<string>;
}

/**
 * What is known of the machines of one vCenter: a hash for each watched property, and which machines changed since somebody was told. It outlives connections and sessions,
 * so that what happened in between shows when they come back. A machine stays dirty until its change was delivered; what changes while it is being
 * delivered makes it dirty again. Memory is that of the machines, whatever the number of changes.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #index: ReadonlyMap<string, number>;
  readonly #lists: ReadonlyMap<string, number>;
  readonly #slab: HashSlab;
  readonly #machines = new Map<string, Machine>();
  readonly #dirty = new Map<string, Dirty>();
  /** Dirty machines that were not passed over, the longest waiting first. */
  readonly #ready = new Set<string>();
  /** Machines that a change of what is watched brings in or takes out; not news. */
  readonly #expectedIn = new Set<string>();
  readonly #expectedOut = new Set<string>();
  readonly #mentioned: Uint8Array;
  readonly #looks = new Looks();
  /** The machine of which only a part has been read: whoever took it now would not know whose it is. */
  #arriving: string | undefined;
  #epoch = 0;
  #era = 0;
  /** A full pass is running: whatever enters was there before. */
  #passing = false;
  #everPassed = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#index = new Map(options.paths.map((path, index) => [path, index]));
    // Behind the hashes of the values come those of the lists whose order means nothing.
    const lists = options.paths.filter((path) => UNORDERED_PATHS.has(path));
    this.#lists = new Map(lists.map((path, nth) => [path, options.paths.length + nth]));
    this.#slab = new HashSlab(options.paths.length + lists.length);
    this.#mentioned = new Uint8Array(options.paths.length);
  }

  /** Machines that are in a watched container now. */
  get size(): number {
    let present = 0;
    for (const machine of this.#machines.values()) if (machine.present) present += 1;
    return present;
  }

  /** Grows with each {@link Ledger.clear}. */
  get era(): number {
    return this.#era;
  }

  /** Whether a full pass was ever completed. */
  get passed(): boolean {
    return this.#everPassed;
  }

  get dirty(): number {
    return this.#dirty.size;
  }

  /** Present machines, for the comparison with what the server says apart from the watch. */
  refs(): readonly MoRef[] {
    return [...this.#machines.values()].filter(({ present }) => present).map(({ ref }) => ref);
  }

  /** Tells one value of a property from another; undefined where the machine or the property is not watched. */
  hashOf(machine: string, path: string): bigint | undefined {
    const slot = this.#machines.get(machine)?.slot;
    const index = this.#index.get(path);
    return slot === undefined || index === undefined ? undefined : this.#slab.read(slot, index);
  }

  /** Forgets everything: another vCenter is watched from now on, and what it calls by the same references is something else. */
  clear(): void {
    this.#era += 1;
    for (const { slot } of this.#machines.values()) this.#slab.free(slot);
    for (const known of [this.#machines, this.#dirty, this.#ready, this.#expectedIn, this.#expectedOut, this.#looks])
      known.clear();
    this.#arriving = undefined;
    this.#passing = false;
    this.#everPassed = false;
  }

  /** A full pass begins: everything that is watched will enter. */
  beginPass(): void {
    this.#epoch += 1;
    this.#passing = true;
  }

  /**
   * The pass is complete: what was not seen in it left meanwhile. What was looked at since the watch was last heard is delivered again: its reader may have seen
   * something that the watch never saw, and that is over. `obscured`: not all that is watched may be seen, so what was not seen need not have left.
   */
  endPass(obscured = false): void {
    this.#passing = false;
    // What was looked at after this very pass had seen it is followed from there.
    for (const value of this.#looks.before(this.#epoch)) {
      if (this.#everPassed) this.again(value);
      // The first pass began anew, and what its beginning found is still being looked at: once more when that is over.
      else this.#looks.touch(value);
    }
    this.#everPassed = true;
    if (!obscured) {
      for (const machine of this.#machines.values()) {
        if (machine.present && machine.epoch !== this.#epoch) this.#leave(machine);
      }
    }
    this.#expectedOut.clear();
  }

  /** A container is about to be watched that has these machines. */
  expectIn(refs: Iterable<string>): void {
    for (const ref of refs) if (this.#machines.get(ref)?.present !== true) this.#expectedIn.add(ref);
  }

  /** A container is about to be dropped that has these machines. */
  expectOut(refs: Iterable<string>): void {
    for (const ref of refs) this.#expectedOut.add(ref);
  }

  /**
   * The containers are dropped, and their machines count as away. What was dirty stays so: such a machine may be in another container as well.
   */
  dropExpected(): void {
    for (const value of this.#expectedOut) {
      const machine = this.#machines.get(value);
      if (machine !== undefined) machine.present = false;
    }
    this.#expectedOut.clear();
  }

  /**
   * Takes up to `limit` dirty machines, the longest waiting first. `resting` ones are passed over, and not met again before {@link Ledger.rested}: each answer would look at all of
   * them. What cannot be delivered is given back by {@link Ledger.putBack}.
   */
  take(limit: number, resting?: Pick<ReadonlySet<string>, 'has'>): readonly DirtyMachine[] {
    const taken: DirtyMachine[] = [];
    for (const value of this.#ready) {
      if (taken.length >= limit) break;
      if (value === this.#arriving) continue;
      this.#ready.delete(value);
      if (resting?.has(value) === true) continue;
      const dirty = this.#dirty.get(value);
      const machine = this.#machines.get(value);
      this.#dirty.delete(value);
      if (dirty === undefined || machine === undefined) continue;
      const { kind, paths } = dirty;
      const { ref, carries, epoch } = machine;
      taken.push({ ref, kind, paths, carries, era: this.#era, epoch });
    }
    return taken;
  }

  /** A machine that was passed over may be taken. */
  rested(value: string): void {
    if (this.#dirty.has(value)) this.#ready.add(value);
  }

  /** It was delivered: whoever was told looks at it within a minute, or has done so. */
  delivered({ ref: { value }, era, epoch }: Pick<DirtyMachine, 'ref' | 'era' | 'epoch'>, now: number): void {
    const machine = this.#machines.get(value);
    if (era !== this.#era || machine === undefined) return;
    this.#looks.note(value, now, epoch);
    // A pass came to it while it was handed over, which may have been after the look.
    if (machine.epoch !== epoch) this.again(value);
  }

  /** Somebody looks at it now, or within a minute, whoever made him, and whether it was seen yet or not. */
  looked(value: string, now: number): void {
    this.#looks.note(value, now, this.#machines.get(value)?.epoch ?? -1);
  }

  /** The watch goes on where it was before it was interrupted. */
  resumed(): void {
    this.#looks.doubt();
  }

  /** An answer came, to a question that was asked at this time (ms): whatever happened before is known. */
  heard(asked: number): void {
    for (const value of this.#looks.heard(asked)) this.again(value);
  }

  /** It could not be delivered: it is dirty as before, besides whatever happened since. */
  putBack({ ref, kind, paths, era }: DirtyMachine): void {
    if (era !== this.#era) return;
    const since = this.#dirty.get(ref.value);
    // What happened since is the newer word.
    this.#soil(ref.value, since === undefined || since.kind === 'found' ? kind : since.kind, paths);
  }

  /** It has to be looked at anew, whatever is known of it. */
  again(value: string): void {
    if (this.#machines.get(value)?.present === true) this.#soil(value, 'changed', []);
  }

  /** The machine is gone for good: a later one of this name is another. */
  forget(ref: MoRef): void {
    const machine = this.#machines.get(ref.value);
    // What is to be told of it first will lead here once more.
    if (machine === undefined || machine.present || this.#dirty.has(ref.value)) return;
    this.#slab.free(machine.slot);
    this.#machines.delete(ref.value);
  }

  /** Takes the changes of one answer. */
  sink(): UpdateSink {
    let machine: Machine | undefined;
    let fresh = false;
    let entering = false;
    return {
      object: (kind, type, value) => {
        this.#arrived();
        machine = undefined;
        fresh = false;
        entering = kind === 'enter';
        if (type !== 'VirtualMachine') return;
        const known = this.#machines.get(value);
        if (kind === 'leave') {
          if (known?.present === true) this.#leave(known);
          return;
        }
        fresh = known === undefined;
        machine = known ?? this.#add({ type, value });
        this.#arriving = value;
        this.#enter(machine, fresh);
        if (entering) this.#mentioned.fill(0);
      },
      change: (path, _op, value, decode, items) => {
        if (machine === undefined) return;
        const index = this.#index.get(path);
        if (index === undefined) {
          // Part of a watched property, sent by itself: what it does to the whole is not known, except that it is a change.
          if (!fresh) this.#soil(machine.ref.value, 'changed', [path]);
          return;
        }
        if (entering) this.#mentioned[index] = 1;
        const changed = this.#compare(machine, index, path, value, fresh, decode, items);
        // A machine that enters says all that it has.
        if (!changed && !entering) this.#looks.touch(machine.ref.value);
      },
      missing: (path, fault, decode) => {
        const index = this.#index.get(path);
        if (index !== undefined && entering) this.#mentioned[index] = 1;
        if (machine !== undefined) this.#unreadable(machine.ref, path, fault, decode);
      },
      objectEnd: () => {
        if (machine === undefined || !entering || fresh) {
          this.#arrived();
          return;
        }
        // A machine enters with all that it has: what is not said is unset.
        for (const [path, index] of this.#index) {
          if (this.#mentioned[index] === 0) this.#compare(machine, index, path, undefined, false);
        }
        this.#arrived();
      },
    };
  }

  #arrived(): void {
    const value = this.#arriving;
    this.#arriving = undefined;
    if (value !== undefined && this.#dirty.has(value)) this.#options.onDirty?.();
  }

  #add(ref: MoRef): Machine {
    const machine: Machine = {
      ref,
      slot: this.#slab.take(),
      epoch: this.#epoch,
      present: false,
      carries: undefined,
    };
    this.#machines.set(ref.value, machine);
    return machine;
  }

  #enter(machine: Machine, fresh: boolean): void {
    const { value } = machine.ref;
    machine.epoch = this.#epoch;
    if (machine.present) return;
    machine.present = true;
    const expected = this.#expectedIn.delete(value);
    const found = fresh && (expected || (this.#passing && !this.#everPassed));
    // It was away, or we had looked away: it may have been anything in between, and be again what it was.
    this.#soil(value, found ? 'found' : 'changed', []);
  }

  #leave(machine: Machine): void {
    machine.present = false;
    if (!this.#expectedOut.delete(machine.ref.value)) this.#soil(machine.ref.value, 'left', []);
  }

  /** False: the value is what it was, byte for byte. */
  #compare(
    machine: Machine,
    index: number,
    path: string,
    value: Uint8Array | undefined,
    fresh: boolean,
    decode?: (bytes: Uint8Array) => XmlElement,
    items?: ItemRanges,
  ): boolean {
    const { hash, ignoredKeys, onChange } = this.#options;
    if (!this.#slab.replace(machine.slot, index, value === undefined ? 0n : hash(value))) return false;
    const listAt = this.#lists.get(path);
    if (listAt !== undefined) {
      let list = { hash: 0n, carries: undefined as string | undefined };
      try {
        if (value !== undefined)
          list = listHash(value, decode, hash, path === EXTRA_CONFIG ? ignoredKeys : undefined, items);
      } catch {
        this.#unreadable(machine.ref, path, undefined, undefined);
      }
      if (path === EXTRA_CONFIG && machine.carries !== list.carries) {
        machine.carries = list.carries;
        // Whose machine it is may be known only now; an ignored key, but not for this.
        if (!fresh) this.#soil(machine.ref.value, 'changed', []);
      }
      if (!this.#slab.replace(machine.slot, listAt, list.hash)) return true;
    }
    if (fresh) return true;
    this.#soil(machine.ref.value, 'changed', [path]);
    onChange?.(machine.ref, path, value === undefined || decode === undefined ? undefined : decode(value));
    return true;
  }

  #unreadable(
    ref: MoRef,
    path: string,
    fault: Uint8Array | undefined,
    decode: ((bytes: Uint8Array) => XmlElement) | undefined,
  ): void {
    let read: XmlElement | undefined;
    try {
      read = fault === undefined ? undefined : decode?.(fault);
    } catch {
      // Then nothing more is known than that it is missing.
    }
    this.#options.onUnreadable?.(ref, path, read);
  }

  #soil(value: string, kind: ChangeKind, paths: Iterable<string>): void {
    const dirty = this.#dirty.get(value);
    if (dirty === undefined) {
      this.#dirty.set(value, { kind, paths: new Set(paths) });
      this.#ready.add(value);
    } else {
      // The last word counts, except that being found says less than anything else.
      if (kind !== 'found') dirty.kind = kind;
      for (const path of paths) dirty.paths.add(path);
    }
    this.#options.onDirty?.();
  }
}
