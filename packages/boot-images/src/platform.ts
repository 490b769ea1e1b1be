import type { BootImageStatus, ConfigMap, Infrastructure, Secret } from '@drydock/api';
import type { ImportAmounts, PlannedStep, TemplateOperation, TemplateProgress } from '@drydock/templates';
import type { Skip } from './decide/decide.ts';
import type { ImageFacts, ImageOrigin, ImageThere, TemplateFacts } from './image-facts.ts';
import type { JsonObject } from './observe/json.ts';
import type { KeptSet } from './observe/kept-set.ts';
import type { LeafEdit } from './observe/provider-spec.ts';
import type { Stream } from './observe/stream.ts';
import type { NeededImage } from './way-back/needed.ts';
import type { Pin } from './way-back/pin.ts';

/** Everything that a platform reads to decide about one set. */
export interface PlatformInput {
  /** In texts it is `setText`. */
  readonly set: KeptSet;
  readonly spec: JsonObject;
  readonly architecture: string;
  readonly stream: Stream;
  readonly infrastructure: Infrastructure;
  /** `ClusterVersion.spec.clusterID`: the owner in marks. */
  readonly cluster: string;
  /** Reads one secret of the cluster from what is already known. */
  readonly secret: (namespace: string, name: string) => Secret | undefined;
  /** PEM: authorities of the cloud's endpoints that the cluster knows of. */
  readonly authorities?: string;
  /** kube-system/cluster-config-v1. */
  readonly installConfig: ConfigMap | undefined;
  /** The image that the set is to have in place of the stream's, which names a release or an image. */
  readonly pin?: Pin;
  /** Who published images of this set, as it was found out before; see {@link ImageFacts.origins}. */
  readonly origins?: readonly ImageOrigin[];
  /** What the policy of the set wants of how it is done; absent where none decides. */
  readonly by?: ByPolicy;
}

/** What a policy wants of how an image is put into use. What is absent is as the operator is told. */
export interface ByPolicy {
  readonly publication?: 'pointer' | 'swap';
  /** The release that is wanted is another one than the cluster's: what is newer goes back to it. */
  readonly pinned?: boolean;
  /** Unreferenced images kept per place as a way back. */
  readonly keep?: number;
}

/** The next step for one set, as its platform sees it. */
export type PlatformPlan =
  | ({ readonly kind: 'current' } & ImageFacts)
  | (Skip & ImageFacts)
  /** The image exists: only the set has to be pointed at it. */
  | ({ readonly kind: 'switch'; readonly image: PointedImage; readonly hotLoopValue: string } & ImageFacts)
  /** The image has to be made first. */
  | ({ readonly kind: 'publish'; readonly publication: Publication; readonly hotLoopValue: string } & ImageFacts);

/** An image that has to be made. Publications with one `key` are made one after the other. */
export interface Publication {
  readonly key: string;
  /** Makes the image, idempotently; resolves to the edits that point a set at it. */
  readonly run: (hooks: PublicationHooks) => Promise<PublishedImage>;
  /** What `run` would do now, by the decisions that it makes itself; nothing is changed. Fails as `run` would where that is known beforehand. */
  readonly foresee: (call: { readonly signal?: AbortSignal | undefined }) => Promise<ForeseenPublication>;
  /** How the set is pointed at an image of this name. */
  readonly pointing: (name: string) => Pick<PointedImage, 'edits' | 'reference' | 'identity'>;
}

/** A publication before it is made. */
export interface ForeseenPublication {
  /** What is downloaded, where the cache does not have it, and imported, without what may be secret in its address; absent where an image that is there comes back. */
  readonly from?: { readonly location: string; readonly sha256: string };
  readonly server: string;
  readonly folder: string;
  /** The template's name. */
  readonly name: string;
  readonly steps: readonly PlannedStep[];
  /** Where an image is imported: what that moves and takes. */
  readonly amounts?: ImportAmounts;
  /** How a set would be pointed at it before it takes over a name that is in use; absent where it takes over none. */
  readonly beside?: Pick<PointedImage, 'edits' | 'reference' | 'identity'>;
  /** Changes with whatever the steps follow from. */
  readonly world: string;
}

/** What a publication tells while it runs. */
export interface PublicationHooks {
  /** Asked right before the image takes over a name that is in use, with the image as a set could be pointed at it until then. What it throws leaves the image complete beside the other. */
  readonly beforeSwap?: (image: PointedImage) => Promise<void>;
  readonly announce: (operation: TemplateOperation) => Promise<void>;
  readonly onProgress: (progress: TemplateProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

/** An image that is there, and how a set is pointed at it. */
export interface PointedImage {
  /** None where the set names the image already, because it took over a name. */
  readonly edits: readonly LeafEdit[];
  /** What `Platform.imageOf` says once the edits are made; absent where there are none. */
  readonly reference?: string;
  /** What it is, whatever it is called by then: whoever tried it under one name need not try it under the next. Absent: its reference says it. */
  readonly identity?: string;
  /** Where the platform makes its own. */
  readonly template?: TemplateFacts & { readonly release: string };
}

/** What a publication made. */
export interface PublishedImage extends PointedImage {
  readonly template: TemplateFacts & { readonly release: string };
  readonly adopted: boolean;
}

/** One image that was looked at for removal. */
export interface CollectedImage {
  readonly name: string;
  /** It went; with `dryRun`, that it would go. */
  readonly removed: boolean;
  readonly server: string;
  readonly folder: string;
  readonly reason: string;
}

/**
 * One cloud or hypervisor. vSphere makes its images; clouds find theirs in the stream or by a query, and need only
 * `plan` with `switch`. `plan` reads and never writes. It throws for what must be reported as an error. Disposal ends its conversations.
 */
export interface Platform extends Partial<AsyncDisposable> {
  /** `Infrastructure.status.platformStatus.type`. */
  readonly type: string;
  /** Lower-case name for `BootImage.status.platform`. */
  readonly name: string;
  /** Below `providerSpec.value`, what field managers own when they own the image: its leaf, or the list in which it is. */
  readonly imageLeaf: readonly string[];
  /** What new machines start from, as a spec refers to it; undefined where it refers to nothing. */
  readonly imageOf: (spec: JsonObject) => string | undefined;
  /** The image's name in such a reference, as `ImageFacts` has it. */
  readonly nameOf: (reference: string) => string;
  /** The image in such a reference as a history keeps it and a pin asks for it. Default: the reference. */
  readonly recordOf?: (reference: string) => string;
  /** Where a set of this spec makes its machines, in words for people; undefined where the spec does not say. */
  readonly placeOf: (spec: JsonObject) => string | undefined;
  /** The vCenter, region or location of that place; default: the place. */
  readonly regionOf?: (spec: JsonObject) => string | undefined;
  /** How a new image is put into use where no policy says; absent where none is made here. */
  readonly publication?: 'pointer' | 'swap';
  /** The name that the image of a set of this spec takes over by swap, which it may share with others; undefined where that cannot be told. Absent where no name is ever taken over. */
  readonly sharedName?: (spec: JsonObject, infrastructure: Infrastructure) => string | undefined;
  /** The failure domain, on clouds the zone, in which a set of this spec makes its machines; undefined where that cannot be told. */
  readonly failureDomainOf?: (spec: JsonObject, infrastructure: Infrastructure) => string | undefined;
  /** How a machine of this spec and this uid is doing, as the platform itself says, as a clause; undefined where it says nothing of any. */
  readonly guestOf?: (
    spec: JsonObject,
    uid: string,
    options?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<string | undefined>;
  /** What the stream asks for, by the input alone; undefined where it has nothing for this platform. */
  readonly target: (input: PlatformInput) => string | undefined;
  /**
   * Where `plan` cannot tell without asking, and nobody is asked: whether what was said last of a set stands, as far as its image is the same and the stream asks
   * for `target` now. Absent where the input alone always tells.
   */
  readonly stands?: (said: BootImageStatus, target: string | undefined) => boolean;
  /** Told of all sets that are about to be planned, so that what has to be asked about them can be asked together. */
  readonly foresee?: (inputs: readonly PlatformInput[]) => void;
  readonly plan: (
    input: PlatformInput,
    options?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<PlatformPlan>;
  /**
   * Removes what nothing needs any more, near the image of the given sets. `referenced` gives who needs a name, undefined
   * when nobody does, and 'unknown' when that cannot be told, which keeps. A place that cannot be looked at does not stop the others: it throws when all were
   * tried.
   */
  readonly collect?: (
    inputs: readonly PlatformInput[],
    options: {
      readonly referenced: (name: string) => string | undefined;
      /** Who counts on an image although nobody names it: it stays. */
      readonly needed?: NeededImage;
      /** What may go; default: whatever nothing needs. */
      readonly only?: (name: string) => boolean;
      /** Only says what would go. */
      readonly dryRun?: boolean;
      /** Told of each set in a place that was looked at: what is there to be pointed at. */
      readonly found?: (set: string, there: readonly ImageThere[]) => void;
      readonly signal?: AbortSignal | undefined;
    },
  ) => AsyncIterable<CollectedImage>;
}
