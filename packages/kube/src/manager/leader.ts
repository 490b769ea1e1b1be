import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Lease } from '@drydock/api';
import type { Logger } from 'pino';
import type { Client } from '../client/client.ts';
import { type Clock, microTime, systemClock } from '../clock.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../errors.ts';
import { type Key, keyText, type ObjectMeta } from '../resource.ts';
import { RunError } from './run-error.ts';

/** How leadership is contested. Times in ms. */
export interface LeaderOptions {
  readonly client: Client;
  readonly namespace: string;
  /** Name of the Lease: one per role. */
  readonly name: string;
  /** Unique per process; host name and a UUID when absent. */
  readonly identity?: string;
  /** How long the others leave the lease alone after they saw it renewed. Default 15,000. */
  readonly leaseDuration?: number;
  /** How long the holder acts without a renewal. Shorter than `leaseDuration`. Default 10,000. */
  readonly renewDeadline?: number;
  /** Between two tries, at most: the holder renews at least eight times within its deadline, but not more often than every 2 s unless told. Default 2,000. */
  readonly retryPeriod?: number;
  /**
   * Asked at each renewal: annotations that the Lease is to have, which tell what the holder cannot tell elsewhere; undefined takes one away. They are as young as the lease, and the next holder's
   * take their place.
   */
  readonly annotations?: () => Readonly<Record<string, string | undefined>>;
  /**
   * Asked of the Lease as it was seen last, at each look and each renewal: while it says yes, this contestant does not take the lease, and gives it back as soon as what it does as the holder has
   * ended.
   */
  readonly waits?: (lease: Lease) => boolean;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Called when leadership begins and ends. */
  readonly onChange?: (leading: boolean) => void;
}

/**
 * One contestant for a Lease. Clocks of different machines are never compared: a lease is expired when this process saw no
 * change of it for `leaseDurationSeconds` on its own monotonic clock. Every write is guarded by resourceVersion.
 *
 * The holder trusts neither of its own clocks alone: the monotonic one stands still while a virtual machine is suspended, the wall clock may
 * be set back. It acts only while both say that its last renewal is young enough; after a jump of the wall clock it acts again with the next
 * renewal, whose guard proves that nobody took the lease in between: a lease that another one held meanwhile is lost, also where that one has released it.
 *
 * No attempt has all that is left of the deadline, and each that follows a failure has a connection of its own: one connection that hangs costs an attempt.
 */
export interface Leader {
  readonly name: string;
  readonly identity: string;
  readonly leading: boolean;
  /**
   * Contests until the signal ends. `lead` runs while the lease is held, and its signal ends when it no longer is; its second one ends when what is begun is to be ended, and nothing new begun, see `LeaderOptions.waits`. The lease
   * is released when `lead` has returned, and kept until it expires when `lead` failed. Rejects with `RunError` LeaseLost when the lease was lost,
   * without a release; with the StopTimeout of `lead` where what it began may go on nevertheless.
   */
  run(lead: (held: AbortSignal, waits: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
  /**
   * Throws `RunError` LeaseNotHeld unless the last renewal, counted from when it was sent, is younger than the renew deadline by both clocks.
   * To be called right before a write that no resourceVersion guards.
   */
  assertHeld(): void;
  /**
   * Whether the process with this identity may still act as holder. While nothing is known the answer is yes, so that nobody
   * tidies up behind a live writer.
   */
  holderIsLive(identity: string): boolean;
}

interface Observation {
  readonly lease: Lease;
  /** Monotonic ms at which this process first saw this version. */
  readonly at: number;
}

/** When something was sent: monotonic ms, and wall-clock ms. */
interface Moment {
  readonly now: number;
  readonly wall: number;
}

/** An attempt has this share of what is left of the deadline, but no less than that (ms), so that more than one fits. */
const SHARE = 0.5;
const SHORTEST_ATTEMPT = 500;
/** After a failure the pause is at most this share of what is left, but no less than that (ms). */
const PAUSE_SHARE = 0.25;
const SHORTEST_PAUSE = 100;
/** While all is well, the holder renews after this share of the deadline, so that most of it is left whenever the server becomes unavailable; but no sooner than that (ms). */
const RENEWAL_SHARE = 1 / 8;
const SHORTEST_RENEWAL = 2_000;

/** Makes a contestant; nothing happens before `run`. */
export function leaderElection(options: LeaderOptions): Leader {
  return new Elector(options);
}

class Elector implements Leader {
  readonly name: string;
  readonly identity: string;
  readonly #options: LeaderOptions;
  readonly #clock: Clock;
  readonly #key: Key;
  readonly #duration: number;
  readonly #deadline: number;
  readonly #period: number;
  #seen: Observation | undefined;
  /** When the last successful renewal was sent; undefined while not leading. */
  #renewed: Moment | undefined;
  /** `leaseTransitions` of the term that this process leads. */
  #term: number | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.name = options.name;
    this.identity = options.identity ?? `${hostname()}_${randomUUID()}`;
    this.#clock = options.clock ?? systemClock;
    this.#key = { namespace: options.namespace, name: options.name };
    this.#duration = options.leaseDuration ?? 15_000;
    this.#deadline = options.renewDeadline ?? 10_000;
    this.#period = options.retryPeriod ?? 2_000;
    if (this.#deadline >= this.#duration || this.#period >= this.#deadline) {
      throw new RangeError(`lease ${keyText(this.#key)}: lease duration > renew deadline > retry period is required`);
    }
  }

  get leading(): boolean {
    if (this.#renewed === undefined) return false;
    const { now, wall } = this.#moment();
    return now - this.#renewed.now < this.#deadline && wall - this.#renewed.wall < this.#deadline;
  }

  assertHeld(): void {
    if (!this.leading)
      throw new RunError('LeaseNotHeld', `lease ${keyText(this.#key)} is not held by ${this.identity}`);
  }

  holderIsLive(identity: string): boolean {
    if (this.leading) return identity === this.identity;
    if (this.#seen === undefined) return true;
    return this.#seen.lease.spec?.holderIdentity === identity && !this.#expired(this.#seen);
  }

  async run(lead: (held: AbortSignal, waits: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!(await this.#acquire(signal))) return;
    this.#options.log.info({ lease: keyText(this.#key), identity: this.identity }, 'leading');
    this.#options.onChange?.(true);
    const held = new AbortController();
    const waits = new AbortController();
    const stopRenewing = new AbortController();
    try {
      const renewing = this.#renew(stopRenewing.signal, waits).catch((error: unknown) => {
        held.abort(error);
        throw error;
      });
      const led = lead(held.signal, waits.signal).finally(() => stopRenewing.abort());
      const [, outcome] = await Promise.allSettled([renewing, led]);
      if (outcome.status === 'rejected' && isStopTimeout(outcome.reason)) throw outcome.reason;
      // Leadership that was lost explains whatever else `lead` threw.
      if (held.signal.aborted) throw held.signal.reason;
      // What failed may still be writing: then the lease expires by itself.
      if (outcome.status === 'rejected') throw outcome.reason;
      await this.#release();
    } finally {
      this.#renewed = undefined;
      this.#options.onChange?.(false);
    }
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        if (await this.#try(signal, this.#deadline * SHARE)) return true;
      } catch (error) {
        if (signal.aborted) return false;
        this.#options.log.warn(
          { err: error, lease: keyText(this.#key) },
          'The Lease could not be read or written; Drydock tries again. If this warning repeats, follow the error.',
        );
      }
      await this.#pause(this.#untilNextLook(), signal);
    }
    return false;
  }

  /** At most the period, and not past the moment at which the lease expires: a takeover after a crash takes no longer than both. */
  #untilNextLook(): number {
    // Spread, so that contestants do not meet at the same instant for ever.
    const pause = this.#period * (1 - Math.random() * 0.2);
    if (this.#seen === undefined) return pause;
    // Given back, and to be left for now: whoever waits goes on soon after it may.
    if ((this.#seen.lease.spec?.holderIdentity ?? '') === '') return Math.min(pause, SHORTEST_RENEWAL);
    const rest = this.#expiry(this.#seen) - this.#clock.now();
    return rest > 0 ? Math.min(pause, rest) : pause;
  }

  /** Returns when the signal ended; throws when the lease is lost. */
  async #renew(signal: AbortSignal, waits: AbortController): Promise<void> {
    for (let failed = false; ; ) {
      const rest = this.#left();
      // A period near the deadline is legal: half of the rest is for the attempts.
      const longest = failed ? Math.max(rest * PAUSE_SHARE, SHORTEST_PAUSE) : this.#untilRenewal(rest);
      await this.#pause(Math.max(0, Math.min(this.#period, longest, rest)), signal);
      if (signal.aborted) return;
      const left = this.#left();
      if (left <= 0) throw this.#lost('it was not renewed in time');
      failed = false;
      try {
        if (!(await this.#try(signal, Math.min(left, Math.max(left * SHARE, SHORTEST_ATTEMPT)))))
          throw this.#lost('another process held it');
        if (this.#mustWait(this.#seen)) waits.abort();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof RunError) throw error;
        failed = true;
        this.#options.log.warn(
          { err: error, lease: keyText(this.#key) },
          'The Lease was not renewed; Drydock tries again. If this warning repeats, follow the error.',
        );
      }
    }
  }

  #untilRenewal(rest: number): number {
    return Math.min(rest * SHARE, Math.max(this.#deadline * RENEWAL_SHARE, SHORTEST_RENEWAL));
  }

  /** How long (ms) the last renewal still counts. */
  #left(): number {
    return (this.#renewed?.now ?? Number.NEGATIVE_INFINITY) + this.#deadline - this.#clock.now();
  }

  #moment(): Moment {
    return { now: this.#clock.now(), wall: this.#clock.date().getTime() };
  }

  #lost(why: string): RunError {
    this.#renewed = undefined;
    return new RunError('LeaseLost', `lease ${keyText(this.#key)} was lost by ${this.identity}: ${why}`);
  }

  /** One attempt to take or renew, for at most `limit` ms. False: somebody else holds it. */
  async #try(signal: AbortSignal, limit: number): Promise<boolean> {
    const end = new AbortController();
    const late = new AbortController();
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    this.#clock.sleep(limit, { signal: end.signal }).then(
      () => {
        const error = new DOMException(`no answer within ${Math.round(limit)} ms`, 'TimeoutError');
        late.abort(error);
        reject(error);
      },
      () => undefined,
    );
    try {
      // A race, because the deadline must hold even where a call does not end with its signal.
      return await Promise.race([this.#attempt(AbortSignal.any([signal, late.signal])), tooLate]);
    } finally {
      end.abort();
    }
  }

  async #attempt(signal: AbortSignal): Promise<boolean> {
    const leads = this.#renewed !== undefined;
    if (!leads) await this.#look(signal);
    for (let tries = 0; ; tries++) {
      const seen = this.#seen;
      if (leads ? !this.#isOwnTerm(seen) : !this.#isFree(seen) || this.#mustWait(seen)) return false;
      const sent = this.#moment();
      try {
        const lease = await this.#write(seen?.lease, signal);
        // An answer that comes too late is nobody's: it must not bring back what was given up.
        signal.throwIfAborted();
        this.#observe(lease);
        this.#renewed = sent;
        this.#term = lease.spec?.leaseTransitions;
        return true;
      } catch (error) {
        const raced = isConflict(error) || isAlreadyExists(error) || (isNotFound(error) && seen !== undefined);
        if (!raced || tries > 0) throw error;
        // Somebody wrote in between (perhaps our own earlier write, whose answer was lost): look, and decide again.
        await this.#look(signal);
      }
    }
  }

  /** Whether nobody else has held the lease since this process took it. An absent one proves nothing: it may have been another's. */
  #isOwnTerm(seen: Observation | undefined): boolean {
    const spec = seen?.lease.spec;
    return spec?.holderIdentity === this.identity && spec.leaseTransitions === this.#term;
  }

  #isFree(seen: Observation | undefined): boolean {
    const holder = seen?.lease.spec?.holderIdentity ?? '';
    return seen === undefined || holder === '' || holder === this.identity || this.#expired(seen);
  }

  #mustWait(seen: Observation | undefined): boolean {
    return seen !== undefined && this.#options.waits?.(seen.lease) === true;
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      this.#observe(await this.#options.client.get(Lease, this.#key, { signal, urgent: true }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#seen = undefined;
    }
  }

  #observe(lease: Lease): void {
    if (this.#seen?.lease.metadata.resourceVersion === lease.metadata.resourceVersion && this.#seen !== undefined)
      return;
    this.#seen = { lease, at: this.#clock.now() };
  }

  #expired(seen: Observation): boolean {
    return this.#clock.now() >= this.#expiry(seen);
  }

  /** Monotonic ms. */
  #expiry({ lease, at }: Observation): number {
    const promised = lease.spec?.leaseDurationSeconds;
    return at + (promised === undefined ? this.#duration : promised * 1000);
  }

  #write(current: Lease | undefined, signal: AbortSignal): Promise<Lease> {
    const now = microTime(this.#clock.date());
    const renewing = current?.spec?.holderIdentity === this.identity;
    const spec = {
      ...current?.spec,
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#duration / 1000),
      acquireTime: renewing ? (current?.spec?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: current === undefined ? 0 : (current.spec?.leaseTransitions ?? 0) + (renewing ? 0 : 1),
    };
    const { client } = this.#options;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec };
    const metadata = this.#annotated(current?.metadata ?? { ...this.#key, name: this.name });
    return current === undefined
      ? client.create(Lease, { ...lease, metadata }, { signal, urgent: true })
      : client.replace(Lease, { ...lease, metadata }, { signal, urgent: true });
  }

  #annotated(metadata: ObjectMeta): ObjectMeta {
    const wanted = this.#options.annotations?.();
    if (wanted === undefined) return metadata;
    const all = Object.entries({ ...metadata.annotations, ...wanted });
    const annotations = all.filter((pair): pair is [string, string] => pair[1] !== undefined);
    return { ...metadata, annotations: Object.fromEntries(annotations) };
  }

  /** Hands the lease over at once: no holder, and one second of duration for those who look at that alone. */
  async #release(): Promise<void> {
    if (!this.leading) return;
    this.#renewed = undefined;
    const signal = AbortSignal.timeout(5_000);
    try {
      await this.#vacate(signal).catch(async (error: unknown) => {
        if (!isConflict(error)) throw error;
        // The last renewal, whose answer the stop cut off.
        await this.#look(signal);
        await this.#vacate(signal);
      });
    } catch (error) {
      this.#options.log.warn(
        { err: error, lease: keyText(this.#key) },
        'The Lease was not released; it expires by itself. No action is needed.',
      );
    }
  }

  async #vacate(signal: AbortSignal): Promise<void> {
    const lease = this.#seen?.lease;
    if (lease?.spec?.holderIdentity !== this.identity) return;
    const now = microTime(this.#clock.date());
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    this.#observe(await this.#options.client.replace(Lease, { ...lease, spec }, { signal, urgent: true }));
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#clock.sleep(ms, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

function isStopTimeout(error: unknown): boolean {
  return error instanceof RunError && error.code === 'StopTimeout';
}
