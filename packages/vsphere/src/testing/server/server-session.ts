import { randomUUID } from 'node:crypto';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import type { ObjectIndex, Places } from './object-index.ts';
import { found } from './soap-refusal.ts';
import { type Filter, UpdateCollector } from './update-collector.ts';

/** A wait that has not been answered yet. */
export interface Wait {
  /** Ends it with a fault. */
  end(fault: string): void;
}

/** A container view. */
export interface ContainerView {
  readonly container: MoRef;
  /** Of what it shows; empty: of everything. */
  readonly types: readonly string[];
  readonly recursive: boolean;
}

/** The property collector that every session has. */
export const OWN_COLLECTOR = 'propertyCollector';

/** One login, with all that was made in it. It goes with the session. */
export class ServerSession {
  readonly key: string = randomUUID();
  /** What a client shows to be this session; what the switchboard calls it. */
  readonly id: string;
  readonly user: string;
  readonly kind: 'soap' | 'rest';
  readonly at: Date = new Date();
  readonly address: string;
  readonly agent: string;
  /** After so long without a call, it ends. */
  readonly idleLimitMs: number;
  calls = 0;
  /** Milliseconds since the epoch. */
  lastCall: number = Date.now();
  readonly views: Map<string, ContainerView> = new Map();
  /** List view → views and objects in it, by key. */
  readonly lists: Map<string, ReadonlySet<string>> = new Map();
  readonly collectors: Map<string, UpdateCollector> = new Map();
  /** Filter → its collector. */
  readonly filters: Map<string, string> = new Map();
  /** Retrievals of which pages are left. */
  readonly tokens: Map<string, { readonly most: number; readonly rest: readonly string[] }> = new Map();
  /** Collector → its wait. */
  readonly waits: Map<string, Wait> = new Map();
  readonly #index: ObjectIndex;
  /** Made anew whenever a list changes, so that a change can be told by identity. */
  readonly #listed = new Map<string, Places>();
  readonly #over = new AbortController();

  constructor(
    index: ObjectIndex,
    login: Pick<ServerSession, 'id' | 'user' | 'kind' | 'address' | 'agent' | 'idleLimitMs'>,
  ) {
    this.#index = index;
    this.id = login.id;
    this.user = login.user;
    this.kind = login.kind;
    this.address = login.address;
    this.agent = login.agent;
    this.idleLimitMs = login.idleLimitMs;
  }

  /** Aborted once it has ended. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends it and its waits. */
  end(): void {
    this.#over.abort();
    this.endWaits('NotAuthenticated');
  }

  /** A name as a real vCenter gives it: opaque, and with brackets. */
  newId(): string {
    return `session[${this.key}]${randomUUID()}`;
  }

  /** What a list shows now: containers, and single objects; undefined: there is no such list. */
  listed(list: string): Places | undefined {
    const members = this.lists.get(list);
    if (members === undefined) return undefined;
    let places = this.#listed.get(list);
    if (places === undefined) {
      const shown = new Set<string>();
      for (const member of members) {
        const view = member.startsWith('ContainerView:') ? this.views.get(member.slice(14)) : undefined;
        if (view !== undefined) shown.add(refKey(view.container));
        else if (!member.startsWith('ContainerView:')) shown.add(`=${member}`);
      }
      places = shown;
      this.#listed.set(list, places);
    }
    return places;
  }

  setList(list: string, members: ReadonlySet<string>): void {
    this.lists.set(list, members);
    this.changed();
  }

  /** A view or list is another one, or gone: waits look again. */
  changed(): void {
    this.#listed.clear();
    this.#index.events.emit('changed');
  }

  addCollector(): string {
    const id = this.newId();
    this.collectors.set(id, new UpdateCollector(this.#index));
    return id;
  }

  /** Refuses as a real vCenter does for what is gone. */
  collector(ref: MoRef | undefined): UpdateCollector {
    const id = ref?.value ?? '';
    if (id === OWN_COLLECTOR && !this.collectors.has(id)) this.collectors.set(id, new UpdateCollector(this.#index));
    return found(this.collectors.get(id), ref);
  }

  /** The filters of a collector; of its own, which is made when it is first used, none until then. */
  filtersOf(ref: MoRef): readonly string[] {
    const isUnused = ref.value === OWN_COLLECTOR && !this.collectors.has(ref.value);
    return isUnused ? [] : this.collector(ref).filters;
  }

  addFilter(collector: MoRef | undefined, filter: Omit<Filter, 'id'>): string {
    const at = this.collector(collector);
    const id = this.newId();
    at.addFilter({ id, ...filter });
    this.filters.set(id, collector?.value ?? '');
    this.#index.events.emit('changed');
    return id;
  }

  /** All waits end with a fault. */
  endWaits(fault: string): void {
    for (const wait of [...this.waits.values()]) wait.end(fault);
  }
}
