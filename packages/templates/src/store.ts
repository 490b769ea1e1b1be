import type { GuestState } from '@drydock/vsphere';
import type {
  AdoptRequest,
  Generation,
  ListedTemplate,
  Plan,
  PlanRequest,
  RevertRequest,
  Verification,
} from './library.ts';
import type { Placement, TemplateWish } from './wish.ts';

/** Progress of a publication; `step` is a word of the phase list of BootImage. */
export interface TemplateProgress {
  readonly step: 'Downloading' | 'Verifying' | 'Uploading' | 'Publishing';
  readonly bytes?: number;
  readonly total?: number;
  /** Bytes per second over the last seconds. */
  readonly rate?: number;
  /** All bytes were given to the connection, and the server has not said yet that it has them. */
  readonly sent?: true;
  /** What happened, as a clause for a person: that it begins anew, and why. */
  readonly note?: string;
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
      /** The release by its mark, else the product version. */
      readonly version: string | undefined;
      /** SHA-256 of the OVA by its mark; absent where that is not known. */
      readonly digest?: string;
      readonly isTemplate: boolean;
      readonly ours: boolean;
      /** Why it is not used any more although it was ours, as a clause: somebody made a machine of it, or changed it. */
      readonly estranged?: string;
    };

/** What a publication left. */
export interface PublishedTemplate {
  readonly name: string;
  readonly release: string;
  /** True when it was there already, or a finished import was adopted. */
  readonly adopted: boolean;
  readonly uploads: number;
  /**
   * Milliseconds for which a swap left the stable name without a template, at most: from the request of the first rename to the answer to the
   * second. undefined where no pair of renames was needed.
   */
  readonly absentMs?: number;
  /** The name under which a swap kept the template before it. */
  readonly retired?: string;
}

/** One template that garbage collection looked at. */
export interface CollectedTemplate {
  readonly name: string;
  /** It went; with `dryRun`, that it would go. */
  readonly removed: boolean;
  /** Why it stays, or why it went. */
  readonly reason: string;
}

/** Whether a recorded holder still leads; undefined where nobody can tell. */
export type HolderIsLive = (holder: string) => boolean | undefined;

/** Options of the store's calls. */
export interface StoreOptions {
  readonly signal?: AbortSignal | undefined;
}

/** A call that may follow a plan: nothing is changed where the observed world is another one than the plan's (`WORLD_MOVED`). */
export interface PlannedOptions extends StoreOptions {
  /** {@link Plan.world}. */
  readonly expectWorld?: string;
}

/** A call that may give a stable name to another template. */
export interface SwapOptions extends PlannedOptions {
  /** Asked before a swap, and again right before its first rename, with the name under which the other template is complete. What it throws ends the call, and everything stays as it is. */
  readonly beforeSwap?: (name: string) => Promise<void>;
}

/** Options of a publication. */
export interface PublishOptions extends SwapOptions {
  readonly announce?: (operation: TemplateOperation) => Promise<void>;
  readonly onProgress?: (progress: TemplateProgress) => void;
  readonly holderIsLive: HolderIsLive;
  /** How long (ms) to wait for another importer or a task; default one minute. */
  readonly waitMs?: number;
  /** Called with the name of the VM when waiting begins. */
  readonly onWait?: (name: string) => void;
}

/**
 * Why a template is a way back that somebody counts on, undefined where nobody does: it stays, and is among those that are kept before any other. `keep` is how many images a way back has.
 */
export type NeededTemplate = (
  template: {
    readonly name: string;
    readonly release: string;
    /** '' where it is not known. */
    readonly digest: string;
    readonly stableName: string | undefined;
  },
  keep: number,
) => string | undefined;

/** Options of a collection. */
export interface CollectOptions extends PlannedOptions {
  readonly referenced: (name: string) => string | undefined;
  readonly holderIsLive: HolderIsLive;
  /** Why one is needed although nobody refers to its name, as a clause; see {@link NeededTemplate}. */
  readonly needed?: NeededTemplate;
  /** How many of the newest templates of each stable name or base stay as a way back although nobody uses them; default 2. */
  readonly keep?: number;
  /** Milliseconds for which a new or newly retired template stays although nothing refers to it; default 10 minutes. */
  readonly graceMs?: number;
  /** What may go at all; default: whatever nothing needs. */
  readonly only?: (name: string) => boolean;
  /** Only says what would go. */
  readonly dryRun?: boolean;
}

/** What planning must know of the outside. */
export interface PlanOptions extends StoreOptions {
  readonly holderIsLive: HolderIsLive;
  /** Needed for `gc`; see `TemplateStore.collect`. Default: nobody can tell. */
  readonly referenced?: (name: string) => string | undefined;
  /** The same. */
  readonly needed?: NeededTemplate;
}

/**
 * Templates of all vCenters. Errors are `TemplateError`, and where vCenter could not be asked the client's own `VimError`.
 * A reference is a bare name, an inventory path, or an instance UUID.
 */
export interface TemplateStore extends AsyncDisposable {
  /** Looks the reference up in the placement's folder. Nothing elsewhere is ever found. What is there and cannot be read is a retriable `TEMPLATE_UNREADABLE`. */
  inspect(placement: Placement, reference: string, options?: StoreOptions): Promise<TemplateState>;
  /**
   * Observe, decide, act until the wish is met; safe to call again after any crash and from two processes.
   * `announce` is awaited before an import starts. `holderIsLive` tells whether a recorded holder still leads; undefined (nobody knows)
   * leaves it to the age of the import. While another live holder imports the same wish, it waits, then fails with a retriable `UPLOAD_IN_PROGRESS`.
   */
  publish(wish: TemplateWish, options: PublishOptions): Promise<PublishedTemplate>;
  /**
   * Removes templates with this cluster's mark in the placement's folder that nothing needs.
   * `referenced` says who uses a name: undefined is nobody, the word 'unknown' is that nobody can tell, and unknown keeps.
   */
  collect(placement: Placement, cluster: string, options: CollectOptions): Promise<readonly CollectedTemplate[]>;
  /** Every template of the placement's folder, every marked machine, and what other tools left half-done. */
  list(placement: Placement, owner: string, options?: StoreOptions): Promise<readonly ListedTemplate[]>;
  /** Checks one template: mark, digest, template flag, tags, hosts, tasks. Fails with `TEMPLATE_NOT_FOUND` where there is nothing. */
  verify(
    placement: Placement,
    reference: string,
    options?: StoreOptions & { readonly tagIds?: readonly string[] },
  ): Promise<Verification>;
  /** The generations of a stable name, or of a base of pointer publications, newest first. */
  history(placement: Placement, owner: string, name: string, options?: StoreOptions): Promise<readonly Generation[]>;
  /**
   * Runs the decisions of a request on a predicted world and changes nothing. The calls it names are those that applying it makes, in order. Fails as the
   * request itself would where that is known beforehand.
   */
  plan(request: PlanRequest, options: PlanOptions): Promise<Plan>;
  /** Puts a retired generation back under its stable name, without an upload. Safe to call again after a crash. Fails with `NOTHING_TO_REVERT`. */
  revert(request: RevertRequest, options?: SwapOptions): Promise<PublishedTemplate>;
  /** Brings a template that bears no mark under management, by a custom attribute. */
  adopt(request: AdoptRequest, options?: PlannedOptions): Promise<ListedTemplate>;
  /** How a machine of this instance UUID is doing on a server; undefined where there is none. */
  guest(server: string, instanceUuid: string, options?: StoreOptions): Promise<GuestState | undefined>;
  /**
   * Records on a template that `what`, a file or a consumer, points at it: from now on collection keeps it. To be called before it is pointed at. Whatever
   * becomes of the record, it can only make a template stay.
   */
  hold(placement: Placement, reference: string, what: string, options?: StoreOptions): Promise<void>;
  /** Records that `what` points no longer at any template of the folder, but for the one named `except`. Resolves to the names that it pointed at. */
  release(
    placement: Placement,
    what: string,
    options?: StoreOptions & { readonly except?: string },
  ): Promise<readonly string[]>;
}
