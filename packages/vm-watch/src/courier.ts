import type { Clock, MoRef } from '@drydock/vsphere';
import type { DirtyMachine, Ledger } from './ledger.ts';
import { type Lookup, type Resolution, resolve, type Signal } from './resolve.ts';
import { delayBefore } from './state.ts';
import type { WatchLog } from './supervisor.ts';

/** What a {@link Courier} needs. */
export interface CourierOptions {
  readonly ledger: Ledger;
  readonly lookup: Lookup;
  /** Hands a signal on; when it returns (or resolves) the signal cannot get lost any more. What it throws makes the machine dirty again. */
  readonly deliver: (signal: Signal) => void | Promise<void>;
  /** Whether a machine that left is still somewhere in vCenter: then what is known of it is kept for its return. */
  readonly exists: (ref: MoRef) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: WatchLog;
  readonly random?: () => number;
  /** Each machine that was looked at, with what became of it. */
  readonly onResolved?: (ref: MoRef, resolution: Resolution) => void;
  /** How often machines that belong to nobody are looked at again. Default 5 minutes. */
  readonly recheckMs?: number;
}

const BATCH = 64;
const RECHECK_MS = 5 * 60_000;

/**
 * Carries what is dirty in a ledger to whoever reconciles it. It pulls: however slow the receiver is, nothing waits for it but the dirty machines, of which there is never more than
 * one entry each. Machines that belong to nobody are kept, and looked at again when somebody claims them.
 */
export class Courier {
  readonly #options: CourierOptions;
  readonly #unresolved = new Map<string, DirtyMachine>();
  /** Copies that were warned of. */
  readonly #copies = new Set<string>();
  #wake = Promise.withResolvers<void>();

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  /** Machines that belong to nobody. */
  get unresolved(): number {
    return this.#unresolved.size;
  }

  /** Something is dirty. */
  wake(): void {
    this.#wake.resolve();
  }

  /** An object appeared that names this machine, or that machines may carry the name of. */
  claimed(by: { readonly uniqueId?: string | undefined; readonly namespacedName: string }): void {
    const claimed = [...this.#unresolved.values()].filter(
      ({ ref, carries }) => ref.value === by.uniqueId || carries === by.namespacedName,
    );
    for (const machine of claimed) this.#again(machine);
    this.wake();
  }

  /** Delivers until the signal ends. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, clock, log, random = Math.random } = this.#options;
    const upkeep = this.#upkeep(signal);
    signal.addEventListener('abort', () => this.wake(), { once: true });
    let failures = 0;
    while (!signal.aborted) {
      const batch = ledger.take(BATCH);
      if (batch.length === 0) {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers<void>();
        continue;
      }
      let failed = false;
      for (const dirty of batch) {
        try {
          if (signal.aborted) ledger.putBack(dirty);
          else await this.#settle(dirty);
        } catch (error) {
          ledger.putBack(dirty);
          failed = true;
          log.warn(
            { vm: dirty.ref.value, err: error },
            'A change of a machine could not be handed on; it is tried again.',
          );
        }
      }
      failures = failed ? failures + 1 : 0;
      if (failed) await clock.sleep(delayBefore('resume', failures, random), { signal }).catch(() => undefined);
    }
    await upkeep;
  }

  async #settle(dirty: DirtyMachine): Promise<void> {
    const { ledger, lookup, deliver, exists, log, onResolved } = this.#options;
    const { ref } = dirty;
    this.#unresolved.delete(ref.value);
    const resolution = resolve(dirty, lookup);
    switch (resolution.kind) {
      case 'signal':
        await deliver(resolution.signal);
        ledger.delivered(ref, this.#options.clock.now());
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
            "A machine carries the name of an object that has another machine: it is a copy, and its changes are not the object's.",
          );
        }
        this.#unresolved.set(ref.value, dirty);
        break;
      case 'drop':
        break;
    }
    if (dirty.kind === 'left' && !(await exists(ref))) {
      this.#copies.delete(ref.value);
      ledger.forget(ref);
    }
    onResolved?.(ref, resolution);
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
    }
  }
}
