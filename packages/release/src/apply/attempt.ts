import { isNotFound, type KubeObject, type Resource } from '@drydock/kube';
import { idKey, type Manifest } from '../payload/manifest.ts';
import { type ApplyError, applyError, type Fault, faultOf } from './apply-error.ts';
import type { InventoryEntry } from './inventory/entry.ts';
import type { Inventory, InventoryChanges } from './inventory/inventory.ts';
import { createKinds, type Kinds } from './kinds.ts';
import type { ApplyMemory } from './memory.ts';
import type { ApplyStep } from './step.ts';
import type { ApplyPorts, ApplyProgress, ApplyWish, PendingDeletion, Waiting } from './wish.ts';

/** Thrown where one manifest cannot be applied; the attempt goes on with others. */
export class ManifestFault extends Error {
  override readonly name = 'ManifestFault';
  readonly fault: Fault;
  /** It may go well a little later. */
  readonly mayPass: boolean;

  constructor(fault: Fault, mayPass: boolean = false) {
    super(fault.message);
    this.fault = fault;
    this.mayPass = mayPass;
  }
}

/** A live object, as far as it was looked at. */
export interface Seen {
  readonly object: KubeObject | undefined;
  /** Only type, metadata and status are there. */
  readonly partial: boolean;
}

/** What one attempt knows and has done. */
export class Attempt {
  readonly wish: ApplyWish;
  readonly ports: ApplyPorts;
  readonly inventory: Inventory;
  readonly memory: ApplyMemory;
  readonly kinds: Kinds;
  /** Ends with the caller's, and where nothing more may be written. */
  readonly signal: AbortSignal;
  readonly errors: ApplyError[] = [];
  readonly deletions: PendingDeletion[] = [];
  /** Entries that said, together with others, what is about to be written. */
  readonly announced: Set<InventoryEntry> = new Set();
  /** The step of an object that was decided and is not taken yet, and what from: what is said for several at once is decided once. */
  readonly steps: Map<
    Manifest,
    {
      readonly live: KubeObject | undefined;
      readonly known: InventoryEntry | undefined;
      readonly step: ApplyStep;
    }
  > = new Map();
  /** What holds back only the end of the release, and why. */
  readonly late: Map<Manifest, string> = new Map();
  readonly #stop: AbortController;
  readonly #waiting = new Map<string, Waiting>();
  #done = 0;

  constructor(options: {
    readonly wish: ApplyWish;
    readonly ports: ApplyPorts;
    readonly inventory: Inventory;
    readonly memory: ApplyMemory;
    readonly stop: AbortController;
    readonly signal: AbortSignal;
  }) {
    const { wish, ports, inventory, memory, stop, signal } = options;
    this.wish = wish;
    this.ports = ports;
    this.inventory = inventory;
    this.memory = memory;
    this.signal = signal;
    this.#stop = stop;
    this.kinds = createKinds({ client: ports.client, manifests: wish.manifests, memory, signal });
  }

  /** Where an object is on the server. Throws `ManifestFault` for a kind that is not served, and for a missing namespace. */
  async resourceOf({ id, version }: Manifest): Promise<Resource<KubeObject>> {
    const resource = await this.kinds.resourceOf(id, version);
    if (resource === undefined) {
      const type = id.group === '' ? version : `${id.group}/${version}`;
      const message = `the server does not serve ${id.kind} of ${type}`;
      // Its definition may be on its way, in another component.
      throw new ManifestFault({ reason: 'UpdatePayloadResourceTypeMissing', effect: 'Fail', message }, true);
    }
    if (resource.scope === 'Namespaced' && id.namespace === '') {
      const message = `a ${id.kind} is in a namespace, and it names none`;
      throw new ManifestFault({ reason: 'UpdatePayloadResourceInvalid', effect: 'Fail', message });
    }
    return resource;
  }

  /** What the caches know, without a request. */
  look(manifest: Manifest): Seen | undefined {
    const resource = this.kinds.known(manifest.id, manifest.version);
    const look = resource === undefined ? undefined : this.ports.live?.look(resource, keyOf(manifest));
    return look?.known === true ? { object: look.object, partial: look.partial === true } : undefined;
  }

  /** The object as the server has it. */
  async read(manifest: Manifest, resource: Resource<KubeObject>): Promise<KubeObject | undefined> {
    try {
      return await this.ports.client.get(resource, keyOf(manifest), { signal: this.signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  fail(manifest: Manifest, fault: Fault): void {
    this.errors.push(applyError(manifest, fault));
  }

  /** Changes the inventory. What cannot be kept ends the attempt, and is thrown: nothing is written that the inventory does not know. */
  async keep(manifest: Manifest, changes: InventoryChanges): Promise<void> {
    await this.kept(manifest, () => this.inventory.write(changes));
  }

  /** Does what keeps something in the inventory, likewise. */
  async kept(manifest: Manifest, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.signal.aborted) this.fail(manifest, faultOf(error));
      this.#stop.abort(error);
      throw error;
    }
  }

  /** Ends the attempt where a step is not to be taken. Throws `ManifestFault`. */
  agree(step: ApplyStep, manifest: Manifest, live: KubeObject | undefined): void {
    const message = this.ports.objection?.(step, manifest, live);
    if (message === undefined) return;
    const fault: Fault = { reason: 'PlanMoved', effect: 'Fail', message };
    if (!this.signal.aborted) this.fail(manifest, fault);
    this.#stop.abort(new Error(message));
    throw new ManifestFault(fault);
  }

  done(): void {
    this.#done += 1;
    this.ports.onProgress(this.progress());
  }

  /** Says that something is waited for, since when it first was. */
  waitFor(manifest: Manifest, why: string): void {
    const key = idKey(manifest.id);
    const { clock } = this.ports;
    const { image } = this.wish.payload;
    const before = this.memory.waits.get(key);
    // Another release waits for another state of the object.
    const wait = before?.image === image ? before : { image, since: clock.date(), at: clock.now() };
    this.memory.waits.set(key, wait);
    const { since } = wait;
    const was = this.#waiting.get(key);
    this.#waiting.set(key, { object: manifest.id, why, since });
    if (was?.why !== why) this.ports.onProgress(this.progress());
  }

  /** How long (ms) it has been waited for, by all attempts of this process at this release. */
  waitedFor({ id }: Manifest): number {
    const now = this.ports.clock.now();
    return now - (this.memory.waits.get(idKey(id))?.at ?? now);
  }

  /** It is no longer waited for, unless the end does. */
  arrived(manifest: Manifest): void {
    if (this.late.has(manifest)) return;
    const key = idKey(manifest.id);
    this.memory.waits.delete(key);
    this.#waiting.delete(key);
  }

  progress(): ApplyProgress {
    return { done: this.#done, total: this.wish.manifests.length, waiting: [...this.#waiting.values()] };
  }
}

/** Namespace and name. */
export function keyOf({ id }: Manifest): { readonly namespace?: string; readonly name: string } {
  return id.namespace === '' ? { name: id.name } : { namespace: id.namespace, name: id.name };
}
