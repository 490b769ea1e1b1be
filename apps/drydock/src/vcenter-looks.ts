import { type BootImageCaches, placementsOf } from '@drydock/boot-images';
import type { Clock, Service } from '@drydock/kube';
import type { DatastoreHealth, VCenterHealth } from '@drydock/page';
import type { DatastoreSummary, VCenter } from '@drydock/vsphere';
import type { Logger } from 'pino';
import type { VCenterNotes } from './vcenter-notes.ts';
import type { VCenters } from './vcenters.ts';

/** Where sets have their templates: the datastore as people write it, and the datacenter in which it is looked for. */
export interface LookedPlace {
  readonly server: string;
  readonly datacenter: string;
  readonly datastore: string;
  readonly failureDomain: string;
}

/** What {@link vcenterLooks} needs. */
export interface VCenterLooksOptions {
  readonly vcenters: Pick<VCenters, 'of' | 'during' | 'loggedIn'>;
  /** Of all sets, as of now. */
  readonly places: () => readonly LookedPlace[] | Promise<readonly LookedPlace[]>;
  readonly notes: VCenterNotes;
  readonly log: Pick<Logger, 'warn'>;
  readonly clock: Clock;
}

/** A vCenter is looked at once in so many ms, and one that let us in anew within the shorter time. */
const EVERY_MS = 60_000;
const STEP_MS = 5000;
/** A look that takes longer than this (ms) is none. */
const LOOK_MS = 30_000;

/** Says once a minute how the vCenters are in which this process has a session; none is made for it. For who leads. */
export function vcenterLooks({ vcenters, places, notes, log, clock }: VCenterLooksOptions): Service {
  return {
    name: 'vcenter-looks',
    run: async (signal) => {
      const looked = new Map<string, { readonly at: number; readonly by: VCenter }>();
      const isDue = ({ server, connection }: ReturnType<VCenters['loggedIn']>[number]): boolean => {
        const { at = Number.NEGATIVE_INFINITY, by } = looked.get(server) ?? {};
        return by !== connection || clock.now() - at >= EVERY_MS;
      };
      for (; !signal.aborted; await clock.sleep(STEP_MS, { background: true, signal }).catch(() => undefined)) {
        for (const { server, connection } of vcenters.loggedIn().filter(isDue)) {
          if (signal.aborted) return;
          looked.set(server, { at: clock.now(), by: connection });
          try {
            const call = { signal: AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]) };
            const health = await vcenters.during(server, async () =>
              healthOf(server, await vcenters.of(server), places, call, clock.date()),
            );
            await notes.say(health);
          } catch (error) {
            if (!signal.aborted) log.warn({ err: error, server }, 'how a vCenter is cannot be told to others');
          }
        }
      }
    },
  };
}

interface Call {
  readonly signal: AbortSignal;
}

/** What one look says. What fails is told in it, with what did not. */
async function healthOf(
  server: string,
  vcenter: VCenter,
  places: VCenterLooksOptions['places'],
  call: Call,
  now: Date,
): Promise<VCenterHealth> {
  const asOf = now.toISOString();
  let datastores: readonly DatastoreHealth[] = [];
  try {
    const { version, build } = await vcenter.about(call);
    const { count } = await vcenter.sessions(call);
    const here = (await places()).filter((place) => place.server === server && place.datastore !== '');
    datastores = await datastoresOf(vcenter, here, call);
    return {
      ...{ server, asOf, version: `${version} build ${build}`, datastores },
      ...(count === undefined ? {} : { sessions: count }),
    };
  } catch (error) {
    return { server, asOf, datastores, trouble: error instanceof Error ? error.message : String(error) };
  }
}

/** Each datastore once, with the failure domains that use it. One that is not there is not accessible. */
async function datastoresOf(
  vcenter: VCenter,
  places: readonly LookedPlace[],
  call: Call,
): Promise<readonly DatastoreHealth[]> {
  const byPath = Map.groupBy(places, pathOf);
  const all: DatastoreHealth[] = [];
  for (const [path, users] of byPath) {
    const failureDomains = [...new Set(users.map(({ failureDomain }) => failureDomain))].toSorted();
    const ref = await vcenter.findByPath(path, call);
    const { accessible, freeSpace, capacity }: Partial<DatastoreSummary> =
      ref === undefined ? {} : await vcenter.datastore(ref, call);
    const of = capacity === undefined ? {} : { capacity };
    all.push({ path, failureDomains, accessible: accessible ?? false, free: freeSpace ?? 0, ...of });
  }
  return all;
}

function pathOf({ datacenter, datastore }: LookedPlace): string {
  if (datastore.startsWith('/')) return datastore;
  const root = datacenter.startsWith('/') ? datacenter : `/${datacenter}`;
  return `${root}/datastore/${datastore}`;
}

/** Where the sets of this moment have their templates. */
export function placesNow({
  infrastructures,
  machineSets,
}: Pick<BootImageCaches, 'infrastructures' | 'machineSets'>): readonly LookedPlace[] {
  const infrastructure = infrastructures.get({ name: 'cluster' });
  if (infrastructure === undefined) return [];
  const specs = [...machineSets.all()].map((set) => set.spec?.template?.spec?.providerSpec?.value ?? {});
  return placementsOf(specs, infrastructure);
}
