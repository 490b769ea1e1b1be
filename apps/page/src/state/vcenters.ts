import { because, type Reason, worst } from './answer.ts';
import type { VCenterRow } from './page-state.ts';
import type { DatastoreHealth, PageWorld, VCenterHealth } from './page-world.ts';

/** The operator looks once a minute: who has said nothing for so long (ms) says nothing any more. */
const OLD_MS = 5 * 60_000;

/** What is known of vCenters. */
export interface VCenterView extends Pick<PageWorld, 'now' | 'logins' | 'vcenters'> {
  /** Bytes that images which are on their way still want, by {@link wantedKey}. */
  readonly wanted: ReadonlyMap<string, number>;
}

/** Where an image is on its way to. */
export function wantedKey(server: string, failureDomain: string): string {
  return JSON.stringify([server, failureDomain]);
}

/** What speaks against making machines at a vCenter, in one failure domain of it where one is named. Nothing: its space, sessions and logins are fine. */
export function vcenterReasons(server: string, failureDomain: string, world: VCenterView): readonly Reason[] {
  const refused = world.logins
    .filter((login) => login.server === server)
    .map(({ text, nextStep }): Reason => ({ answer: 'no', text, ...(nextStep === undefined ? {} : { nextStep }) }));
  const { vcenters } = world;
  if (vcenters.kind === 'unread') {
    const text = `how vCenter ${server} is could not be read: ${vcenters.why}`;
    return [...refused, { answer: 'unknown', text }];
  }
  const health = vcenters.value.find((one) => one.server === server);
  if (health === undefined) {
    const text = `nobody has looked yet how vCenter ${server} is`;
    return [...refused, { answer: 'unknown', text, nextStep: 'drydock operator, which looks once a minute' }];
  }
  return [...refused, ...ageReasons(health, world), ...spaceReasons(health, failureDomain, world)];
}

function ageReasons({ server, asOf, trouble }: VCenterHealth, { now }: VCenterView): readonly Reason[] {
  const old = now.getTime() - Date.parse(asOf);
  if (!(old <= OLD_MS)) {
    const text = `vCenter ${server} was looked at last at ${asOf}: its space and sessions may be others now`;
    return [{ answer: 'unknown', text, nextStep: 'drydock doctor' }];
  }
  if (trouble === undefined) return [];
  const text = `vCenter ${server} could not be asked: ${trouble}`;
  return [{ answer: 'unknown', text, nextStep: 'drydock doctor' }];
}

function neededOn(server: string, { failureDomains }: DatastoreHealth, { wanted }: VCenterView): number | undefined {
  const known = failureDomains.flatMap((domain) => wanted.get(wantedKey(server, domain)) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, bytes) => sum + bytes, 0);
}

function spaceReasons(
  { server, datastores }: VCenterHealth,
  failureDomain: string,
  world: VCenterView,
): readonly Reason[] {
  return datastores.flatMap((datastore): readonly Reason[] => {
    const { path, failureDomains, accessible, free } = datastore;
    const needed = neededOn(server, datastore, world);
    if (failureDomain !== '' && !failureDomains.includes(failureDomain)) return [];
    const where = `datastore ${path} on vCenter ${server}`;
    if (!accessible) return [{ answer: 'no', text: `${where} is not accessible`, nextStep: 'drydock doctor' }];
    if (needed === undefined || free >= needed) return [];
    const text = `${where} has ${bytes(free)} free, and the image that is on its way wants ${bytes(needed)}`;
    return [{ answer: 'no', text, nextStep: 'drydock template gc, or a larger datastore' }];
  });
}

/** The vCenters that the operator or a refused login speaks of. */
export function vcenterRows(world: VCenterView): readonly VCenterRow[] {
  const health = world.vcenters.kind === 'read' ? world.vcenters.value : [];
  const servers = new Set([...health.map(({ server }) => server), ...world.logins.map(({ server }) => server)]);
  return [...servers].toSorted().map((server): VCenterRow => {
    const one = health.find((found) => found.server === server);
    const reasons = vcenterReasons(server, '', world);
    return {
      ...{ id: server, server, asOf: one?.asOf ?? '', version: one?.version ?? '' },
      ...(one?.sessions === undefined ? {} : { sessions: one.sessions }),
      ...{ answer: worst(reasons.map(({ answer }) => answer)) ?? 'yes', because: because(reasons) },
      datastores: (one?.datastores ?? []).map((datastore) => {
        const needed = neededOn(server, datastore, world);
        return { ...datastore, ...(needed === undefined ? {} : { needed }) };
      }),
    };
  });
}

/** `1.2 GiB`. */
function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const at = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  return `${at === 0 ? count : (count / 1024 ** at).toFixed(1)} ${units[at]}`;
}
