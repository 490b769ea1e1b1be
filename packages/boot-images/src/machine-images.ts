import { type BootImage, type BootImageStatus, Machine } from '@drydock/api';
import { ApiError, type CallOptions, type Client, type KubeObject } from '@drydock/kube';
import { imageIn, imageLeafOf } from './cluster-api/image-leaf.ts';
import { type ClusterApiObject, CORE, type ServedKinds } from './cluster-api/kinds.ts';
import { type Reference, referenceOf } from './cluster-api/set.ts';
import { labelSelector } from './decide/selection.ts';
import { BootImageError, orBootImageError } from './errors.ts';
import { listed } from './listed.ts';
import { isObject, nonEmpty, object } from './observe/json.ts';
import { idOf, keptSets } from './observe/kept-set.ts';
import { compareReleases } from './observe/version.ts';
import { platformOf, type World } from './observe/world.ts';
import type { Platform } from './platform.ts';
import { cloudPlatforms, lazyPlatforms } from './platforms.ts';
import { machineApiNamespace } from './user-data/machine-api.ts';
import { leafName } from './vsphere/names.ts';
import { vspherePlatform } from './vsphere/platform.ts';
import { recordedStore } from './vsphere/recorded-store.ts';
import type { HistoryEntry } from './way-back/history.ts';

/** A machine, and the image that it was made from. */
export interface MachineImage {
  readonly machine: string;
  readonly namespace: string;
  readonly api: 'MachineAPI' | 'ClusterAPI';
  /** As `status` names it; absent where no set is known to have made it. */
  readonly set?: string;
  /** As its object names it; absent where it names none that can be read. */
  readonly image?: string;
  /** Its release, where that is known. */
  readonly release?: string;
  readonly node?: string;
  readonly phase?: string;
  /** When its object was made (RFC 3339). */
  readonly made?: string;
  /** Old: new machines of its set start from another image, or the release asks for a newer one. */
  readonly state: 'current' | 'old' | 'unknown';
  /** Of old and unknown: why. */
  readonly why?: string;
}

/** What {@link machineImages} needs besides. */
export interface MachineImagesInput {
  readonly world: World;
  readonly served: Pick<ServedKinds, 'of'>;
  /** As `standings` has them. */
  readonly images: readonly BootImage[];
}

/** All machines by set, and what could not be read. */
export interface MachineImages {
  readonly machines: readonly MachineImage[];
  readonly unread: readonly string[];
}

type Lister = Pick<Client, 'list'>;
/** What of a machine is read the same way in both worlds. */
type Seen = Pick<MachineImage, 'machine' | 'namespace' | 'api' | 'set' | 'image' | 'node' | 'phase' | 'made'>;

/** Reads of each machine which image its object says it was made from. Nothing is asked of vCenters or clouds. */
export async function machineImages(
  client: Lister,
  { world, served, images }: MachineImagesInput,
  call: CallOptions = {},
): Promise<MachineImages> {
  const unread = new Set<string>();
  const tell = (why: string): void => void unread.add(why);
  const machines = await listed(client.list(Machine, { namespace: machineApiNamespace }, call), tell);
  await using platforms = lazyPlatforms({
    VSphere: () =>
      vspherePlatform({ store: recordedStore(images), holder: '', holderIsLive: () => true, credentials: 'unread' }),
    ...cloudPlatforms('unasked'),
  });
  await platforms.load(platformOf(world));
  const platform = platforms.get(platformOf(world) ?? '');
  const pointed = machines.length === 0 ? new Map<string, string>() : pointedImages(world, platform, unread);
  const rotated = await rotatedMachines(served, (resource) => listed(client.list(resource, {}, call), tell), world);
  const selecting = machines.length === 0 ? [] : selectors(world);
  const said = new Map(images.map((image) => [`${image.metadata.namespace} ${image.status?.set}`, image.status]));
  const releases = releasesOf(images);
  const own = machines.map((machine) => ofMachineApi(machine, { platform, pointed, selecting }));
  const rows = [...own, ...rotated].map((seen) => {
    const status = said.get(`${seen.namespace} ${seen.set}`);
    return judged(seen, {
      status,
      releases,
      pointed: seen.api === 'MachineAPI' ? pointed.get(seen.set ?? '') : undefined,
    });
  });
  const order = ({ namespace, set = '\uffff', machine }: MachineImage): string => `${namespace} ${set} ${machine}`;
  return {
    machines: rows.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)),
    unread: [...unread],
  };
}

/** What the sets point at now. */
function pointedImages(world: World, platform: Platform | undefined, unread: Set<string>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  try {
    for (const set of keptSets(world)) {
      const image = recordOf(set.spec?.template?.spec?.providerSpec?.value, platform);
      if (image !== undefined) found.set(idOf(set), image);
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    unread.add(error.message);
  }
  return found;
}

function recordOf(spec: unknown, platform: Platform | undefined): string | undefined {
  const reference = isObject(spec) ? platform?.imageOf(spec) : undefined;
  return reference === undefined ? undefined : (platform?.recordOf?.(reference) ?? reference);
}

const SET_LABEL = 'machine.openshift.io/cluster-api-machineset';
const ROLE_LABEL = 'machine.openshift.io/cluster-api-machine-role';

/** Whose labels a set takes as those of its own machines. */
type Selecting = readonly (readonly [set: string, selects: ReturnType<typeof labelSelector>])[];

function selectors({ machineSets }: World): Selecting {
  try {
    return machineSets().flatMap(({ metadata: { name }, spec }) => {
      const { matchLabels = {}, matchExpressions = [] } = spec?.selector ?? {};
      // What selects everything says of nothing that it is its own.
      if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return [];
      // No controller takes a machine by a selector that is invalid either.
      const selects = orBootImageError(() => labelSelector(spec?.selector));
      return selects instanceof BootImageError ? [] : [[name, selects] as const];
    });
  } catch (error) {
    // That sets cannot be read is told where it is asked what they point at.
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** By its owner; one that none owns yet is taken by the set that selects it. */
function makerOf({ labels = {}, ownerReferences }: Machine['metadata'], selecting: Selecting): string | undefined {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  if (owner !== undefined) return owner.kind === 'MachineSet' ? owner.name : undefined;
  return selecting.find(([, selects]) => selects(labels))?.[0] ?? labels[SET_LABEL];
}

function ofMachineApi(
  { metadata, spec, status }: Machine,
  {
    platform,
    pointed,
    selecting,
  }: {
    readonly platform: Platform | undefined;
    readonly pointed: ReadonlyMap<string, string>;
    readonly selecting: Selecting;
  },
): Seen {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const maker = makerOf(metadata, selecting);
  const plane = owner?.kind === 'ControlPlaneMachineSet' || metadata.labels?.[ROLE_LABEL] === 'master';
  const planeId = [...pointed.keys()].find((id) => id.startsWith('cpms/'));
  const set = maker !== undefined ? `ms/${maker}` : plane ? planeId : undefined;
  return seenOf(metadata, {
    api: 'MachineAPI',
    set,
    image: recordOf(spec?.providerSpec?.value, platform),
    node: status?.nodeRef?.name,
    phase: status?.phase,
  });
}

/** By what a machine of Cluster API says of which set it is; a MachineDeployment before its revision. */
const MAKERS = [
  ['cluster.x-k8s.io/deployment-name', 'capi-md'],
  ['cluster.x-k8s.io/control-plane-name', 'capi-kcp'],
  ['cluster.x-k8s.io/pool-name', 'capi-mp'],
  ['cluster.x-k8s.io/set-name', 'capi-ms'],
] as const;

async function rotatedMachines(
  served: Pick<ServedKinds, 'of'>,
  listed: (resource: NonNullable<ReturnType<ServedKinds['of']>>) => Promise<readonly ClusterApiObject[]>,
  world: World,
): Promise<readonly Seen[]> {
  const resource = served.of(CORE, 'Machine');
  if (resource === undefined) return [];
  const machines = (await listed(resource)).map((machine) => ({
    machine,
    reference: referenceOf(object(machine.spec)['infrastructureRef']),
  }));
  const kinds = new Map(
    machines.flatMap(({ reference }) => (reference === undefined ? [] : [[kindText(reference), reference]])),
  );
  const found = new Map<string, ClusterApiObject>();
  for (const reference of kinds.values()) {
    const kind = served.of(reference.group, reference.kind);
    for (const one of kind === undefined ? [] : await listed(kind))
      found.set(`${kindText(reference)} ${one.metadata.namespace}/${one.metadata.name}`, one);
  }
  const paths = pathsOf(world);
  return machines.map(({ machine: { metadata, status }, reference }) => {
    const maker = MAKERS.find(([label]) => metadata.labels?.[label] !== undefined);
    const made =
      reference === undefined ? undefined : found.get(`${kindText(reference)} ${metadata.namespace}/${reference.name}`);
    const said = object(status);
    return seenOf(metadata, {
      api: 'ClusterAPI',
      set: maker === undefined ? undefined : `${maker[1]}/${metadata.labels?.[maker[0]]}`,
      image: reference === undefined || made === undefined ? undefined : machineImage(made, reference, paths),
      node: nonEmpty(object(said['nodeRef'])['name']),
      phase: nonEmpty(said['phase']),
    });
  });
}

function kindText({ group, kind }: Pick<Reference, 'group' | 'kind'>): string {
  return `${kind}.${group}`;
}

type Paths = Parameters<typeof imageLeafOf>[1];

/** Where kinds that only a policy knows name their image. */
function pathsOf(world: World): Paths {
  try {
    return world.bootImagePolicies().flatMap(({ spec }) => spec?.clusterAPI?.imagePaths ?? []);
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
}

/** A machine of a provider says what its template says, without the template around it. */
function machineImage(made: ClusterApiObject, { group, kind }: Reference, paths: Paths): string | undefined {
  const leaf = imageLeafOf({ group, kind: `${kind}Template` }, paths);
  if (leaf === undefined || leaf === 'bad') return undefined;
  const [spec = '', template, inner, ...rest] = leaf.path;
  if (template !== 'template' || inner !== 'spec') return undefined;
  const image = imageIn(made, { ...leaf, path: [spec, ...rest] });
  return leaf.platform === 'vsphere' && image !== undefined ? leafName(image) : image;
}

type Words = Pick<MachineImage, 'api'> & Readonly<Record<'set' | 'image' | 'node' | 'phase', string | undefined>>;

function seenOf(metadata: KubeObject['metadata'], { api, set, image, node, phase }: Words): Seen {
  return {
    machine: metadata.name,
    namespace: metadata.namespace ?? '',
    api,
    ...(set === undefined ? {} : { set }),
    ...(image === undefined ? {} : { image }),
    ...(node === undefined ? {} : { node }),
    ...(phase === undefined ? {} : { phase }),
    ...(metadata.creationTimestamp === undefined ? {} : { made: metadata.creationTimestamp }),
  };
}

/** The releases of images by name, as any set had them. */
function releasesOf(images: readonly BootImage[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { status } of images) {
    const { template, history = [] } = status ?? {};
    for (const { image, release } of history)
      if (image !== undefined && release !== undefined) found.set(image, release);
    if (template?.name !== undefined && template.release !== undefined) found.set(template.name, template.release);
  }
  return found;
}

interface Known {
  readonly status: BootImageStatus | undefined;
  readonly releases: ReadonlyMap<string, string>;
  /** What its set points at now; undefined where only the history tells. */
  readonly pointed: string | undefined;
}

function judged(seen: Seen, { status, releases, pointed }: Known): MachineImage {
  const { image, set } = seen;
  if (image === undefined) return { ...seen, state: 'unknown', why: 'its object names no image that can be read' };
  const entry = entryOf(status?.history ?? [], image, seen.made);
  const release = entry?.release ?? releases.get(image);
  const known = { ...seen, ...(release === undefined ? {} : { release }) };
  const now = pointed ?? status?.history?.find(({ until }) => until === undefined)?.image ?? status?.template?.name;
  if (set === undefined) return { ...known, state: 'unknown', why: 'no set is known to have made it' };
  if (now === undefined)
    return { ...known, state: 'unknown', why: `nobody says what new machines of ${set} start from` };
  if (now !== image || entry?.until !== undefined)
    return { ...known, state: 'old', why: `new machines of ${set} start from ${status?.current ?? now}` };
  const target = status?.target;
  const newer =
    release !== undefined && target !== undefined && release !== target && (compareReleases(release, target) ?? -1) < 0;
  return newer ? { ...known, state: 'old', why: `${target} is asked for` } : { ...known, state: 'current' };
}

/** The image that had the name when the machine was made: by swap one name has one image after the other. */
function entryOf(history: readonly HistoryEntry[], image: string, made: string | undefined): HistoryEntry | undefined {
  const named = history.filter((entry) => entry.image === image);
  const at = Date.parse(made ?? '');
  const then = named.find(
    ({ since, until }) =>
      !(Date.parse(since ?? '') > at) && !(until !== undefined && Date.parse(until) <= at) && !Number.isNaN(at),
  );
  // One that is older than all that is remembered was made from the oldest, as far as anybody knows.
  return then ?? (Number.isNaN(at) ? named[0] : named.at(-1));
}
