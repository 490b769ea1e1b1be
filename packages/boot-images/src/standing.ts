import { BootImage, type BootImageStatus } from '@drydock/api';
import { ApiError, apiVersionOf } from '@drydock/kube';
import { CORE as CLUSTER_API } from './cluster-api/kinds.ts';
import { type Look, lookAtSet } from './explain.ts';
import { factsOf, type ImageFacts } from './image-facts.ts';
import { type NotBegun, notBegun } from './not-begun.ts';
import { controlPlanes, idOf, type KeptSet, keptSets, setText, specOf } from './observe/kept-set.ts';
import { platformOf, type World } from './observe/world.ts';
import { setFacts } from './pass/set-facts.ts';
import { cloudPlatforms, lazyPlatforms } from './platforms.ts';
import { failureDomainOf } from './policy/set-policy.ts';
import { bootImageStatus } from './status/boot-image.ts';
import { imageOf } from './status/boot-image-store.ts';
import type { SetOutcome } from './status/subject.ts';
import { vspherePlatform } from './vsphere/platform.ts';
import { recordedStore } from './vsphere/recorded-store.ts';
import { revertTo } from './way-back/goal.ts';

/** What {@link standings} is made from. */
export interface StandingsInput extends NotBegun {
  /** As `worldNow` reads it; the Secret of the vCenters is not asked for. */
  readonly world: World;
  /** What the operator said of all sets, last. */
  readonly images: readonly BootImage[];
  readonly now: Date;
  /** RPM name of the architecture of single-architecture clusters. */
  readonly architecture: string;
}

/** Where the machines of a set are made, as far as the API objects say it. */
export interface SetPlace {
  /** The cluster of Cluster API that it is of, with its namespace; absent for sets of OpenShift. */
  readonly cluster?: string;
  /** The vCenter, region or location. */
  readonly region?: string;
  /** None where that cannot be told. */
  readonly failureDomains: readonly string[];
}

/** What is so of all sets. */
export interface Standings {
  /** One for each set, by name; also of sets that the operator has not seen yet. */
  readonly images: readonly BootImage[];
  /** By namespace and name of the BootImage, `namespace/name`; sets of Cluster API are not among them. */
  readonly places: ReadonlyMap<string, SetPlace>;
  /** What could not be read, so that the operator's last word stands instead. */
  readonly unread: readonly string[];
}

const MOVING: ReadonlySet<string> = new Set(['Downloading', 'Uploading', 'Publishing', 'Switching']);

/**
 * How all sets stand by the API objects of this moment: the current image is the set's own, the target the golden stream's. What the operator said counts as long as what it spoke of is still so, and what it said to
 * be moving as long as somebody leads. Nothing is asked of vCenters, and nothing is written.
 */
export async function standings(input: StandingsInput): Promise<Standings> {
  const { world, images, now, architecture } = input;
  const vsphere = vspherePlatform({
    store: recordedStore(images),
    holder: '',
    holderIsLive: () => true,
    credentials: 'unread',
  });
  await using platforms = lazyPlatforms({ [vsphere.type]: () => vsphere, ...cloudPlatforms('unasked') });
  await platforms.load(platformOf(world));
  const ports = { world, platforms, architecture, now: () => now };
  const unread = new Set<string>();
  const said = new Map(images.map((image) => [keyOf(image), image]));
  const stand: BootImage[] = [];
  const places = new Map<string, SetPlace>();
  const sets: KeptSet[] = [];
  // Whoever may not list the one kind is told of the other.
  const unlisted = (read: () => readonly KeptSet[]): boolean => {
    try {
      sets.push(...read());
      return false;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      unread.add(error.message);
      return true;
    }
  };
  if (unlisted(world.machineSets)) return { images: images.map(shown), places, unread: [...unread] };
  const noPlanes = unlisted(() => keptSets({ ...world, machineSets: () => [] }));
  for (const set of sets) {
    const own = imageOf(set);
    const image = said.get(keyOf(own)) ?? own;
    said.delete(keyOf(own));
    places.set(keyOf(own), setPlace(set, ports));
    const look = await lookAtSet(set, ports);
    const missing = look.answers.find(({ question, answer }) => answer === 'unknown' && question !== 'image');
    if (missing !== undefined) unread.add(missing.text);
    const status = missing === undefined ? standing(set, image.status, look, input, ports) : image.status;
    stand.push({ ...image, ...(status === undefined ? {} : { status }) });
  }
  for (const image of said.values()) {
    const { kind, apiGroup = '' } = image.spec?.machineSet ?? {};
    const untold = noPlanes && kind === controlPlanes.resource.kind;
    // Sets of Cluster API are the operator's to speak of; one goes with its set.
    stand.push(untold || apiGroup.endsWith(CLUSTER_API) ? image : goneOf(image));
  }
  const byName = (a: BootImage, b: BootImage): number => a.metadata.name.localeCompare(b.metadata.name);
  return { images: stand.map(shown).toSorted(byName), places, unread: [...unread] };
}

type Ports = Parameters<typeof setFacts>[1];

function standing(
  set: KeptSet,
  said: BootImageStatus | undefined,
  look: Look,
  { now, ...begun }: StandingsInput,
  ports: Ports,
): BootImageStatus {
  const facts = setFacts(set, ports);
  const subject = {
    set: idOf(set),
    platform: said?.platform ?? (ports.world.infrastructure()?.status?.platformStatus?.type ?? 'unknown').toLowerCase(),
    generation: said?.observedGeneration,
    now,
    facts,
  };
  // What the platform says of its own accord the operator knows better, who has asked the vCenter.
  const decided = look.outcome === look.plan ? undefined : look.outcome;
  const spoken = [said?.template?.name ?? said?.current, said?.operation?.name];
  if (decided === undefined && said !== undefined && spoken.includes(facts.reference)) {
    if (said.target === facts.target && holds(said.phase, begun.led)) return said;
    const { type = '' } = ports.world.infrastructure()?.status?.platformStatus ?? {};
    if (look.plan === undefined && ports.platforms.get(type)?.stands?.(said, facts.target) === true) return said;
  }
  const seen = look.plan === undefined ? {} : factsOf(look.plan);
  const outcome = decided ?? look.outcome ?? next(look, seen, begun, set);
  const { history: _history, ...found } = bootImageStatus(
    said,
    outcome.kind === 'waiting' ? outcome : { ...seen, ...outcome },
    subject,
  );
  // Who moved the set only the operator knows.
  const status = said?.history === undefined ? found : { ...found, history: said.history };
  if (status.phase === said?.phase) return status;
  // When it came to be so nobody saw.
  const { since: _, conditions: _conditions, ...rest } = status;
  return rest;
}

/** Whether what the operator said last of the same image and the same target is so still. */
function holds(phase: string | undefined, led: boolean): boolean {
  if (phase === undefined || phase === 'Skipped') return false;
  return led || !(MOVING.has(phase) || phase === 'Pending');
}

/** Where nothing stands in the way: there already, not begun, or nothing that API objects tell. */
function next({ plan, unknown }: Look, seen: ImageFacts, begun: NotBegun, set: KeptSet): SetOutcome {
  if (plan?.kind === 'current') return { kind: 'current', ...seen };
  return { ...notBegun(unknown ?? `${setText(set)} is to move to ${seen.target ?? 'the release'}`, begun), ...seen };
}

function setPlace(set: KeptSet, { world, platforms }: Ports): SetPlace {
  const spec = specOf(set);
  const platform = platforms.get(platformOf(world) ?? '');
  if (platform === undefined || spec === undefined) return { failureDomains: [] };
  const region = (platform.regionOf ?? platform.placeOf)(spec);
  const domain = failureDomainOf(set, world, platforms);
  return { ...(region === undefined ? {} : { region }), failureDomains: domain === undefined ? [] : [domain] };
}

function goneOf(image: BootImage): BootImage {
  const set = image.status?.set ?? image.metadata.name;
  return {
    ...image,
    status: {
      set,
      ...(image.status?.platform === undefined ? {} : { platform: image.status.platform }),
      phase: 'Skipped',
      progress: 'skipped: the set is gone',
      reason: 'Deleting',
      message: `${set} is gone, and this BootImage will go with it`,
    },
  };
}

/** Whole, and with the way back that `image revert` goes, whoever wrote the status. */
function shown(image: BootImage): BootImage {
  const { revertTo: _, ...status } = image.status ?? {};
  const back = revertTo(status);
  return {
    ...image,
    ...{ apiVersion: apiVersionOf(BootImage), kind: BootImage.kind },
    ...(image.status === undefined ? {} : { status: back === undefined ? status : { ...status, revertTo: back } }),
  };
}

function keyOf({ metadata: { namespace = '', name } }: BootImage): string {
  return `${namespace}/${name}`;
}
