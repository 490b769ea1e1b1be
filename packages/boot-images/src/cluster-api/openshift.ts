import type { MachineSet } from '@drydock/api';
import { type Cache, type KubeObject, on, type Source } from '@drydock/kube';
import { azureDecision, imageOriginAnnotation } from '../azure/target.ts';
import { authorityOf } from '../decide/authority.ts';
import { upstreamRefusal } from '../decide/coexistence.ts';
import { clusterStable } from '../decide/gates.ts';
import { BootImageError } from '../errors.ts';
import { at, canonical, nonEmpty, object } from '../observe/json.ts';
import { type KeptSet, setText as keptText } from '../observe/kept-set.ts';
import { type Stream, streamOf } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';
import { architectureOf, type NoImage, noImage, type WantedImage } from './catalogue.ts';
import type { ImageLeaf } from './image-leaf.ts';
import { type ClusterApiObject, CORE } from './kinds.ts';
import type { RotationWish } from './rotation.ts';
import { type RotatedKind, type RotatedSet, setText } from './set.ts';

/** Where OpenShift has the sets of Cluster API that are its own. Those of other namespaces make other clusters, which have nothing to do with its release. */
export const clusterApiNamespace = 'openshift-cluster-api';

/** The OpenShift cluster in which sets of Cluster API are. */
export interface OpenShift {
  readonly world: Pick<
    World,
    'machineSet' | 'machineConfiguration' | 'clusterVersion' | 'infrastructure' | 'golden' | 'upstream'
  >;
  /** What of it is watched: a change is work for its sets. */
  readonly watched?: {
    readonly machineSets: Cache<MachineSet>;
    readonly others: readonly Cache<KubeObject>[];
  };
}

/** The release of the cluster as a source of images for its own sets. */
export interface ReleaseImages {
  /** The release that the set follows; undefined where it is none of the cluster's own. */
  readonly release: (set: RotatedSet, leaf: ImageLeaf) => string | NoImage | undefined;
  /** What the release asks for; undefined where the set is none of the cluster's own. `policy`: the one that decides, as kubectl names it; `release`: the one that it pins; `template`: what the set refers to. */
  readonly image: (
    set: RotatedSet,
    leaf: ImageLeaf,
    by: {
      readonly policy: string | undefined;
      readonly release: string | undefined;
      readonly template?: ClusterApiObject | undefined;
    },
  ) => WantedImage | NoImage | undefined;
  /** Why nothing is begun now. */
  readonly waits: (set: RotatedSet) => RotationWish['waits'];
}

/** See {@link ReleaseImages}. */
export function releaseImages({ world }: OpenShift): ReleaseImages {
  return {
    release: (set, leaf) => {
      if (set.namespace !== clusterApiNamespace) return undefined;
      const stream = streamIn(world);
      if ('kind' in stream) return stream;
      return releaseIn(stream, set, leaf) ?? notOffered(set, leaf);
    },
    image: (set, leaf, { policy, release, template }) => {
      if (set.namespace !== clusterApiNamespace) return undefined;
      const refusal = upstreamRefusal(world.upstream());
      if (refusal !== undefined && (policy === undefined || isUpstreams(world)))
        return noImage(
          'LeftToUpstream',
          'left to upstream',
          `${refusal}, and Drydock leaves ${setText(set)} to it`,
          'nothing, or a BootImagePolicy that selects it, where that controller does not manage sets of Cluster API',
          false,
        );
      if (policy === undefined && leaf.platform !== 'vsphere')
        return noImage(
          'NoPolicy',
          'no policy selects it',
          `no BootImagePolicy selects ${setText(set)}, and whether somebody chose its image cannot be told from its template`,
          `to have it follow the release of the cluster, apply a BootImagePolicy that selects it`,
          false,
        );
      return wantedOf(set, leaf, world, release, template);
    },
    waits: (set) => {
      const version = world.clusterVersion();
      if (set.namespace !== clusterApiNamespace || version === undefined || clusterStable(version)) return undefined;
      return {
        ...{ reason: 'ClusterNotStable', brief: 'waits for the cluster upgrade' },
        message: 'boot images are updated when the newest entry of clusterversion/version is Completed',
      };
    },
  };
}

function wantedOf(
  set: RotatedSet,
  leaf: ImageLeaf,
  world: OpenShift['world'],
  pinned: string | undefined,
  template: ClusterApiObject | undefined,
): WantedImage | NoImage {
  const stream = streamIn(world);
  if ('kind' in stream) return stream;
  const release = releaseIn(stream, set, leaf);
  if (pinned !== undefined && pinned !== release)
    return noImage(
      'ReleaseNotOffered',
      `${pinned} is not offered`,
      `${pinned} is wanted for ${setText(set)}; the release of the cluster names ${release ?? 'no image'}`,
      'name where its image is in spec.image.catalogue of the policy, or another release',
    );
  if (release === undefined) return notOffered(set, leaf);
  const architecture = rpmArchitecture(set);
  if (leaf.platform === 'azure') {
    // Only of its kind is told then, and of no image.
    if (template === undefined) return { kind: 'named', release, image: release };
    return azureImage({ set, template, architecture, stream, infrastructure: world.infrastructure() }, release);
  }
  return imageIn(stream, leaf.platform, architecture, release, world) ?? notOffered(set, leaf);
}

function streamIn(world: OpenShift['world']): Stream | NoImage {
  const stream = streamOf(world.golden());
  if (stream !== undefined && !(stream instanceof BootImageError)) return stream;
  return noImage(
    'StreamInvalid',
    'no stream',
    stream?.message ?? 'configmap openshift-machine-config-operator/coreos-bootimages is not there',
    'restore configmap openshift-machine-config-operator/coreos-bootimages',
  );
}

function rpmArchitecture(set: RotatedSet): string {
  return architectureOf(set) === 'arm64' ? 'aarch64' : 'x86_64';
}

function releaseIn(stream: Stream, set: RotatedSet, { platform }: ImageLeaf): string | undefined {
  return stream.release(rpmArchitecture(set), platform === 'vsphere' ? 'vmware' : platform);
}

function notOffered(set: RotatedSet, { platform }: ImageLeaf): NoImage {
  const kind = set.reference?.kind ?? 'a template';
  return noImage(
    'ReleaseNotOffered',
    'no image in the release',
    `the release of the cluster names no image for ${rpmArchitecture(set)} machines that ${kind} could name${platform === 'other' ? ': OpenShift publishes none for its platform' : ''}`,
    'name one in spec.image.catalogue of a BootImagePolicy that selects it, or take it out: spec.optOut',
  );
}

function imageIn(
  stream: Stream,
  platform: ImageLeaf['platform'],
  architecture: string,
  release: string,
  { infrastructure }: OpenShift['world'],
): WantedImage | undefined {
  switch (platform) {
    case 'vsphere': {
      const disk = stream.disk(architecture, 'vmware', 'ova');
      // Whoever may write the ConfigMap says which file of the internet is read, and none of the operator's own.
      if (disk === undefined || !/^https?:\/\//i.test(disk.location)) return undefined;
      return { kind: 'ova', release, url: disk.location, sha256: disk.sha256 };
    }
    case 'aws': {
      const region = infrastructure()?.status?.platformStatus?.aws?.region ?? '';
      const image = stream.object(architecture, 'images', 'aws', 'regions', region)?.['image'];
      return typeof image === 'string' && image !== '' ? { kind: 'named', release, image } : undefined;
    }
    case 'gcp': {
      const { project, name } = stream.object(architecture, 'images', 'gcp') ?? {};
      if (typeof project !== 'string' || typeof name !== 'string') return undefined;
      return { kind: 'named', release, image: `projects/${project}/global/images/${name}` };
    }
    default:
      return undefined;
  }
}

/** Whether upstream's controller has been told to manage sets of Cluster API, which none does that is known. */
function isUpstreams({ machineConfiguration }: OpenShift['world']): boolean {
  const managers = machineConfiguration()?.status?.managedBootImagesStatus?.machineManagers ?? [];
  return managers.some(({ apiGroup, selection }) => String(apiGroup) === CORE && selection?.mode !== 'None');
}

/**
 * Who manages the machines of a set of Cluster API, where that is Machine API: its set of the same name, in words. Both worlds act by what is asked for and by what is so: while an authority moves, neither of them does.
 */
export function otherAuthority(
  { kind, namespace, name }: Pick<RotatedSet, 'kind' | 'namespace' | 'name'>,
  world: Pick<World, 'machineSet'>,
): string | undefined {
  if (kind !== 'MachineSet' || namespace !== clusterApiNamespace) return undefined;
  const namesake = world.machineSet({ namespace: machineApiNamespace, name });
  const text = `machineset ${machineApiNamespace}/${name}`;
  if (namesake === undefined) return undefined;
  const { asked, is } = authorityOf(namesake);
  if (asked !== 'ClusterAPI') return text;
  return is === 'ClusterAPI' ? undefined : `${text}, whose authority moves (${is})`;
}

/** What is work for sets of this kind: what the release says, and who manages what. `all`: keys of all sets in a namespace. */
export function openshiftWakes(
  watched: OpenShift['watched'],
  kind: RotatedKind,
  all: (namespace: string) => readonly { readonly namespace?: string; readonly name: string }[],
): readonly Source[] {
  if (watched === undefined) return [];
  const namesakes = on(watched.machineSets, ({ metadata: { name } }) => [{ namespace: clusterApiNamespace, name }]);
  const release = watched.others.map((cache) => on(cache, () => all(clusterApiNamespace)));
  return kind === 'MachineSet' ? [namesakes, ...release] : release;
}

/** Of what a release is asked for an image of machines on Azure. */
export interface AzureSources {
  readonly set: RotatedSet;
  readonly template: ClusterApiObject;
  /** RPM name. */
  readonly architecture: string;
  readonly stream: Stream;
  readonly infrastructure: ReturnType<World['infrastructure']>;
}

/**
 * The image that a release names for what an AzureMachineTemplate has, by the rules of machine sets (boot-images.md §3.4): the marketplace image of the same kind and generation, also where an
 * installer uploaded the one before. What no release names is left alone, and told.
 */
export function azureImage(sources: AzureSources, release: string): WantedImage | NoImage {
  const { set, template, infrastructure = { metadata: { name: 'cluster' } }, ...rest } = sources;
  const kept: KeptSet = { metadata: { ...set.object.metadata, name: set.name } };
  const decision = azureDecision({ ...rest, set: kept, infrastructure, spec: specOf(template) });
  if (decision.kind === 'target') {
    const { publisher, offer, sku, version, type } = decision.target;
    const thirdPartyImage = type === 'MarketplaceWithPlan';
    return {
      kind: 'named',
      release,
      image: canonical({ marketplace: { publisher, offer, sku, version, thirdPartyImage } }),
    };
  }
  const { reason, brief, message } = decision;
  return {
    ...{ kind: 'none', blocked: false, target: release, reason, brief },
    message: message.replace(keptText(kept), setText(set)),
    nextStep: `annotate ${setText(set)} ${imageOriginAnnotation}=Installer if an installer uploaded its image, or name one in spec.image.catalogue of a BootImagePolicy that selects it`,
  };
}

/** What a template says of its image, as a machine set would. */
function specOf(template: ClusterApiObject): Readonly<Record<string, unknown>> {
  const machine = object(at(template.spec, ['template', 'spec']));
  const { id, marketplace } = object(machine['image']);
  const of = object(marketplace);
  const part = (key: string): string => nonEmpty(of[key]) ?? '';
  const named = {
    ...{ publisher: part('publisher'), offer: part('offer'), sku: part('sku'), version: part('version') },
    type: of['thirdPartyImage'] === true ? 'MarketplaceWithPlan' : 'MarketplaceNoPlan',
  };
  const securityType = nonEmpty(object(machine['securityProfile'])['securityType']) ?? '';
  return {
    image: nonEmpty(id) === undefined ? named : { resourceID: nonEmpty(id) },
    securityProfile: { settings: { securityType } },
  };
}
