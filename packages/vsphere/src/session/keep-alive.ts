import { VimError } from '../errors.ts';
import type { Caller } from '../soap/call.ts';
import { methodBody } from '../soap/schema.ts';
import type { MoRef } from '../vcenter.ts';

/** Renews a lease until it is stopped. */
export interface KeepAlive {
  /** Ends with a `VimError` as its reason when the lease could not be renewed three times in a row. */
  readonly failed: AbortSignal;
  /** Resolves when no renewal is under way any more. */
  stop(): Promise<void>;
}

const FASTEST_MS = 2_000;
const ATTEMPTS = 3;

/** Milliseconds between two renewals: what vCenter's own tools use, or a tenth of a short lease. `leaseTimeout` is in seconds. */
export function renewalPeriod(leaseTimeout: number): number {
  return leaseTimeout > 0 ? Math.min(FASTEST_MS, (leaseTimeout * 1000) / 10) : FASTEST_MS;
}

/**
 * Sends HttpNfcLeaseProgress from a timer of its own, so that a stalled data path does not cost the lease. The same percentage renews as well as a higher one. One
 * lost renewal means nothing: there are at least ten of them in a lease's life.
 */
export function keepAlive(caller: Caller, lease: MoRef, leaseTimeout: number, percent: () => number): KeepAlive {
  const period = renewalPeriod(leaseTimeout);
  const stopping = new AbortController();
  const failed = new AbortController();
  const loop = async (): Promise<void> => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      await caller.clock.sleep(period, { background: true, signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        const body = methodBody('HttpNfcLeaseProgress', { percent: Math.floor(percent()) });
        // Not repeated by the session layer: the next tick is the repetition.
        await caller.call('HttpNfcLeaseProgress', lease, body, {
          signal: stopping.signal,
          timeoutMs: Math.max(period * 5, 1_000),
          lane: 'session',
        });
        failures = 0;
      } catch (cause) {
        // A stop in the middle of a call shows up as its failure.
        if (!stopping.signal.aborted) failures += 1;
        if (failures < ATTEMPTS) continue;
        failed.abort(lost(caller.server, cause));
        return;
      }
    }
  };
  const running = loop();
  return {
    failed: failed.signal,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

function lost(server: string, cause: unknown): VimError {
  return new VimError({
    kind: 'transport',
    code: 'VIM_LEASE_FAILED',
    op: 'HttpNfcLeaseProgress',
    message: `${server} did not renew the import lease ${ATTEMPTS} times in a row`,
    retriable: true,
    cause,
  });
}
