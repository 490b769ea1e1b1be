import { Zone } from '@drydock/api';
import { type Cache, type Client, type Controller, controller, isConflict, isNotFound, type Key } from '@drydock/kube';
import type { Clock } from '@drydock/vsphere';
import type { Holding, WatchService } from './service.ts';
import { zoneId, zoneStep } from './zone.ts';

/** What the zone controller needs. */
export interface ZoneControllerOptions {
  readonly client: Pick<Client, 'mergePatch'>;
  readonly zones: Pick<Cache<Zone>, 'get' | 'synced' | 'subscribe'>;
  readonly service: Pick<WatchService, 'add' | 'remove' | 'holdings'>;
  /** The vCenter of a Zone. */
  readonly serverOf: (zone: Zone) => string;
  readonly clock: Clock;
  /** The old finalizer is taken off where it is met. Default false: it is left alone. */
  readonly cleanLegacy?: boolean;
}

/** Nothing waits longer for a vCenter than this: what is wanted is remembered, and done when that is possible. */
const PATIENCE_MS = 500;

/**
 * Watches the folder of each Zone: the finalizer is there before the watch begins, another folder is watched before the old one is dropped, and no deletion waits for a vCenter. What is
 * watched for a Zone is read from the service each time, never remembered.
 */
export function zoneController(options: ZoneControllerOptions): Controller {
  return controller<Zone>({
    name: 'zones',
    for: options.zones,
    concurrency: 8,
    backOff: { first: 50, longest: 60_000 },
    reconcile: async (key, { signal }) => reconcileZone(options, key, signal),
  });
}

/** One look at one Zone. */
export async function reconcileZone(
  options: ZoneControllerOptions,
  key: Key,
  signal?: AbortSignal,
): Promise<undefined> {
  const { zones, service, serverOf, cleanLegacy } = options;
  const id = zoneId(key);
  const zone = zones.get(key);
  if (zone === undefined) {
    await release(options, id);
    return undefined;
  }
  const step = zoneStep(zone, cleanLegacy);
  switch (step.kind) {
    case 'guard':
      await setFinalizers(options, zone, step.finalizers, signal);
      return undefined;
    case 'release':
      await release(options, id);
      if (step.finalizers !== undefined) await setFinalizers(options, zone, step.finalizers, signal);
      return undefined;
    case 'watch': {
      const { folder } = step;
      const wanted = folder === undefined ? undefined : { server: serverOf(zone), ref: folder };
      if (wanted !== undefined && !service.holdings(id).some((held) => isSame(held, wanted)))
        await patiently(options, service.add(wanted.server, wanted.ref, id));
      await release(options, id, wanted);
      return undefined;
    }
  }
}

/** Drops what is watched for `id`, except `but`. */
async function release(options: ZoneControllerOptions, id: string, but?: Holding): Promise<void> {
  const { service } = options;
  const dropped = service
    .holdings(id)
    .filter((held) => but === undefined || !isSame(held, but))
    .map(({ server, ref }) => service.remove(server, ref, id));
  if (dropped.length > 0) await patiently(options, Promise.all(dropped));
}

async function patiently({ clock }: ZoneControllerOptions, done: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  const deadline = clock.sleep(PATIENCE_MS, { background: true, signal: late.signal }).catch(() => undefined);
  await Promise.race([done, deadline]);
  late.abort();
}

function isSame(a: Holding, b: Holding): boolean {
  return a.server === b.server && a.ref.type === b.ref.type && a.ref.value === b.ref.value;
}

/** Guarded by resourceVersion: whoever changed the Zone meanwhile wakes this controller again. */
async function setFinalizers(
  { client }: ZoneControllerOptions,
  { metadata }: Zone,
  finalizers: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { namespace, name, resourceVersion } = metadata;
  const key = namespace === undefined ? { name } : { namespace, name };
  const patch = { metadata: { resourceVersion, finalizers: finalizers.length === 0 ? null : finalizers } };
  try {
    await client.mergePatch(Zone, key, patch, signal === undefined ? {} : { signal });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
