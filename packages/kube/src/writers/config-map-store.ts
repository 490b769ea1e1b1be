import { createHash } from 'node:crypto';
import { ConfigMap } from '@drydock/api';
import type { Client } from '../client/client.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, isAlreadyExists, isConflict, isNotFound } from '../errors.ts';

/** Where texts are kept. */
export interface ConfigMapStoreOptions {
  readonly client: Pick<Client, 'get' | 'create' | 'replace'>;
  readonly namespace: string;
  /** Of the ConfigMap; with several, `-0`, `-1` and so on follow. */
  readonly name: string;
  /** What the ConfigMaps are for, as their label `app.kubernetes.io/component`. */
  readonly component: string;
  /** Over how many ConfigMaps the keys are spread, by their hash. It must stay the same for a name. Default 1. */
  readonly shards?: number;
  readonly clock?: Clock;
}

/** A few texts by key, in ConfigMaps of our own. */
export interface ConfigMapStore {
  /** All of them. Rejects with `ApiError`. */
  read(): Promise<ReadonlyMap<string, string>>;
  /**
   * Puts what `next` makes of the text that is there (undefined: none; as a result: take it away), guarded by resourceVersion and asked again when somebody else was faster. Resolves to what is there afterwards. Rejects with
   * `ApiError`, or with what `next` threw; nothing is saved then, unless the answer was lost. Changes that come together are one write.
   */
  change(key: string, next: (now: string | undefined) => string | undefined): Promise<string | undefined>;
}

/** A rule of a Role, as rbac.authorization.k8s.io/v1 has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The API server takes 1 MiB of keys and values together; some of it is left free. */
const MOST_BYTES = 1_000_000;
const ATTEMPTS = 8;
/** ms; a store that does not answer must not hold up its user for ever. */
const DEADLINE = 10_000;
const MANAGED_BY = 'app.kubernetes.io/managed-by';
const COMPONENT = 'app.kubernetes.io/component';

/** What a store needs in its namespace. RBAC cannot restrict creation by name. */
export function configMapStoreRules(
  stores: readonly { readonly name: string; readonly shards?: number }[],
): readonly PolicyRule[] {
  const resourceNames = stores.flatMap(({ name, shards = 1 }) => namesOf(name, shards));
  return [
    { apiGroups: [''], resources: ['configmaps'], resourceNames, verbs: ['get', 'update'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  ];
}

function namesOf(name: string, shards: number): readonly string[] {
  return shards === 1 ? [name] : Array.from({ length: shards }, (_, index) => `${name}-${index}`);
}

/** Makes a store; nothing happens before it is used, and no ConfigMap is made before there is something to keep. */
export function configMapStore(options: ConfigMapStoreOptions): ConfigMapStore {
  const shards = namesOf(options.name, options.shards ?? 1).map((name) => shardOf(options, name));
  return {
    read: async () => {
      const all = await Promise.all(shards.map((shard) => shard.read()));
      return new Map(all.flatMap((found) => Object.entries(found?.data ?? {})));
    },
    change: (key, next) => {
      const digest = createHash('sha256').update(key).digest().readUInt32BE();
      const shard = shards[digest % shards.length];
      if (shard === undefined) throw new RangeError('a store has at least one ConfigMap');
      return shard.change(key, next);
    },
  };
}

interface Change {
  readonly key: string;
  readonly next: (now: string | undefined) => string | undefined;
  readonly done: PromiseWithResolvers<string | undefined>;
}

interface Shard {
  read(): Promise<ConfigMap | undefined>;
  change: ConfigMapStore['change'];
}

function shardOf({ client, namespace, component, clock = systemClock }: ConfigMapStoreOptions, name: string): Shard {
  const key = { namespace, name };
  const labels = { [MANAGED_BY]: 'drydock', [COMPONENT]: component };
  let waiting: Change[] = [];
  let busy = false;

  /** The work, with the signal of its deadline; how undici and timers tell that it is over depends on where it comes. */
  async function inTime<R>(work: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const signal = AbortSignal.timeout(DEADLINE);
    try {
      return await work(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      const action = `keep texts in ConfigMap ${namespace}/${name}`;
      const said = `there was no answer within ${DEADLINE / 1000} s`;
      throw new ApiError({ code: 'Timeout', action, said, cause: error });
    }
  }

  async function read(signal: AbortSignal): Promise<ConfigMap | undefined> {
    try {
      const found = await client.get(ConfigMap, key, { signal });
      const mine = found.metadata.labels?.[MANAGED_BY] === 'drydock' && found.metadata.labels[COMPONENT] === component;
      if (mine) return found;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    throw new ApiError({
      code: 'AlreadyExists',
      action: `read ConfigMap ${namespace}/${name}`,
      said: 'it lacks the labels of Drydock, so it belongs to somebody else and is left alone',
      next: 'Move it away, or give Drydock another namespace for its leases.',
    });
  }

  async function save(changes: readonly Change[], signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      let current: ConfigMap | undefined;
      try {
        current = await read(signal);
        const { data, outcomes } = applied(current?.data ?? {}, changes, `${namespace}/${name}`);
        if (data !== undefined)
          await (current === undefined
            ? client.create(ConfigMap, { metadata: { ...key, labels }, data }, { signal })
            : client.replace(ConfigMap, { ...current, data }, { signal }));
        for (const settle of outcomes) settle();
        return;
      } catch (error) {
        const raced = isConflict(error) || isAlreadyExists(error) || (isNotFound(error) && current !== undefined);
        const again = error instanceof ApiError && (raced ? !isForeign(error) : error.retriable);
        if (!again || attempt === ATTEMPTS) throw error;
        if (!raced || attempt > 1) await clock.sleep(25 * 2 ** attempt * (0.5 + Math.random()), { signal });
      }
    }
  }

  async function work(): Promise<void> {
    busy = true;
    while (waiting.length > 0) {
      const changes = waiting;
      waiting = [];
      try {
        await inTime((signal) => save(changes, signal));
      } catch (error) {
        for (const { done } of changes) done.reject(error);
      }
    }
    busy = false;
  }

  return {
    read: () => inTime(read),
    change: (of, next) => {
      const done = Promise.withResolvers<string | undefined>();
      waiting.push({ key: of, next, done });
      if (!busy) void work();
      return done.promise;
    },
  };
}

/** Ours to wait for is only what somebody writes in between. */
function isForeign(error: ApiError): boolean {
  return error.status === 0 && isAlreadyExists(error);
}

/** The data after the changes, undefined where nothing is to be written, and how each change ends once that is done. */
function applied(
  before: Readonly<Record<string, string>>,
  changes: readonly Change[],
  where: string,
): { readonly data: Readonly<Record<string, string>> | undefined; readonly outcomes: readonly (() => void)[] } {
  const data = new Map(Object.entries(before));
  let size = data.entries().reduce((sum, [key, text]) => sum + bytesOf(key, text), 0);
  let changed = false;
  const outcomes = changes.map(({ key, next, done }) => {
    const now = data.get(key);
    let text: string | undefined;
    try {
      text = next(now);
    } catch (error) {
      return () => done.reject(error);
    }
    if (text === now) return () => done.resolve(text);
    const grown = size + bytesOf(key, text) - bytesOf(key, now);
    if (grown > MOST_BYTES && grown > size) return () => done.reject(full(where));
    size = grown;
    changed = true;
    if (text === undefined) data.delete(key);
    else data.set(key, text);
    return () => done.resolve(text);
  });
  return { data: changed ? Object.fromEntries(data) : undefined, outcomes };
}

function bytesOf(key: string, text: string | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(key) + Buffer.byteLength(text);
}

function full(where: string): ApiError {
  return new ApiError({
    code: 'TooLarge',
    action: `save into ConfigMap ${where}`,
    said: `it holds almost as much as a ConfigMap can (${MOST_BYTES} bytes)`,
    next: 'Take out what belongs to objects that are gone, or install the definition that can hold the values.',
  });
}
