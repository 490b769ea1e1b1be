// Generated from bootimagepolicies.drydock.dev v1alpha1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from './meta.ts';

/**
 * What is wanted of the boot images of the sets that it selects: which image, how it is published, tried and paced,
 * when, and whether at all. Of several policies that select one set the one with the highest priority decides, and it
 * alone.
 */
export interface BootImagePolicy {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** What is selected, and what is wanted of it. What is absent is as it is without any policy. */
  readonly spec?: BootImagePolicySpec;
  /**
   * What became of it. Strings with documented values are free strings, and lists are maps or sets, so that an older
   * schema never refuses what a newer controller wrote.
   */
  readonly status?: BootImagePolicyStatus;
}

/** What is selected, and what is wanted of it. What is absent is as it is without any policy. */
export interface BootImagePolicySpec {
  /**
   * The highest decides. Where the highest of a set is shared, its image stays as it is, and its BootImage names the
   * policies.
   */
  readonly priority?: number;
  /** By the labels of the sets; absent, all of them. */
  readonly selector?: BootImagePolicySpecSelector;
  /** Kinds of sets; absent, all of them. */
  readonly kinds?: readonly ('MachineSet' | 'ControlPlaneMachineSet' | 'MachineDeployment' | 'KubeadmControlPlane' | 'MachinePool')[];
  /**
   * Names of failure domains, on clouds of zones; absent, all of them. A set that is in none, or in several, is not
   * selected by this.
   */
  readonly failureDomains?: readonly string[];
  /** Which image is wanted; absent, that of the cluster's release. */
  readonly image?: BootImagePolicySpecImage;
  /**
   * How a new template becomes the one that sets start from. Pointer: it has a name of its own, and the set is pointed
   * at it. Swap: it takes over the name. Absent, as the operator is told.
   */
  readonly publication?: 'Pointer' | 'Swap';
  /** Whether an image is tried before a set is pointed at it. */
  readonly canary?: BootImagePolicySpecCanary;
  /** How many at a time. A set that fails keeps those that come after it from being begun. */
  readonly pace?: BootImagePolicySpecPace;
  /** When something may be begun; absent, at any time. */
  readonly windows?: readonly BootImagePolicySpecWindow[];
  /** The images of the sets stay what they are. */
  readonly hold?: BootImagePolicySpecHold;
  /** What stays as a way back. */
  readonly retention?: BootImagePolicySpecRetention;
  /** The sets are left alone. */
  readonly optOut?: BootImagePolicySpecOptOut;
  /** What is allowed with sets of Cluster API. */
  readonly clusterAPI?: BootImagePolicySpecClusterAPI;
}

/** By the labels of the sets; absent, all of them. */
export interface BootImagePolicySpecSelector {
  /** Labels that a set must have. */
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** Requirements that must all be met. */
  readonly matchExpressions?: readonly BootImagePolicySpecSelectorMatchExpression[];
}

export interface BootImagePolicySpecSelectorMatchExpression {
  /** Key of a label. */
  readonly key: string;
  /** How the label is compared. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** Values for In and NotIn. */
  readonly values?: readonly string[];
}

/** Which image is wanted; absent, that of the cluster's release. */
export interface BootImagePolicySpecImage {
  /**
   * The release that is wanted, such as 418.94.202501221327-0, whatever the cluster's own is. Its image comes from the
   * catalogue, else from the stream where that has the release, else it must be in the place already.
   */
  readonly release?: string;
  /**
   * Where images come from, by the version that is wanted: the release of the operating system, or with Cluster API
   * the version of Kubernetes.
   */
  readonly catalogue?: readonly BootImagePolicySpecImageCatalogueItem[];
}

export interface BootImagePolicySpecImageCatalogueItem {
  /** The version that the image is for. */
  readonly version: string;
  /** The architecture that the image is for. */
  readonly architecture?: 'amd64' | 'arm64';
  /** Address of an OVA. */
  readonly url?: string;
  /**
   * SHA-256 of that file, in hex. Of an item of a content library that has several files: of the tar that these make,
   * the descriptor first and the others by name, as `tar --format=ustar --owner=0 --group=0 --numeric-owner
   * --mode=0644 --mtime=@0` writes it.
   */
  readonly sha256?: string;
  /**
   * In place of an address, an item of a content library of the vCenter that the template is for: library and item by
   * name or id, as library/item.
   */
  readonly contentLibraryItem?: string;
  /**
   * With Cluster API on a cloud, in place of an address: the image as its machine templates name it, such as an AMI or
   * the resource ID of a gallery's image.
   */
  readonly image?: string;
}

/** Whether an image is tried before a set is pointed at it. */
export interface BootImagePolicySpecCanary {
  /** Machine: one machine per group of equal sets starts from it, becomes a Node that is ready, and is deleted again. */
  readonly mode?: 'None' | 'Machine';
  /** How long it may take to become a Node that is ready, such as 20m, which is the default. */
  readonly timeout?: string;
  /** A machine that failed stays for a look, until the policy changes or another release is wanted. */
  readonly keepOnFailure?: boolean;
}

/** How many at a time. A set that fails keeps those that come after it from being begun. */
export interface BootImagePolicySpecPace {
  /** Sets of this policy that are moved at a time. */
  readonly setsAtATime?: number;
  /** InTurn: one failure domain is done before the next one is begun, by name. Together is the default. */
  readonly failureDomains?: 'InTurn' | 'Together';
}

export interface BootImagePolicySpecWindow {
  /** When it opens, as minute, hour, day of the month, month and day of the week of cron. */
  readonly schedule: string;
  /** For how long, such as 4h or 90m; a week at the most. */
  readonly duration: string;
  /** Whose clock it is, such as Europe/Berlin; absent, UTC. */
  readonly timeZone?: string;
}

/** The images of the sets stay what they are. */
export interface BootImagePolicySpecHold {
  /** Until when; absent, until this is taken off. */
  readonly until?: string;
  /** Why, in words. */
  readonly reason: string;
}

/** What stays as a way back. */
export interface BootImagePolicySpecRetention {
  /** How many images that nothing uses stay in each place. */
  readonly keep?: number;
}

/** The sets are left alone. */
export interface BootImagePolicySpecOptOut {
  /** Why, in words. */
  readonly reason: string;
}

/** What is allowed with sets of Cluster API. */
export interface BootImagePolicySpecClusterAPI {
  /**
   * Allow: also sets that replace their machines when their template changes are pointed at a new one. Absent, none of
   * these.
   */
  readonly rollout?: 'Allow';
  /** Where templates of kinds that Drydock does not know name their image. */
  readonly imagePaths?: readonly BootImagePolicySpecClusterAPIImagePath[];
  /** The variable of a ClusterClass that names the image, which may be changed. */
  readonly classVariable?: string;
}

export interface BootImagePolicySpecClusterAPIImagePath {
  /** API group of the template. */
  readonly group: string;
  /** Kind of the template. */
  readonly kind: string;
  /** JSON pointer to the image, such as /spec/template/spec/template. */
  readonly path: string;
}

/**
 * What became of it. Strings with documented values are free strings, and lists are maps or sets, so that an older
 * schema never refuses what a newer controller wrote.
 */
export interface BootImagePolicyStatus {
  /** The metadata.generation that this status was computed from. */
  readonly observedGeneration?: number;
  /** How many sets it selects, whether or not it decides about them. */
  readonly selected?: number;
  /**
   * Conditions by type. Accepted is False where the policy cannot be followed; the sets that it would decide about are
   * Blocked, with their images unchanged, until it can.
   */
  readonly conditions?: readonly BootImagePolicyStatusCondition[];
}

export interface BootImagePolicyStatusCondition {
  /** Name of the condition, CamelCase. */
  readonly type: string;
  /** True, False or Unknown. */
  readonly status?: string;
  /** One CamelCase word. */
  readonly reason?: string;
  /** A sentence for people. */
  readonly message?: string;
  /** The metadata.generation that the condition was computed from. */
  readonly observedGeneration?: number;
  /** When status last changed. */
  readonly lastTransitionTime?: string;
}

/** The kind BootImagePolicy of drydock.dev/v1alpha1. */
export const BootImagePolicy: Resource<BootImagePolicy> = {
  group: 'drydock.dev',
  version: 'v1alpha1',
  kind: 'BootImagePolicy',
  plural: 'bootimagepolicies',
  scope: 'Cluster',
};
