import type { BootImage, BootImageStatus } from '@drydock/api';
import { clusterTree, type SetPlace } from '@drydock/boot-images';
import type { PageWorld } from '@drydock/page';

/** A set of a world that nobody runs. */
export interface SyntheticSet extends BootImageStatus {
  readonly name: string;
  readonly region: string;
  readonly domain: string;
  readonly pin?: NonNullable<BootImage['spec']>['pin'];
}

/** The release that is asked for, and the one before. */
export const RELEASES = { wanted: '9.8.20260802-0', old: '9.6.20260512-0' } as const;

/** When these worlds are read. */
export const NOW: Date = new Date('2026-08-24T09:00:00Z');

/** A set that is as it should be. */
export function currentSet(name: string, region: string, domain: string): SyntheticSet {
  const { wanted, old } = RELEASES;
  const history = [
    { id: `${name}-2`, release: wanted, since: '2026-08-02T09:00:00Z', by: 'release', outcome: 'InUse' },
    { id: `${name}-1`, release: old, since: '2026-05-12T09:00:00Z', until: '2026-08-02T09:00:00Z', by: 'found' },
  ];
  return {
    ...{ name, region, domain, phase: 'Current', progress: '-', current: wanted, target: wanted },
    ...{ since: '2026-08-02T09:00:00Z', revertTo: old, history },
  };
}

/** A world with these sets. What else it has is said by `more`. */
export function syntheticWorld(sets: readonly SyntheticSet[], more: Partial<PageWorld> = {}): PageWorld {
  const images = sets.map(
    ({ name, region: _region, domain: _domain, pin, ...status }): BootImage => ({
      metadata: { name: `ms-${name}`, namespace: 'machines' },
      spec: {
        machineSet: { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name },
        ...(pin === undefined ? {} : { pin }),
      },
      status: { set: `ms/${name}`, platform: 'vsphere', ...status },
    }),
  );
  const places = new Map(
    sets.map(({ name, region, domain }): [string, SetPlace] => [
      `machines/ms-${name}`,
      { region, failureDomains: [domain] },
    ]),
  );
  const regions = [...new Set(sets.map(({ region }) => region))];
  return {
    ...{ now: NOW, images, tree: clusterTree({ images, places, name: 'harbour', policies: [], now: NOW }) },
    leader: { state: 'led', text: 'drydock-7f4c leads boot images since 2026-08-02T06:12:44Z' },
    logins: [],
    vcenters: {
      kind: 'read',
      value: regions.map((server) => ({
        ...{ server, asOf: NOW.toISOString(), version: '8.0.3 build 24022510', sessions: 1 },
        datastores: [...new Set(sets.filter(({ region }) => region === server).map(({ domain }) => domain))].map(
          (domain) => ({ path: `/DC0/datastore/${domain}`, failureDomains: [domain], accessible: true, free: 2 ** 41 }),
        ),
      })),
    },
    ...{ releases: [], events: [], notes: [] },
    ...more,
  };
}

/** A thousand sets in four failure domains of two vCenters, nearly all of them well. */
export function thousandSets(): readonly SyntheticSet[] {
  return Array.from({ length: 1000 }, (_, at) => {
    const set = currentSet(`worker-${String(at).padStart(4, '0')}`, `vc${at % 2}.example`, `fd${at % 4}`);
    return at % 97 === 5
      ? {
          ...set,
          phase: 'Failed',
          progress: 'failed: it ran out of time',
          reason: 'Timeout',
          message: 'the upload ended',
        }
      : set;
  });
}

/** Three machine sets whose names are as long as people make them. */
export function longNames(): PageWorld {
  const set = (letter: string): SyntheticSet => ({
    ...currentSet(
      `harbour-4qxl2-worker-eu-central-north-${letter}-compute-optimised`,
      'vcenter-north.datacentre-one.harbour.example',
      `fd-eu-central-north-rack-${letter}-17`,
    ),
    current: '418.94.202501221327-0',
  });
  const path = `/DC0/datastore/${'cluster-of-datastores-'.repeat(3)}1`;
  const failed = {
    phase: 'Failed',
    reason: 'Timeout',
    message: `the upload of sha256:${'0123456789abcdef'.repeat(4)} to ${path} ended`,
    nextStep: `look at ${path}`,
  };
  return syntheticWorld([set('a'), set('b'), { ...set('c'), ...failed }]);
}
