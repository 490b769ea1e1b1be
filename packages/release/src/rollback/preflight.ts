import {
  type Crd,
  CrdError,
  createReport,
  type FindingGroup,
  lossPlace,
  readCrd,
  type ServerEra,
  schemaPathText,
  undecidedKind,
} from '@drydock/crd';
import type { KubeClient, KubeObject } from '@drydock/kube';
import { clusterCrds, clusterEra, scan } from '@drydock/preflight';
import type { Manifest } from '../payload/manifest.ts';
import type { WayBackFinding } from '../state/way-back.ts';
import { bridgeSpec } from './bridge-definition.ts';
import { DEFINITION, narrows } from './definitions.ts';
import { type KindWay, kindWay, objectWay } from './objects.ts';

/** What a way back does by itself about what is stored. */
export interface HealedPlace {
  readonly definition: string;
  /** As `status.phases[]`. */
  readonly path: string;
  /** Cut: taken out of the status while the older release is there. Copied: kept, since its definition prunes it. */
  readonly how: 'cut' | 'copied';
  readonly objects: number;
}

/** What stands between what is stored and the definitions of a release. */
export interface WayPreflight {
  /** By the names under which they are accepted, without `Rollback/`. */
  readonly findings: readonly WayBackFinding[];
  /** Why not everything could be looked at; '' where it was. */
  readonly undecided: string;
  readonly healed: readonly HealedPlace[];
  /** Objects that were judged. */
  readonly objects: number;
  /** RFC 3339. */
  readonly at: string;
}

/** How it is judged. */
export interface PreflightOf {
  /** The server that the release will be under; default the one that runs. */
  readonly target?: ServerEra;
  readonly now: Date;
  readonly signal: AbortSignal;
}

const TOLD = 5;
/** What servers tolerate as long as nobody touches it: no definition is narrowed over it. */
const STRICT: ReadonlySet<string> = new Set(['LATENT', 'BLOCK_CREATE']);
const UNDECIDED = 'UNDECIDED';

/**
 * Judges every stored object of the kinds that a release brings, as the way back leaves it: statuses cut to what the release takes, what it prunes kept. What is found then nobody heals but a person. A definition
 * that no bridge leads to is a finding that nothing accepts. Rejects with `ApiError`, and with the signal's reason.
 */
export async function wayPreflight(
  client: KubeClient,
  manifests: readonly Manifest[],
  { target, now, signal }: PreflightOf,
): Promise<WayPreflight> {
  const at = now.toISOString();
  const definitions = manifests.filter(({ id }) => id.kind === DEFINITION.kind && id.group === DEFINITION.group);
  // Nobody needs a right to look at definitions for a release that has none.
  if (definitions.length === 0) return { findings: [], undecided: '', healed: [], objects: 0, at };
  const server = (await clusterEra(client, { signal })).server;
  const options = { now: server, target: target ?? server };
  const report = createReport();
  const wanted: Crd[] = [];
  for (const { id, object, file } of definitions) {
    try {
      wanted.push(readCrd(object, file));
    } catch (error) {
      if (!(error instanceof CrdError)) throw error;
      report.add([undecidedKind(id.name, error.message, options)]);
    }
  }
  const byName = new Map(wanted.map((crd) => [crd.name, crd]));
  const { crds, unreadable } = await clusterCrds(client, { signal });
  report.add(unreadable.filter(({ crd }) => byName.has(crd)).map(({ crd, why }) => undecidedKind(crd, why, options)));
  const here = crds.filter(({ name }) => byName.has(name));
  const bridges = new Map<string, ReturnType<typeof bridgeSpec>>();
  for (const crd of here) {
    const to = byName.get(crd.name);
    if (to !== undefined && narrows(crd, to)) bridges.set(crd.name, bridgeSpec(to, crd));
  }
  const healed = new Map<string, { readonly place: Omit<HealedPlace, 'objects'>; objects: number }>();
  const pages = healedPages(client, here, byName, server.minor, (place) => {
    const key = JSON.stringify(place);
    const known = healed.get(key) ?? { place, objects: 0 };
    known.objects += 1;
    healed.set(key, known);
  });
  const scanning = scan({ client: { pages }, crds: here, wanted, ...options, signal });
  let objects = 0;
  for (;;) {
    const next = await scanning.next();
    if (next.done === true) {
      ({ objects } = next.value);
      break;
    }
    report.add(next.value);
  }
  const groups = report.build().groups.filter((group) => !isHealed(group, bridges));
  const unbridged = [...bridges].flatMap(([name, { unbridged: why }]): readonly WayBackFinding[] =>
    (why ?? []).map((one) => ({
      id: `UNBRIDGED:${name}:${one.rule}:${one.path}`,
      class: 'UNBRIDGED',
      blocking: true,
      message: `${name}${one.path === '' ? '' : ` ${one.path}`}: no definition takes what both releases write: ${one.why}.`,
    })),
  );
  return {
    findings: [
      ...unbridged,
      ...groups.map((group) => ({
        id: group.id,
        class: group.class,
        blocking: group.blocking || group.class === UNDECIDED || (STRICT.has(group.class) && bridges.has(group.crd)),
        message: findingText(group),
      })),
    ],
    undecided: groups
      .filter((group) => group.class === UNDECIDED)
      .slice(0, TOLD)
      .map(findingText)
      .join(' '),
    healed: [...healed.values()].map(({ place, objects: count }) => ({ ...place, objects: count })),
    objects,
    at,
  };
}

/** What is pruned is kept before; a stored version that the target does not know is migrated from the bridge. */
function isHealed(group: FindingGroup, bridges: ReadonlyMap<string, ReturnType<typeof bridgeSpec>>): boolean {
  const isBridged = bridges.get(group.crd)?.spec !== undefined;
  if (group.class === 'PRUNE') return isBridged;
  return isBridged && group.class === 'CRD_REJECTED' && group.rule === 'N25';
}

/** Pages whose objects are as the way back leaves them. */
function healedPages(
  client: KubeClient,
  crds: readonly Crd[],
  wanted: ReadonlyMap<string, Crd>,
  minor: number,
  tell: (place: Omit<HealedPlace, 'objects'>) => void,
): KubeClient['pages'] {
  const ways = new Map<string, KindWay>();
  for (const crd of crds) {
    const to = wanted.get(crd.name);
    const way = to === undefined ? undefined : kindWay(crd, to, minor);
    if (way !== undefined) ways.set(crd.name, way);
  }
  return async function* pages(resource, where, call) {
    const name = `${resource.plural}.${resource.group}`;
    const way = ways.get(name);
    for await (const page of client.pages(resource, where, call))
      yield way === undefined ? page : { ...page, items: page.items.map((one) => asLeft(one, name, way, tell)) };
  };
}

function asLeft<T extends KubeObject>(
  found: T,
  definition: string,
  way: KindWay,
  tell: (place: Omit<HealedPlace, 'objects'>) => void,
): T {
  const { cut, copies } = objectWay(found, way);
  for (const path of new Set(cut?.lost.map(lossPlace))) tell({ definition, path, how: 'cut' });
  for (const path of new Set(copies.map(({ at }) => schemaPathText(at)))) tell({ definition, path, how: 'copied' });
  return cut === undefined ? found : { ...found, status: cut.status };
}

/** A finding in words. */
export function findingText({ crd, path, what, objects }: FindingGroup): string {
  return `${crd}${path === '' ? '' : ` ${path}`}: ${what}${objects === 0 ? '' : ` (${objects} ${objects === 1 ? 'object' : 'objects'})`}.`;
}
