/** Where a template lives: one failure domain of one vCenter. Names are inventory paths as Infrastructure and providerSpec give them. */
export interface Placement {
  readonly server: string;
  readonly datacenter: string;
  /** The failure domain's name, used in template names and messages. */
  readonly failureDomain: string;
  readonly folder: string;
  readonly datastore: string;
  readonly resourcePool: string;
  readonly computeCluster: string;
  readonly networks: readonly string[];
}

/** The image to publish. */
export interface TemplateImage {
  /** `artifacts.vmware.release` of the stream. */
  readonly release: string;
  /** URL (http, https) or file URL of the OVA. */
  readonly location: string;
  /** Lower-case hex of the whole OVA. */
  readonly sha256: string;
}

/** A wish for one template. Two equal wishes end in one template. */
export interface TemplateWish {
  /** ClusterVersion's clusterID (or another stable UID): the owner in the mark. */
  readonly cluster: string;
  /** `<infrastructureName>-rhcos-<failureDomain>`; cut so that the unique name stays within 80 characters. */
  readonly base: string;
  readonly image: TemplateImage;
  readonly placement: Placement;
  /** undefined: taken from the disks of the template that is replaced, else ''. */
  readonly diskProvisioning?: string;
  /** Bare name or path of the template that this one replaces; only its disks are read, see {@link TemplateWish.diskProvisioning}. */
  readonly replaces?: string;
  /** Names a tag that must exist: the installer's tag is named after the infrastructure. */
  readonly tagName: string;
  readonly tagIds: readonly string[];
  /** Identity of the Lease holder that acts, unique per process: recorded in the mark. */
  readonly holder: string;
}

/** Progress of a publication; `step` is a word of the phase list of BootImage. */
export interface TemplateProgress {
  readonly step: 'Downloading' | 'Verifying' | 'Uploading' | 'Publishing';
  readonly bytes?: number;
  readonly total?: number;
  /** Bytes per second over the last seconds. */
  readonly rate?: number;
}

/** The operation that is about to start: written to BootImage's status before the import starts. */
export interface TemplateOperation {
  readonly id: string;
  readonly name: string;
  readonly holder: string;
  readonly instanceUuid: string;
}

/** What stands under a reference today. */
export type TemplateState =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'present';
      readonly name: string;
      readonly version: string | undefined;
      readonly isTemplate: boolean;
      readonly ours: boolean;
    };

/** What a publication left. */
export interface PublishedTemplate {
  readonly name: string;
  readonly release: string;
  /** True when it was there already, or a finished import was adopted. */
  readonly adopted: boolean;
  readonly uploads: number;
}

/** One template that garbage collection looked at. */
export interface CollectedTemplate {
  readonly name: string;
  readonly removed: boolean;
  /** Why it stays, or why it went. */
  readonly reason: string;
}

/** Whether a recorded holder still leads; undefined where nobody can tell. */
export type HolderIsLive = (holder: string) => boolean | undefined;

/** Options of the store's calls. */
export interface StoreOptions {
  readonly signal?: AbortSignal;
}

/** Templates of all vCenters, as boot images see them. Errors are `TemplateError`. */
export interface TemplateStore extends AsyncDisposable {
  /** Looks the reference up in the placement's folder: a bare name, or an absolute inventory path whose folder is this folder. */
  inspect(placement: Placement, reference: string, options?: StoreOptions): Promise<TemplateState>;
  /**
   * Observe, decide, act until the wish is met; safe to call again after any crash and from two processes.
   * `announce` is awaited before an import starts. `holderIsLive` tells whether a recorded holder still leads; undefined (nobody knows)
   * leaves it to the age of the import. While another live holder imports the same wish, it waits, then fails with a retriable `UPLOAD_IN_PROGRESS`.
   */
  publish(
    wish: TemplateWish,
    options: StoreOptions & {
      readonly announce?: (operation: TemplateOperation) => Promise<void>;
      readonly onProgress?: (progress: TemplateProgress) => void;
      readonly holderIsLive: HolderIsLive;
    },
  ): Promise<PublishedTemplate>;
  /**
   * Removes templates with this cluster's mark in the placement's folder that nothing needs.
   * `referenced` says who uses a name: undefined is nobody, the word 'unknown' is that nobody can tell, and unknown keeps.
   */
  collect(
    placement: Placement,
    cluster: string,
    options: StoreOptions & {
      readonly referenced: (name: string) => string | undefined;
      readonly holderIsLive: HolderIsLive;
      /** How many of the newest templates that nobody uses stay as a way back; default 1. */
      readonly keep?: number;
      /** Milliseconds for which a new template stays although nothing refers to it yet; default 10 minutes. */
      readonly graceMs?: number;
    },
  ): Promise<readonly CollectedTemplate[]>;
}
