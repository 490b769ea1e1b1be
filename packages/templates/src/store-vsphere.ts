import type { VCenter } from '@drydock/vsphere';
import { type Fence, fenced } from './act/fenced.ts';
import type { Pacemaker } from './act/heartbeat.ts';
import { type Ports, portsOn } from './act/ports.ts';
import { proveAnew } from './act/prove.ts';
import { createSlots } from './act/slots.ts';
import { takeOver } from './act/take-over.ts';
import { type Clock, wallClock } from './clock.ts';
import { ovaCache } from './image/cache.ts';
import type { OvaSource } from './image/ova-source.ts';
import { changedKeyText } from './mark/changed-keys.ts';
import { type MarkKeys, NO_KEYS } from './mark/keys.ts';
import { openLedger } from './mark/ledger.ts';
import type { LedgerStore } from './mark/ledger-store.ts';
import { systemUptime, type Uptime } from './mark/sightings.ts';
import type { ClusterRecords, Witnesses } from './mark/witness.ts';
import { attemptsOf } from './names.ts';
import { folderPath, resolveFolder, resolveScope } from './observe/place.ts';
import type { PublishedTemplate, TemplateStore } from './store.ts';
import { adoptTemplate } from './verbs/adopt.ts';
import { collectTemplates } from './verbs/collect.ts';
import { historyOf } from './verbs/history.ts';
import { inspectTemplate } from './verbs/inspect.ts';
import { listTemplates } from './verbs/list.ts';
import { planFor } from './verbs/plan.ts';
import { holdTemplate, releaseTemplates } from './verbs/point.ts';
import { publishTemplate } from './verbs/publication.ts';
import { revertTemplate } from './verbs/revert.ts';
import { verifyTemplate } from './verbs/verification.ts';
import type { Placement } from './wish.ts';

/** Where the store says what it did, one line each. A pino logger fits. */
export interface StoreLog {
  info(fields: object, message: string): void;
  /** Default: as `info`. */
  warn?(fields: object, message: string): void;
}

/** Options of {@link templateStore}. */
export interface TemplateStoreOptions {
  /** A session on a server, by the name that placements use. The caller owns it: the store never closes one. */
  readonly vcenters: (server: string) => Promise<VCenter>;
  /** Directory for OVAs. */
  readonly cacheDir: string;
  /** Default 5 GiB. */
  readonly cacheBytes?: number;
  readonly log?: StoreLog;
  readonly clock?: Clock;
  /** Imports at a time on one vCenter, whatever the number of failure domains; default 4. */
  readonly importsPerVCenter?: number;
  /**
   * Asked right before each call that changes a machine, after everything that takes time; throws where this process may not act any more. An operator gives its
   * Lease's; a process without rivals none.
   */
  readonly fence?: Fence;
  /** When an importer says that it lives; default every minute. */
  readonly pacemaker?: Pacemaker;
  /** Default: a cache in `cacheDir`. */
  readonly ovas?: OvaSource;
  /** Keys that sign ownership records, asked for at the beginning of each call. */
  readonly markKeys?: () => Promise<MarkKeys>;
  /** What the cluster recorded before there was a ledger: templates of version 0.1.0 are taken over by it. */
  readonly cluster?: ClusterRecords;
  /** Where ownership is recorded out of reach of vCenter users; default: in this process alone. */
  readonly ledger?: LedgerStore;
  /** Measures silence and grace. */
  readonly uptime?: Uptime;
}

/** A publication that was given up during its download may be asked for again, by a decision that comes to the same. */
const LINGER_MS = 60_000;

/** Templates on real vCenters. Publications of one wish in one process are one publication (BI-V157), and one stable name is swapped by one at a time. */
export function templateStore(options: TemplateStoreOptions): TemplateStore {
  const clock = options.clock ?? wallClock;
  const { cacheDir: dir, cacheBytes: bytes = 5 * 1024 ** 3 } = options;
  const cache = ovaCache({ dir, bytes, clock, lingerMs: LINGER_MS });
  const ovas = options.ovas ?? cache;
  const running = new Set<string>();
  const imported = new Set<string>();
  const slots = createSlots(options.importsPerVCenter ?? 4);
  const underway = new Map<string, Promise<PublishedTemplate>>();
  const closing = new AbortController();
  const bound = (signal: AbortSignal | undefined): { readonly signal: AbortSignal } => ({
    signal: signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]),
  });
  const { cluster, fence, pacemaker } = options;
  const ledger = openLedger(options.ledger);
  let keys = NO_KEYS;
  const ids = new WeakMap<VCenter, string>();
  const witnessesAt = async (vcenter: VCenter): Promise<Witnesses> => {
    const id = ids.get(vcenter) ?? (await vcenter.instanceUuid());
    ids.set(vcenter, id);
    keys = (await options.markKeys?.()) ?? NO_KEYS;
    await ledger.load();
    return {
      // An upload takes long: keys that were exchanged or revoked meanwhile, as another call has read, count for the rest of it.
      get keys() {
        return keys;
      },
      ...{ vcenter: id, ledger, uptime: options.uptime ?? systemUptime, imported },
    };
  };
  const usedUp: Ports['usedUp'] = new Map();
  const toldChanged = new Set<string>();
  const tellChanged = (server: string, changed: ReadonlyMap<string, readonly string[]>): void => {
    for (const [key, templates] of changed) {
      const text = changedKeyText(key, templates);
      if (toldChanged.has(`${server} ${text}`)) continue;
      toldChanged.add(`${server} ${text}`);
      const { log } = options;
      if (log?.warn === undefined) log?.info({ server, key, templates }, text);
      else log.warn({ server, key, templates }, text);
    }
  };
  const portsAt = async (server: string): Promise<Ports> => {
    const vcenter = await options.vcenters(server);
    const shared = { ovas, clock, running, imported, usedUp, slots, witnesses: await witnessesAt(vcenter) };
    return portsOn({ vcenter, fence, ...shared, ...(pacemaker === undefined ? {} : { pacemaker }) });
  };
  const vcenterAt = async (server: string): Promise<VCenter> => fenced(await options.vcenters(server), fence);

  /** Another machine set may wish for the same template with other tags: it comes after, and finds the work done. */
  const inTurn = async (
    key: string,
    signal: AbortSignal | undefined,
    work: () => Promise<PublishedTemplate>,
  ): Promise<PublishedTemplate> => {
    while (underway.has(key)) {
      await underway.get(key)?.catch(() => undefined);
      signal?.throwIfAborted();
    }
    const publication = work();
    underway.set(key, publication);
    try {
      return await publication;
    } finally {
      underway.delete(key);
    }
  };
  const report = (server: string, published: PublishedTemplate): PublishedTemplate => {
    const { name, adopted, uploads, absentMs, retired } = published;
    options.log?.info({ server, template: name, adopted, uploads, absentMs, retired }, 'template is in place');
    return published;
  };

  return {
    inspect: async (placement, reference, { signal } = {}) => {
      const { vcenter, witnesses } = await portsAt(placement.server);
      return inspectTemplate(vcenter, placement, reference, witnesses, bound(signal));
    },

    publish: async (wish, publish) => {
      const { placement, publication } = wish;
      const key =
        publication?.kind === 'swap' ? nameKey(placement, publication.name) : `= ${attemptsOf(wish)[0]?.name ?? ''}`;
      const published = await inTurn(key, publish.signal, async () =>
        publishTemplate(await portsAt(placement.server), wish, { ...publish, ...bound(publish.signal) }),
      );
      return report(placement.server, published);
    },

    revert: async (request, revert = {}) => {
      const { placement, name } = request;
      const published = await inTurn(nameKey(placement, name), revert.signal, async () =>
        revertTemplate(await portsAt(placement.server), request, { ...revert, ...bound(revert.signal) }),
      );
      return report(placement.server, published);
    },

    adopt: async (request, adopt = {}) => {
      const { placement, owner } = request;
      const ports = await portsAt(placement.server);
      const call = bound(adopt.signal);
      const scope = await resolveScope(ports.vcenter, placement, call);
      const adopted = await adoptTemplate(ports, scope, request, { ...adopt, ...call });
      options.log?.info({ server: placement.server, template: adopted.name, owner }, 'template adopted');
      return adopted;
    },

    guest: async (server, instanceUuid, { signal } = {}) => {
      const vcenter = await vcenterAt(server);
      const call = bound(signal);
      const found = await vcenter.findByInstanceUuid(instanceUuid, call);
      return found && vcenter.guest(found, call);
    },

    hold: async (placement, reference, what, { signal } = {}) =>
      holdTemplate(await portsAt(placement.server), placement, reference, what, bound(signal)),

    release: async (placement, what, { signal, except } = {}) => {
      const ports = await portsAt(placement.server);
      const call = bound(signal);
      return releaseTemplates(ports, await resolveFolder(ports.vcenter, placement, call), what, except, call);
    },

    collect: async (placement, owner, collect) => {
      const { vcenter, witnesses } = await portsAt(placement.server);
      const call = bound(collect.signal);
      const scope = await resolveScope(vcenter, placement, call);
      const how = { ...collect, owner, witnesses, running, ...call };
      // A plan names its calls, and these are not among them.
      if (collect.dryRun !== true && collect.expectWorld === undefined && collect.only === undefined) {
        const taken = cluster === undefined ? [] : await takeOver(vcenter, scope.folder, how, cluster, call);
        const { proven, changed } = await proveAnew(vcenter, scope.folder, how, call);
        tellChanged(placement.server, changed);
        for (const name of [...taken, ...proven])
          options.log?.info({ server: placement.server, template: name }, 'ownership record written');
      }
      const collected = await collectTemplates(vcenter, scope, owner, how);
      for (const { name, removed, reason } of collected) {
        if (removed && collect.dryRun !== true)
          options.log?.info({ server: placement.server, template: name, reason }, 'template removed');
      }
      return collected;
    },

    list: async (placement, owner, { signal } = {}) => {
      const { vcenter, witnesses } = await portsAt(placement.server);
      const call = bound(signal);
      return listTemplates(vcenter, await resolveFolder(vcenter, placement, call), owner, witnesses, call);
    },

    verify: async (placement, reference, verify = {}) => {
      const { vcenter, witnesses } = await portsAt(placement.server);
      return verifyTemplate(vcenter, placement, reference, witnesses, { ...verify, ...bound(verify.signal) });
    },

    history: async (placement, owner, name, { signal } = {}) => {
      const { vcenter, witnesses } = await portsAt(placement.server);
      const call = bound(signal);
      return historyOf(vcenter, await resolveFolder(vcenter, placement, call), { owner, witnesses }, name, call);
    },

    plan: async (request, plan) =>
      planFor(await portsAt(request.wish.placement.server), request, { ...plan, ...bound(plan.signal) }),

    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.allSettled([...underway.values(), cache[Symbol.asyncDispose]()]);
    },
  };
}

/** One stable name of one folder: the folder counts as it is written, which is enough within one process. */
function nameKey(placement: Placement, name: string): string {
  return JSON.stringify([placement.server, folderPath(placement), name]);
}
