import type { Lease } from '@drydock/api';
import pino from 'pino';
import type { Client } from '../client/client.ts';
import { ApiError, type ApiErrorCode } from '../errors.ts';
import { type Leader, type LeaderOptions, leaderElection } from '../manager/leader.ts';
import type { VirtualClock } from './clock.ts';

const log = pino({ level: 'silent' });

/** What a server answers, by its code. */
export function failure(code: ApiErrorCode): ApiError {
  return new ApiError({ code, action: 'lease', said: code });
}

/** One Lease with the server's rules: unique names, and resourceVersion as guard. */
export class LeaseStore {
  lease: Lease | undefined;
  /** Whether calls of a contestant fail. */
  readonly cut: Set<string> = new Set();
  writes = 0;
  /** Awaited after a write was stored, before it is answered. */
  answer: () => Promise<void> = () => Promise.resolve();

  client(who: string): Client {
    const check = (): void => {
      if (this.cut.has(who)) throw failure('Connection');
    };
    const store = async (lease: Lease): Promise<Lease> => {
      this.writes++;
      const stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.writes) } };
      this.lease = stored;
      await this.answer();
      return stored;
    };
    const client = {
      get: async () => {
        check();
        if (this.lease === undefined) throw failure('NotFound');
        return this.lease;
      },
      create: async (_: unknown, lease: Lease) => {
        check();
        if (this.lease !== undefined) throw failure('AlreadyExists');
        return store(lease);
      },
      replace: async (_: unknown, lease: Lease) => {
        check();
        if (this.lease === undefined) throw failure('NotFound');
        if (this.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) throw failure('Conflict');
        return store(lease);
      },
    };
    return client as unknown as Client;
  }

  get holder(): string | undefined {
    return this.lease?.spec?.holderIdentity;
  }
}

/** A process that contests for the lease, and acts while it leads. */
export interface Contestant {
  readonly leader: Leader;
  readonly stop: AbortController;
  readonly done: Promise<string>;
  readonly acts: () => boolean;
}

/** Starts one; `done` is how it ended: `stopped`, or the code of its error. */
export function contest(
  store: LeaseStore,
  identity: string,
  clock: VirtualClock,
  options: Partial<LeaderOptions> = {},
): Contestant {
  const leader = leaderElection({
    client: store.client(identity),
    namespace: 'ns',
    name: 'lease',
    identity,
    log,
    clock,
    ...options,
  });
  const stop = new AbortController();
  let acting = false;
  const lead = async (held: AbortSignal): Promise<void> => {
    acting = true;
    const either = AbortSignal.any([held, stop.signal]);
    if (!either.aborted)
      await new Promise<void>((resolve) => either.addEventListener('abort', () => resolve(), { once: true }));
    acting = false;
  };
  const done = leader.run(lead, stop.signal).then(
    () => 'stopped',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  );
  return { leader, stop, done, acts: () => acting };
}
