import { ConfigMap } from '@drydock/api';
import { ApiError, isConflict, isNotFound, type KubeClient, keyOf } from '@drydock/kube';
import type { ApplyOwner } from '../owner.ts';
import {
  type Chunk,
  chunkName,
  chunkText,
  entryText,
  fits,
  INVENTORY_COMPONENT,
  OWNER_LABEL,
  ownerDigest,
  ownerOf,
  readChunk,
} from './chunk.ts';
import type { InventoryEntry } from './entry.ts';
import type { Inventory, InventoryChanges, InventoryStore, OtherHolder } from './inventory.ts';

/** Where the ConfigMaps are: beside the Lease. */
export interface ConfigMapInventoryOptions {
  readonly client: Pick<KubeClient, 'list' | 'get' | 'create' | 'replace' | 'delete'>;
  readonly namespace: string;
}

/** How often a write whose answer was lost is tried. */
const ATTEMPTS = 4;

/** Inventories in ConfigMaps: about a hundred objects in each, so that a change costs one small write. */
export function configMapInventory(options: ConfigMapInventoryOptions): InventoryStore {
  return {
    open: async (owner, signal) => {
      const inventory = new OpenInventory(options, owner, signal);
      await inventory.refresh();
      return inventory;
    },
    owners: async (signal) => {
      const all = await Array.fromAsync(listed(options, signal));
      return [...new Set(all.flatMap((one) => ownerOf(one) ?? []))];
    },
    remove: async ({ name }, signal) => {
      let count = 0;
      for await (const configMap of listed(options, signal)) {
        if (ownerOf(configMap) !== name) continue;
        const { metadata, data } = configMap;
        const { uid, resourceVersion } = metadata;
        const guard = {
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        };
        await options.client.delete(ConfigMap, keyOf(configMap), guard, { signal }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
        count += (data?.['entries'] ?? '').split('\n').filter((line) => line !== '').length;
      }
      return count;
    },
  };
}

/** Inventories of all owners; with `but`, of all but one. */
function listed(
  { client, namespace }: ConfigMapInventoryOptions,
  signal: AbortSignal,
  but?: Pick<ApplyOwner, 'name'>,
): AsyncIterable<ConfigMap> {
  const others = but === undefined ? '' : `,${OWNER_LABEL}!=${ownerDigest(but)}`;
  return client.list(
    ConfigMap,
    { namespace, labels: `app.kubernetes.io/component=${INVENTORY_COMPONENT}${others}` },
    { signal },
  );
}

interface KeptChunk {
  readonly index: number;
  readonly entries: Map<string, InventoryEntry>;
  /** Characters of the entries. */
  chars: number;
  /** As the server has it; undefined: it is not there yet. */
  kept: ConfigMap | undefined;
}

class OpenInventory implements Inventory {
  readonly #client: ConfigMapInventoryOptions['client'];
  readonly #namespace: string;
  readonly #owner: ApplyOwner;
  readonly #signal: AbortSignal;
  readonly #chunks: KeptChunk[] = [];
  readonly #places = new Map<string, KeptChunk>();
  readonly #entries = new Map<string, InventoryEntry>();
  readonly #changed = new Set<KeptChunk>();
  /** An entry has another place since the last write. */
  #moved = false;
  #others: ReadonlyMap<string, string> = new Map();
  #holders: ReadonlyMap<string, OtherHolder> = new Map();
  #read = false;
  #failed: unknown;
  #saving: Promise<void> | undefined;

  constructor({ client, namespace }: ConfigMapInventoryOptions, owner: ApplyOwner, signal: AbortSignal) {
    this.#client = client;
    this.#namespace = namespace;
    this.#owner = owner;
    this.#signal = signal;
  }

  get entries(): ReadonlyMap<string, InventoryEntry> {
    return this.#entries;
  }

  get claimedByOthers(): ReadonlyMap<string, string> {
    return this.#others;
  }

  get heldByOthers(): ReadonlyMap<string, OtherHolder> {
    return this.#holders;
  }

  note(changes: InventoryChanges): void {
    for (const [key, entry] of changes) this.#put(key, entry);
  }

  async write(changes: InventoryChanges): Promise<void> {
    this.note(changes);
    await this.flush();
  }

  /** Whoever comes while a write is under way waits for it, and then for one that has everything that came meanwhile. */
  async flush(): Promise<void> {
    while (this.#changed.size > 0 || this.#saving !== undefined) {
      if (this.#saving !== undefined) {
        const mine = [...this.#changed];
        await this.#saving;
        if (mine.length === 0 && this.#saving === undefined) return;
        continue;
      }
      this.#saving = this.#save().finally(() => {
        this.#saving = undefined;
      });
      await this.#saving;
    }
  }

  async refresh(): Promise<void> {
    const others = new Map<string, string>();
    const holders = new Map<string, OtherHolder>();
    const mine: [Chunk, ConfigMap][] = [];
    // What is ours was read once, and is what we have written since.
    const but = this.#read ? this.#owner : undefined;
    for await (const configMap of listed({ client: this.#client, namespace: this.#namespace }, this.#signal, but)) {
      const owner = ownerOf(configMap);
      const own = owner === this.#owner.name;
      if (own && this.#read) continue;
      const chunk = readChunk(configMap);
      if (own) mine.push([chunk, configMap]);
      else
        for (const [key, { left, uid, made }] of chunk.entries) {
          if (left === true) continue;
          const other = owner ?? configMap.metadata.name;
          others.set(key, other);
          if (uid !== '' && holders.get(uid)?.made !== true) holders.set(uid, { owner: other, made });
        }
    }
    this.#others = others;
    this.#holders = holders;
    if (this.#read) return;
    this.#read = true;
    for (const [{ index, entries }, kept] of mine.toSorted(([a], [b]) => a.index - b.index)) {
      const chunk: KeptChunk = { index, entries: new Map(entries), chars: chunkText(entries).length, kept };
      this.#chunks.push(chunk);
      for (const [key, entry] of entries) {
        // An entry that moved is written there first: where it was before it is out of date.
        const old = this.#places.get(key);
        if (old !== undefined) {
          this.#take(old, key);
          this.#moved = true;
        }
        this.#places.set(key, chunk);
        this.#entries.set(key, entry);
      }
    }
  }

  #put(key: string, entry: InventoryEntry | undefined): void {
    const place = this.#places.get(key);
    if (entry === undefined) {
      if (place !== undefined) this.#take(place, key);
      this.#places.delete(key);
      this.#entries.delete(key);
      return;
    }
    const chars = entryText(entry).length;
    if (place !== undefined) this.#take(place, key);
    const chunk =
      place !== undefined && fits(place.entries.size + 1, place.chars + chars) ? place : this.#roomFor(chars);
    if (place !== undefined && chunk !== place) this.#moved = true;
    chunk.entries.set(key, entry);
    chunk.chars += chars;
    this.#changed.add(chunk);
    this.#places.set(key, chunk);
    this.#entries.set(key, entry);
  }

  #take(chunk: KeptChunk, key: string): void {
    const entry = chunk.entries.get(key);
    if (entry === undefined) return;
    chunk.entries.delete(key);
    chunk.chars -= entryText(entry).length;
    this.#changed.add(chunk);
  }

  #roomFor(chars: number): KeptChunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && fits(last.entries.size + 1, last.chars + chars)) return last;
    const chunk: KeptChunk = { index: (last?.index ?? -1) + 1, entries: new Map(), chars: 0, kept: undefined };
    this.#chunks.push(chunk);
    return chunk;
  }

  async #save(): Promise<void> {
    if (this.#failed !== undefined) throw this.#failed;
    const chunks = [...this.#changed];
    this.#changed.clear();
    const moved = this.#moved;
    this.#moved = false;
    try {
      // What moves goes to a later one, which is written first. Else none of them says what another one must say before.
      if (moved) for (const chunk of chunks.toSorted((a, b) => b.index - a.index)) await this.#keep(chunk);
      else await this.#keepAll(chunks);
    } catch (error) {
      // What is kept is no longer known: nothing may be written on the strength of it.
      this.#failed = error;
      throw error;
    }
  }

  /** All at the same time; rejects with the first that was not kept once none is under way. */
  async #keepAll(chunks: readonly KeptChunk[]): Promise<void> {
    const ended = await Promise.allSettled(chunks.map((chunk) => this.#keep(chunk)));
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  }

  async #keep(chunk: KeptChunk): Promise<void> {
    const text = chunkText(chunk.entries);
    for (let attempt = 1; ; attempt += 1) {
      if (chunk.kept?.data?.['entries'] === text) return;
      try {
        chunk.kept = await this.#send(chunk, text);
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || attempt === ATTEMPTS) throw error;
        if (!error.retriable && error.code !== 'AlreadyExists') throw error;
        chunk.kept = await this.#afterLoss(chunk, text, error);
      }
    }
  }

  async #send(chunk: KeptChunk, text: string): Promise<ConfigMap> {
    // What was sent is what is kept: nothing of it need come back.
    const options = { signal: this.#signal, answer: 'metadata' } as const;
    const data = { owner: this.#owner.name, entries: text };
    if (chunk.kept !== undefined) return this.#client.replace(ConfigMap, { ...chunk.kept, data }, options);
    const { reference } = this.#owner;
    const metadata = {
      namespace: this.#namespace,
      name: chunkName(this.#owner, chunk.index),
      labels: {
        'app.kubernetes.io/managed-by': 'drydock',
        'app.kubernetes.io/component': INVENTORY_COMPONENT,
        [OWNER_LABEL]: ownerDigest(this.#owner),
      },
      // Whoever deletes the owner has no use for what is known of it.
      ...(reference === undefined ? {} : { ownerReferences: [reference] }),
    };
    return this.#client.create(ConfigMap, { metadata, data }, options);
  }

  /** After an answer that was lost the server says what is there: what was sent, what was there before, or what another process wrote, and then this one gives up. */
  async #afterLoss(chunk: KeptChunk, text: string, error: ApiError): Promise<ConfigMap | undefined> {
    const key = { namespace: this.#namespace, name: chunkName(this.#owner, chunk.index) };
    const found = await this.#client.get(ConfigMap, key, { signal: this.#signal }).catch((cause: unknown) => {
      if (cause instanceof ApiError && cause.code === 'NotFound') return undefined;
      throw cause;
    });
    if (found?.metadata.resourceVersion === chunk.kept?.metadata.resourceVersion) return chunk.kept;
    if (found?.data?.['entries'] === text) return found;
    if (isConflict(error)) throw error;
    throw new ApiError({
      code: 'Conflict',
      action: `keep the inventory of ${this.#owner.name} in ConfigMap ${key.namespace}/${key.name}`,
      said: 'another process has written it meanwhile',
      next: 'Nothing more is written in this attempt; the next one reads it anew.',
    });
  }
}
