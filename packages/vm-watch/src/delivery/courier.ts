import type { Clock, MoRef } from '@drydock/vsphere';
import type { DirtyMachine } from '../watch/dirty-machine.ts';
import type { Ledger } from '../watch/ledger.ts';
import { delayBefore } from '../watch/state.ts';
import type { WatchLog } from '../watch/watch-log.ts';
import { type Lookup, type Resolution, resolve, type Signal } from './resolve.ts';

/** What a {@link Courier} needs. */
export interface CourierOptions {
  readonly ledger: Ledger;
  readonly lookup: Lookup;
  /** Hands a signal on; when it returns (or resolves) the signal cannot get lost any more. What it throws makes the machine dirty again. */
  readonly deliver: (signal: Signal) => void | Promise<void>;
  /** Those machines of some that left that are still somewhere in vCenter: what is known of them is kept for their return. */
  readonly existing: (refs: readonly MoRef[], signal: AbortSignal) => Promise<readonly MoRef[]>;
  /**
   * Reads from the machine itself what it carries in `vmservice.namespacedName`; needed where the watch does not see extraConfig. undefined: nothing, or the
   * machine is gone.
   */
  readonly readName?: (ref: MoRef) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: WatchLog;
  readonly random?: () => number;
  /** Each machine that was looked at, with what became of it. */
  readonly onResolved?: (ref: MoRef, resolution: Resolution) => void;
  /** How often machines that belong to nobody are looked at again. Default 5 minutes. */
  readonly recheckMs?: number;
  /** What changes on a machine so soon (ms) after a signal of it waits that long, for one signal more. Default 150; 0: nothing waits. */
  readonly gatherMs?: number;
}

/** What an object says of its machine. */
export interface Claim {
  readonly namespacedName: string;
  /** The moref value that it names now, if any. */
  readonly uniqueId?: string | undefined;
  /** The one that it named before, and names no more. */
  readonly formerly?: string | undefined;
}

const BATCH = 64;
const RECHECK_MS = 5 * 60_000;
/** A task of vCenter changes a machine some dozens of times within 100 ms. */
const GATHER_MS = 150;

/**
 * Carries what is dirty in a ledger to whoever reconciles it. It pulls: however slow the receiver is, nothing waits for it but the dirty machines, of which there is never more than
 * one entry each. A machine whose change was refused rests for a while, and no other waits for it. Machines that belong to nobody are kept, and looked at again when somebody claims
 * them.
 */
export class Courier {
  readonly #options: CourierOptions;
  readonly #unresolved = new Map<string, DirtyMachine>();
  /** Copies that were warned of. */
  readonly #copies = new Set<string>();
  /** How often in a row the change of a machine was refused. */
  readonly #refusals = new Map<string, number>();
  /** Machines that are not to be taken yet. */
  readonly #resting = new Set<string>();
  /** When machines of which a signal was just handed on may be taken again, the soonest first. */
  readonly #gathering = new Map<string, number>();
  /** Machines that left, and perhaps for good. */
  readonly #left = new Map<string, MoRef>();
  #asking = false;
  /** Whether something wakes us when what was gathered first is due. */
  #alarmed = false;
  #wake = Promise.withResolvers<void>();
  /** Taken, and not handed over yet. */
  #carried = 0;

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  /** Machines whose change was not handed over yet. */
  get pending(): number {
    return this.#options.ledger.dirty + this.#carried;
  }

  /** Machines that belong to nobody. */
  get unresolved(): number {
    return this.#unresolved.size;
  }

  /** Another vCenter is watched from now on: nothing is known of its machines. */
  clear(): void {
    const waiting = [...this.#resting, ...this.#gathering.keys()];
    for (const known of [this.#unresolved, this.#copies, this.#refusals, this.#resting, this.#left, this.#gathering])
      known.clear();
    for (const machine of waiting) this.#options.ledger.rested(machine);
  }

  /** Something is dirty. */
  wake(): void {
    this.#wake.resolve();
  }

  /**
   * Somebody looks at a machine of his own accord, now or within a minute. To be said before he does: if the watch turns out to have been away at that moment, he is told to look
   * again, since what he saw may be over without a word of it.
   */
  looked(machine: string): void {
    this.#options.ledger.looked(machine, this.#options.clock.now());
  }

  /** What is known of an object changed, and whoever knows it looks at its machine: machines that nobody owned may be its own, and the one that it named before may be another's. */
  claimed(by: Claim): void {
    if (by.formerly !== undefined) this.#options.ledger.again(by.formerly);
    if (by.uniqueId !== undefined) this.looked(by.uniqueId);
    const claimed = [...this.#unresolved.values()].filter(
      ({ ref, carries }) => ref.value === by.uniqueId || carries === by.namespacedName,
    );
    for (const machine of claimed) this.#again(machine);
    this.wake();
  }

  /** Delivers until the signal ends. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, log, onResolved } = this.#options;
    const upkeep = this.#upkeep(signal);
    signal.addEventListener('abort', () => this.wake(), { once: true });
    while (!signal.aborted) {
      this.#gathered();
      const batch = ledger.take(BATCH, this.#waits);
      if (batch.length === 0) {
        await this.#somethingToDo(signal);
        continue;
      }
      this.#carried = batch.length;
      for (const dirty of batch) {
        try {
          signal.throwIfAborted();
          const resolution = await this.#settle(dirty, signal);
          this.#carried -= 1;
          this.#refusals.delete(dirty.ref.value);
          if (resolution !== undefined) onResolved?.(dirty.ref, resolution);
        } catch (error) {
          this.#carried -= 1;
          ledger.putBack(dirty);
          if (signal.aborted) continue;
          void this.#rest(dirty.ref.value, signal);
          log.warn(
            { vm: dirty.ref.value, err: error },
            'A change of a machine could not be handed on; Drydock tries again. If this warning repeats, follow the error.',
          );
        }
      }
      if (this.#left.size > 0) void this.#forgetGone(signal);
    }
    await upkeep;
  }

  async #settle(dirty: DirtyMachine, signal: AbortSignal): Promise<Resolution | undefined> {
    const { ledger, lookup, deliver, log, readName } = this.#options;
    const { ref } = dirty;
    // Taken before another vCenter took the place.
    if (dirty.era !== ledger.era) return undefined;
    this.#unresolved.delete(ref.value);
    let resolution = resolve(dirty, lookup);
    if (resolution.kind === 'unresolved' && dirty.carries === undefined && readName !== undefined) {
      const carries = await unlessAborted(readName(ref), signal);
      resolution = resolve({ ...dirty, carries }, lookup);
    }
    switch (resolution.kind) {
      case 'signal':
        // What is said of it while it is handed over may come after the look.
        this.looked(ref.value);
        await unlessAborted(deliver(resolution.signal), signal);
        ledger.delivered(dirty, this.#options.clock.now());
        this.#gather(ref.value);
        break;
      case 'unresolved':
        this.#unresolved.set(ref.value, dirty);
        break;
      case 'copy':
        if (!this.#copies.has(ref.value)) {
          this.#copies.add(ref.value);
          const { namespace, name, uniqueId } = resolution.of;
          log.warn(
            { vm: ref.value, object: `${namespace}/${name}`, machineOfObject: uniqueId },
            "A machine carries the name of an object that has another machine: it is a copy, and its changes are not the object's. Remove the name from the extraConfig of the copy.",
          );
        }
        this.#unresolved.set(ref.value, dirty);
        break;
      case 'drop':
        break;
    }
    if (dirty.kind === 'left') this.#left.set(ref.value, ref);
    return resolution;
  }

  readonly #waits = { has: (machine: string) => this.#resting.has(machine) || this.#gathering.has(machine) };

  /** A machine that is powered on changes in ten answers, and one look at the end shows all of them. */
  #gather(machine: string): void {
    const { clock, gatherMs = GATHER_MS } = this.#options;
    if (gatherMs > 0) this.#gathering.set(machine, clock.now() + gatherMs);
  }

  #gathered(): void {
    const { clock, ledger } = this.#options;
    const now = clock.now();
    for (const [machine, until] of this.#gathering) {
      if (until > now) return;
      this.#gathering.delete(machine);
      ledger.rested(machine);
    }
  }

  /** Until somebody wakes us, or what was gathered is due. */
  async #somethingToDo(signal: AbortSignal): Promise<void> {
    const { ledger, clock } = this.#options;
    const [due] = this.#gathering.values();
    if (due !== undefined && ledger.dirty > 0 && !this.#alarmed) {
      // One at a time: later ones are due later.
      this.#alarmed = true;
      const ring = (): void => {
        this.#alarmed = false;
        this.wake();
      };
      void clock.sleep(Math.max(0, due - clock.now()), { background: true, signal }).then(ring, ring);
    }
    await this.#wake.promise;
    this.#wake = Promise.withResolvers<void>();
  }

  async #rest(machine: string, signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const refusals = (this.#refusals.get(machine) ?? 0) + 1;
    this.#refusals.set(machine, refusals);
    this.#resting.add(machine);
    await clock.sleep(delayBefore('resume', refusals, random), { background: true, signal }).catch(() => undefined);
    this.#resting.delete(machine);
    this.#options.ledger.rested(machine);
    this.wake();
  }

  /** Of machines that left for good nothing is kept. While that cannot be asked, it is asked again later. */
  async #forgetGone(signal: AbortSignal): Promise<void> {
    if (this.#asking || this.#left.size === 0) return;
    this.#asking = true;
    const { ledger, existing } = this.#options;
    const asked = [...this.#left.values()];
    try {
      const there = new Set((await existing(asked, signal)).map(({ value }) => value));
      for (const ref of asked) {
        // Otherwise it came and left again meanwhile.
        if (this.#left.get(ref.value) !== ref) continue;
        this.#left.delete(ref.value);
        if (there.has(ref.value)) continue;
        this.#copies.delete(ref.value);
        ledger.forget(ref);
      }
    } catch {
      // They are kept that long.
    }
    this.#asking = false;
  }

  #again(machine: DirtyMachine): void {
    this.#unresolved.delete(machine.ref.value);
    // Whoever claims it now has not looked at it yet; that holds even where its container is not watched any more.
    this.#options.ledger.putBack({ ...machine, kind: 'changed' });
  }

  async #upkeep(signal: AbortSignal): Promise<void> {
    const { clock, recheckMs = RECHECK_MS } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(recheckMs, { background: true, signal }).catch(() => undefined);
      for (const machine of this.#unresolved.values()) this.#again(machine);
      this.wake();
      void this.#forgetGone(signal);
    }
  }
}

/** Waits for a receiver only as long as somebody waits for the courier. */
async function unlessAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const end = Promise.withResolvers<never>();
  const onAbort = (): void => end.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, end.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
