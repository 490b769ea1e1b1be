import type { KubeObject, Resource, WithStatus } from '@drydock/kube';
import type { CapabilityWish } from '../inclusion/capabilities.ts';
import type { Override } from '../inclusion/selection.ts';
import type { ReleaseMetadata } from '../payload/release-metadata.ts';
import type { StateCondition, StoredCondition } from '../state/conditions.ts';
import type { HistoryEntry } from '../state/history.ts';
import type { Release, TargetWish } from '../state/target.ts';

/** A ServiceAccount in whose name something is done. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** What somebody wants of a release, whichever kind of object says it. */
export interface ReleaseWish {
  readonly target: TargetWish;
  readonly force: boolean;
  readonly acceptedRisks: readonly string[];
  readonly verify: {
    readonly rings: readonly { readonly name: string; readonly armoured: string }[];
    readonly stores: readonly string[];
    /** The image needs no signature. */
    readonly unsigned: boolean;
    /** Once a release runs, key rings and stores are those that it brings. */
    readonly byRelease: boolean;
  };
  readonly account: Account;
  /** undefined: manifests need not say for whom they are. */
  readonly profile: string | undefined;
  readonly featureSet: string;
  /** undefined: all count as enabled. */
  readonly capabilities: CapabilityWish | undefined;
  readonly overrides: readonly Override[];
  /** ms after which a release that is complete is final; undefined: never. */
  readonly soak: number | undefined;
  /** Releases on offer, for a wish that names a version alone. */
  readonly updates: readonly Release[];
}

/** What was written before. */
export interface ReleaseRecord {
  readonly history: readonly HistoryEntry[];
  readonly conditions: readonly StoredCondition[];
  /** Capabilities that were enabled; they stay so. */
  readonly enabled: readonly string[];
}

/** What is to be written. */
export interface Standing {
  readonly observedGeneration: number;
  /** Absent: nothing is wanted. */
  readonly desired: { readonly version?: string; readonly image: string } | undefined;
  /** What the release that is desired says of itself; absent where it was not read. */
  readonly about: Pick<ReleaseMetadata, 'url' | 'channels'> | undefined;
  readonly versionHash: string | undefined;
  readonly history: readonly HistoryEntry[];
  readonly conditions: readonly (StateCondition & { readonly lastTransitionTime: string })[];
  /** Absent where nothing is being applied. */
  readonly progress: { readonly done: number; readonly total: number } | undefined;
  readonly waiting: readonly { readonly object: string; readonly why: string; readonly since: string }[];
  readonly capabilities: { readonly known: readonly string[]; readonly enabled: readonly string[] } | undefined;
}

/** How one kind of object asks for a release, and is told about it. */
export interface Face<T extends KubeObject & WithStatus> {
  readonly resource: Resource<T>;
  /** See `ApplyOwner`. */
  readonly waitsForRollouts: boolean;
  /** What the object wants; a text: why it cannot be followed. */
  readonly wishOf: (object: T) => ReleaseWish | string;
  readonly recordOf: (object: T) => ReleaseRecord;
  readonly statusOf: (standing: Standing, object: T) => NonNullable<T['status']>;
  /** The status that is stored, but for what is waited for. undefined: there is none. */
  readonly waitingOf: (
    told: Pick<Standing, 'waiting' | 'conditions'>,
    object: T,
  ) => NonNullable<T['status']> | undefined;
}

/** Under which name the inventory of an object's release is kept, and people know it: `Payload tools`. */
export function ownerName({ kind }: Pick<Resource<KubeObject>, 'kind'>, { metadata: { name } }: KubeObject): string {
  return `${kind} ${name}`;
}
