import { randomUUID } from 'node:crypto';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { type Filter, SyntheticCollector } from './collector.ts';
import type { Places, SyntheticInventory } from './inventory.ts';
import { Refusal } from './refusal.ts';

/** A wait that has not been answered yet. */
export interface Wait {
  /** Ends it with a fault. */
  end(fault: string): void;
}

/** One login, with all that was made in it. It goes with the session. */
export class SyntheticSession {
  readonly key: string = randomUUID();
  /** View → its container. */
  readonly views: Map<string, MoRef> = new Map();
  /** List view → its views. */
  readonly lists: Map<string, ReadonlySet<string>> = new Map();
  readonly collectors: Map<string, SyntheticCollector> = new Map();
  /** Filter → its collector. */
  readonly filters: Map<string, string> = new Map();
  /** Retrievals of which pages are left. */
  readonly tokens: Map<string, readonly string[]> = new Map();
  /** Collector → its wait. */
  readonly waits: Map<string, Wait> = new Map();
  readonly #inventory: SyntheticInventory;
  /** Made anew whenever a list changes, so that a change can be told by identity. */
  readonly #listed = new Map<string, Places>();

  constructor(inventory: SyntheticInventory) {
    this.#inventory = inventory;
  }

  /** A name as a real vCenter gives it: opaque, and with brackets. */
  id(): string {
    return `session[${this.key}]${randomUUID()}`;
  }

  /** Containers that a list shows now; undefined: there is no such list. */
  listed(list: string): Places | undefined {
    const views = this.lists.get(list);
    if (views === undefined) return undefined;
    let places = this.#listed.get(list);
    if (places === undefined) {
      const refs = [...views].map((view) => this.views.get(view)).filter((ref) => ref !== undefined);
      places = new Set(refs.map(refKey));
      this.#listed.set(list, places);
    }
    return places;
  }

  setList(list: string, views: ReadonlySet<string>): void {
    this.lists.set(list, views);
    this.changed();
  }

  /** A view or list is another one, or gone: waits look again. */
  changed(): void {
    this.#listed.clear();
    this.#inventory.events.emit('changed');
  }

  addCollector(): string {
    const id = this.id();
    this.collectors.set(id, new SyntheticCollector(this.#inventory));
    return id;
  }

  /** Refuses as a real vCenter does for what is gone. */
  collector(ref: MoRef | undefined): SyntheticCollector {
    return found(this.collectors.get(ref?.value ?? ''), ref);
  }

  setFilter(collector: MoRef | undefined, list: MoRef, shown: Omit<Filter, 'id' | 'listed'>): string {
    const at = this.collector(collector);
    found(this.lists.get(list.value), list);
    const id = this.id();
    at.setFilter({ id, ...shown, listed: () => this.listed(list.value) });
    this.filters.set(id, collector?.value ?? '');
    this.#inventory.events.emit('changed');
    return id;
  }

  /** All waits end with a fault. */
  endWaits(fault: string): void {
    for (const wait of [...this.waits.values()]) wait.end(fault);
  }
}

/** What a reference names; refuses where there is nothing. */
export function found<T>(thing: T | undefined, ref: MoRef | undefined): T {
  if (thing !== undefined) return thing;
  throw new Refusal('ManagedObjectNotFound', `<obj type="${ref?.type ?? ''}">${ref?.value ?? ''}</obj>`);
}
