import type { BootImage, BootImagePolicy, BootImageStatus, BootImageStatusCanary } from '@drydock/api';
import { CORE as CLUSTER_API } from './cluster-api/kinds.ts';
import type { SetPlace } from './standing.ts';
import { livePin, type Pin } from './way-back/pin.ts';

/** One set: what `status` says of it, and what a person or a policy wants of it. */
export interface TreeSet {
  /** `ms/worker-a`. */
  readonly set: string;
  readonly namespace: string;
  readonly status: Pick<
    BootImageStatus,
    'phase' | 'progress' | 'reason' | 'message' | 'nextStep' | 'since' | 'revertTo'
  >;
  /** Name of the policy that decides about it. */
  readonly policy?: string;
  readonly pin?: Pin;
  /** The machine that tries an image now, or that failed; absent where one passed. */
  readonly canary?: BootImageStatusCanary;
  /** It has what it should have, and nobody has said anything else about it. */
  readonly fine: boolean;
}

/** Sets whose new machines start from one image in one failure domain. */
export interface TreeImage {
  /** Its name; absent where none is known. */
  readonly image?: string;
  /** Its release, where that is not the name. */
  readonly release?: string;
  readonly sets: readonly TreeSet[];
}

/** A failure domain, on clouds a zone; without a name where sets are in several, or where that cannot be told. */
export interface TreeFailureDomain {
  readonly failureDomain?: string;
  readonly images: readonly TreeImage[];
}

/** A vCenter, or the region of a cloud. */
export interface TreeRegion {
  /** As people call it there; absent where it cannot be told. */
  readonly kind?: 'vCenter' | 'region' | 'location';
  readonly region?: string;
  readonly failureDomains: readonly TreeFailureDomain[];
}

/** Sets of which one release is wanted; without a name those of which none is. */
export interface TreeRelease {
  readonly release?: string;
  readonly regions: readonly TreeRegion[];
}

/** A cluster of OpenShift, or one of Cluster API. */
export interface TreeCluster {
  readonly kind: 'OpenShift' | 'ClusterAPI';
  /** Absent where it has none. */
  readonly name?: string;
  readonly releases: readonly TreeRelease[];
}

/** A policy, as it says of itself. */
export interface TreePolicy {
  readonly name: string;
  /** Absent where nobody has looked at it as it is now. */
  readonly accepted?: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly selected?: number;
}

/** All sets by what they share, and the policies about them. */
export interface ClusterTree {
  readonly clusters: readonly TreeCluster[];
  readonly policies: readonly TreePolicy[];
}

/** What {@link clusterTree} is made from. */
export interface TreeInput {
  /** As `standings` has them: the tree says of a set what `status` says. */
  readonly images: readonly BootImage[];
  /** By namespace and name of the BootImage. */
  readonly places: ReadonlyMap<string, SetPlace>;
  /** Name of the cluster of OpenShift. */
  readonly name: string | undefined;
  readonly policies: readonly BootImagePolicy[];
  readonly now: Date;
}

interface Leaf {
  readonly cluster: Pick<TreeCluster, 'kind' | 'name'>;
  readonly release: string | undefined;
  readonly region: Pick<TreeRegion, 'kind' | 'region'>;
  readonly failureDomain: string | undefined;
  readonly image: Pick<TreeImage, 'image' | 'release'>;
  readonly set: TreeSet;
}

/** Sorts what is known of all sets by cluster, wanted release, vCenter or region, failure domain and image. Pure. */
export function clusterTree({ images, places, name, policies, now }: TreeInput): ClusterTree {
  const leaves = images.map((image) => leafOf(image, places, name, now));
  return {
    clusters: grouped(
      leaves,
      ({ cluster }) => cluster,
      (ofCluster, cluster) => ({
        ...cluster,
        releases: grouped(
          ofCluster,
          ({ release }) => named('release', release),
          (ofRelease, release) => ({ ...release, regions: regionsOf(ofRelease) }),
        ),
      }),
    ),
    policies: policies.map(policyOf).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function regionsOf(leaves: readonly Leaf[]): readonly TreeRegion[] {
  return grouped(
    leaves,
    ({ region }) => region,
    (ofRegion, region) => ({
      ...region,
      failureDomains: grouped(
        ofRegion,
        ({ failureDomain }) => named('failureDomain', failureDomain),
        (ofDomain, domain) => ({
          ...domain,
          images: grouped(
            ofDomain,
            ({ image }) => image,
            (ofImage, image) => ({ ...image, sets: ofImage.map(({ set }) => set) }),
          ),
        }),
      ),
    }),
  );
}

/** What has one key together, in the order of the keys; what has none comes last. */
function grouped<K extends object, N>(
  leaves: readonly Leaf[],
  keyOf: (leaf: Leaf) => K,
  nodeOf: (leaves: readonly Leaf[], key: K) => N,
): readonly N[] {
  const groups = Map.groupBy(leaves, (leaf) => JSON.stringify(keyOf(leaf)));
  const rank = (key: string): string => (key === '{}' ? '\uffff' : key);
  return [...groups]
    .toSorted(([a], [b]) => (rank(a) < rank(b) ? -1 : 1))
    .map(([key, of]) => nodeOf(of, JSON.parse(key) as K));
}

function named<N extends string>(key: N, value: string | undefined): Partial<Record<N, string>> {
  return (value === undefined ? {} : { [key]: value }) as Partial<Record<N, string>>;
}

function leafOf(image: BootImage, places: TreeInput['places'], name: string | undefined, now: Date): Leaf {
  const { metadata, spec, status = {} } = image;
  const { namespace = '' } = metadata;
  const place = places.get(`${namespace}/${metadata.name}`);
  const rotated = spec?.machineSet?.apiGroup?.endsWith(CLUSTER_API) === true;
  const cluster = rotated ? place?.cluster : name;
  // Of sets of Cluster API the operator says where; the first word of it is the vCenter.
  const said = rotated ? status.history?.[0]?.place?.split(' ', 1)[0] : undefined;
  const region = place?.region ?? status.template?.server ?? said;
  const [failureDomain, ...more] = place?.failureDomains ?? [];
  const { current, template } = status;
  const of = template?.name ?? current;
  return {
    cluster: { kind: rotated ? 'ClusterAPI' : 'OpenShift', ...named('name', cluster) },
    release: status.target,
    region: region === undefined ? {} : { kind: REGIONS[status.platform ?? ''] ?? 'region', region },
    failureDomain: more.length > 0 ? undefined : failureDomain,
    image: {
      ...named('image', of),
      ...(of === current ? {} : named('release', current)),
    },
    set: setOf(image, now),
  };
}

const REGIONS: Readonly<Record<string, NonNullable<TreeRegion['kind']>>> = { vsphere: 'vCenter', azure: 'location' };

function setOf(image: BootImage, now: Date): TreeSet {
  const { metadata, status = {} } = image;
  const { phase, progress, reason, message, nextStep, since, revertTo, policy, canary, conditions = [] } = status;
  const pin = livePin(image, now.getTime());
  const tried = canary === undefined || canary.verdict === 'Passed' ? undefined : canary;
  const verified = conditions.find(({ type }) => type === 'Verified')?.status ?? 'True';
  return {
    set: status.set ?? metadata.name,
    namespace: metadata.namespace ?? '',
    status: {
      ...named('phase', phase),
      ...named('progress', progress),
      ...named('reason', reason),
      ...named('message', message),
      ...named('nextStep', nextStep),
      ...named('since', since),
      ...named('revertTo', revertTo),
    },
    ...named('policy', policy),
    ...(pin === undefined ? {} : { pin }),
    ...(tried === undefined ? {} : { canary: tried }),
    fine: phase === 'Current' && pin === undefined && verified === 'True',
  };
}

function policyOf({ metadata, status }: BootImagePolicy): TreePolicy {
  const { name, generation } = metadata;
  const found = status?.conditions?.find(({ type }) => type === 'Accepted');
  const { selected } = status ?? {};
  if (found === undefined || status?.observedGeneration !== generation) return { name };
  return {
    name,
    accepted: found.status === 'True',
    ...named('reason', found.reason),
    ...named('message', found.message),
    ...(selected === undefined ? {} : { selected }),
  };
}
