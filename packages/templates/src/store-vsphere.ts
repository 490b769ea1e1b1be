import type { VCenter } from '@drydock/vsphere';
import { ovaCache } from './cache.ts';
import { type Clock, wallClock } from './clock.ts';
import { collectTemplates } from './collect.ts';
import type { OvaSource } from './import.ts';
import { inspectTemplate } from './inspect.ts';
import { attemptsOf } from './names.ts';
import { resolveFolder } from './place.ts';
import { publishTemplate } from './publication.ts';
import type { PublishedTemplate, TemplateStore } from './store.ts';

/** Where the store says what it did, one line each. A pino logger fits. */
export interface StoreLog {
  info(fields: object, message: string): void;
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
  /** Default: a cache in `cacheDir`. */
  readonly ovas?: OvaSource;
}

/** Collection imports nothing: no mark names it as its holder. */
const NOBODY = '';

/** Templates on real vCenters. Publications of one wish in one process are one publication (BI-V157). */
export function templateStore(options: TemplateStoreOptions): TemplateStore {
  const clock = options.clock ?? wallClock;
  const ovas = options.ovas ?? ovaCache({ dir: options.cacheDir, bytes: options.cacheBytes ?? 5 * 1024 ** 3, clock });
  const running = new Set<string>();
  const publications = new Map<string, Promise<PublishedTemplate>>();
  const closing = new AbortController();
  const bound = (signal: AbortSignal | undefined): { readonly signal: AbortSignal } => ({
    signal: signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]),
  });

  return {
    inspect: async (placement, reference, { signal } = {}) =>
      inspectTemplate(await options.vcenters(placement.server), placement, reference, bound(signal)),

    publish: async (wish, publish) => {
      const key = attemptsOf(wish)[0]?.name ?? '';
      // Another machine set may wish for the same template with other tags: it comes after, and finds the work done.
      while (publications.has(key)) {
        await publications.get(key)?.catch(() => undefined);
        publish.signal?.throwIfAborted();
      }
      const publication = (async () => {
        const vcenter = await options.vcenters(wish.placement.server);
        return publishTemplate({ vcenter, ovas, clock, running }, wish, { ...publish, ...bound(publish.signal) });
      })();
      publications.set(key, publication);
      try {
        const published = await publication;
        const { name, adopted, uploads } = published;
        options.log?.info({ server: wish.placement.server, template: name, adopted, uploads }, 'template is in place');
        return published;
      } finally {
        publications.delete(key);
      }
    },

    collect: async (placement, cluster, collect) => {
      const vcenter = await options.vcenters(placement.server);
      const call = bound(collect.signal);
      const folder = await resolveFolder(vcenter, placement, call);
      const collected = await collectTemplates(vcenter, folder, cluster, clock, {
        ...collect,
        holder: NOBODY,
        running,
        ...call,
      });
      for (const { name, removed, reason } of collected) {
        if (removed) options.log?.info({ server: placement.server, template: name, reason }, 'template removed');
      }
      return collected;
    },

    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.allSettled(publications.values());
    },
  };
}
