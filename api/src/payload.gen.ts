// Generated from payloads.drydock.dev v1alpha1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from './meta.ts';

/**
 * A release that the cluster is to have: an image with manifests, which is verified, applied in the order of its files
 * and held. What it applies stays when the Payload is deleted.
 */
export interface Payload {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** Which release, who must have signed it, and in whose name it is applied. */
  readonly spec: PayloadSpec;
  /**
   * What was observed and done. Strings with documented values are free strings, and lists are maps or sets, so that
   * an older schema never refuses what a newer controller wrote.
   */
  readonly status?: PayloadStatus;
}

/** Which release, who must have signed it, and in whose name it is applied. */
export interface PayloadSpec {
  /** The image of the release, by its digest. Without it, the image of spec.version in status.history. */
  readonly image?: string;
  /**
   * What the release must say of itself. Alone, it is looked for in status.history: a way back needs no image to be
   * remembered. Without both, the newest release of status.history is held.
   */
  readonly version?: string;
  /** Who must have signed the image. Without key rings nothing is applied, unless unsigned is true. */
  readonly verify?: PayloadSpecVerify;
  /**
   * In whose name everything is read and written. The operator may impersonate the accounts alone that its ClusterRole
   * names, and whoever writes this must be allowed to impersonate the account, too, where the policy for that is
   * installed.
   */
  readonly serviceAccount: PayloadSpecServiceAccount;
  /**
   * Of the manifests only those that include this cluster profile by their annotations. Without it manifests need not
   * say for whom they are.
   */
  readonly profile?: string;
  /** Feature set of the cluster, for manifests that ask for one; Default where nothing is said. */
  readonly featureSet?: string;
  /** Objects that somebody else looks after, as long as unmanaged is true. They hold up other minor versions. */
  readonly overrides?: readonly PayloadSpecOverride[];
  /**
   * How long a release must have been complete until it is final, as 168h: what it wrote is not guarded against going
   * back any more, and going back past it must be accepted by name. Without it no release ever is.
   */
  readonly soak?: string;
  /**
   * What is accepted although something speaks against it, by the names that the condition ReleaseAccepted tells:
   * Signature, Rollback, GiantHop, Upgradeable, or one finding of a way back as Rollback/PRUNE:DEFINITION. They end up
   * in status.history.
   */
  readonly acceptedRisks?: readonly string[];
}

/** Who must have signed the image. Without key rings nothing is applied, unless unsigned is true. */
export interface PayloadSpecVerify {
  /** A key of each ring must have signed the digest, as containers/image signs. */
  readonly keyRings?: readonly PayloadSpecVerifyKeyRing[];
  /**
   * Where signatures are: https addresses, below which sha256=HEX/signature-1 and so on are asked for. What was
   * verified once is kept in the cluster.
   */
  readonly stores?: readonly string[];
  /** The image needs no signature; its digest alone says what it is. */
  readonly unsigned?: boolean;
}

export interface PayloadSpecVerifyKeyRing {
  /** What the ring is called in messages. */
  readonly name: string;
  /** Public keys in armour. */
  readonly keys: string;
}

/**
 * In whose name everything is read and written. The operator may impersonate the accounts alone that its ClusterRole
 * names, and whoever writes this must be allowed to impersonate the account, too, where the policy for that is
 * installed.
 */
export interface PayloadSpecServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

export interface PayloadSpecOverride {
  readonly kind: string;
  readonly group: string;
  readonly namespace: string;
  readonly name: string;
  readonly unmanaged?: boolean;
}

/**
 * What was observed and done. Strings with documented values are free strings, and lists are maps or sets, so that an
 * older schema never refuses what a newer controller wrote.
 */
export interface PayloadStatus {
  /** The metadata.generation that this status was computed from. */
  readonly observedGeneration?: number;
  /** The release that is applied, or held. */
  readonly desired?: PayloadStatusDesired;
  /** Hash over what it applies; the same version with other content has another one. */
  readonly versionHash?: string;
  /** One cell of a table, as 12/30; absent where nothing is being applied. */
  readonly progress?: string;
  /** What is waited for, the first twenty. */
  readonly waiting?: readonly PayloadStatusWaitingItem[];
  /**
   * The releases that were applied or begun, the newest first, at most 100. Going back puts the older one there once
   * more.
   */
  readonly history?: readonly PayloadStatusHistoryItem[];
  /**
   * Available: a release was applied to its end once. Progressing, Failing: what is being done, and whether it goes
   * wrong. ReleaseAccepted: whether the release that is asked for may be applied, and if not, which step refused it.
   * Upgradeable, with one condition more for each reason against another minor. Rollbackable: whether what is stored
   * would fit the definitions of the release before. Invalid, while the wish cannot be followed.
   */
  readonly conditions?: readonly PayloadStatusCondition[];
}

/** The release that is applied, or held. */
export interface PayloadStatusDesired {
  /** What it says of itself; absent before it was read. */
  readonly version?: string;
  /** Its image, by digest. */
  readonly image?: string;
}

export interface PayloadStatusWaitingItem {
  /** As Deployment.apps shop/db. */
  readonly object: string;
  /** A clause. */
  readonly why?: string;
  readonly since?: string;
}

export interface PayloadStatusHistoryItem {
  /** Counts up; an entry keeps it. */
  readonly id: string;
  /** Completed, or Partial as long as something of it is missing. */
  readonly state?: string;
  readonly version?: string;
  readonly image?: string;
  readonly startedTime?: string;
  /** When it was complete, or when another one was begun instead. */
  readonly completionTime?: string;
  /** Whether a signature of each key ring was seen. */
  readonly verified?: boolean;
  /** What spoke against it and was accepted. */
  readonly acceptedRisks?: string;
  /** Since when it is final. Never taken back. */
  readonly finalisedTime?: string;
}

export interface PayloadStatusCondition {
  /** Name of the condition, CamelCase. */
  readonly type: string;
  /** True, False or Unknown. */
  readonly status?: string;
  /** One word. */
  readonly reason?: string;
  /** A sentence for people. */
  readonly message?: string;
  /** When status last changed. */
  readonly lastTransitionTime?: string;
}

/** The kind Payload of drydock.dev/v1alpha1. */
export const Payload: Resource<Payload> = {
  group: 'drydock.dev',
  version: 'v1alpha1',
  kind: 'Payload',
  plural: 'payloads',
  scope: 'Cluster',
};
