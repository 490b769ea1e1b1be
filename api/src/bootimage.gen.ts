// Generated from bootimages.drydock.dev v1alpha1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from './meta.ts';

/**
 * The boot image of one machine set: which image new machines start from, which one they should start from, what is
 * being done about it, and why nothing is done when nothing is done. It lives in the namespace of the machine set.
 */
export interface BootImage {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** Which machine set this object speaks of, and what a person wants of its image. */
  readonly spec?: BootImageSpec;
  /**
   * What was observed and done. Strings with documented values are free strings, and lists are maps or sets, so that
   * an older schema never refuses what a newer controller wrote.
   */
  readonly status?: BootImageStatus;
}

/** Which machine set this object speaks of, and what a person wants of its image. */
export interface BootImageSpec {
  /**
   * The machine set, in the namespace of this object. Written once, by the controller, which writes nothing else here
   * but to take off a pin that has lapsed.
   */
  readonly machineSet?: BootImageSpecMachineSet;
  /**
   * The image that the set is to have whatever the release asks for, until the pin is taken off or lapses. Written by
   * drydock image revert, by kubectl or from a repository, never by the controller. An object with a pin outlives its
   * set.
   */
  readonly pin?: BootImageSpecPin;
  /**
   * Who lifted the last pin, when and why. drydock image release writes it together with the removal of the pin;
   * status.pins keeps it.
   */
  readonly lifted?: BootImageSpecLifted;
}

/**
 * The machine set, in the namespace of this object. Written once, by the controller, which writes nothing else here
 * but to take off a pin that has lapsed.
 */
export interface BootImageSpecMachineSet {
  /** API group of the set, for example machine.openshift.io. */
  readonly apiGroup?: string;
  /** Kind of the set, for example MachineSet or ControlPlaneMachineSet. */
  readonly kind?: string;
  /** Name of the set. */
  readonly name?: string;
}

/**
 * The image that the set is to have whatever the release asks for, until the pin is taken off or lapses. Written by
 * drydock image revert, by kubectl or from a repository, never by the controller. An object with a pin outlives its
 * set.
 */
export interface BootImageSpecPin {
  /** Release of the image. */
  readonly release?: string;
  /**
   * The image as status.history has it: the name of a template, an AMI, the path of an image, a URN. Without it, the
   * image of this release in the place of the set.
   */
  readonly image?: string;
  /** SHA-256 of the image in lower-case hex, where one is known. Then an image of another digest is not taken. */
  readonly digest?: string;
  /** Why, in words for people. */
  readonly reason?: string;
  /** Who wants it. */
  readonly by?: string;
  /** Since when. */
  readonly since?: string;
  /** When it lapses by itself; absent where only taking it off ends it. */
  readonly until?: string;
}

/**
 * Who lifted the last pin, when and why. drydock image release writes it together with the removal of the pin;
 * status.pins keeps it.
 */
export interface BootImageSpecLifted {
  /** Who lifted it. */
  readonly by?: string;
  /** When it was lifted. */
  readonly since?: string;
  /** Why, in words for people. */
  readonly reason?: string;
}

/**
 * What was observed and done. Strings with documented values are free strings, and lists are maps or sets, so that an
 * older schema never refuses what a newer controller wrote.
 */
export interface BootImageStatus {
  /** The metadata.generation that this status was computed from. */
  readonly observedGeneration?: number;
  /** Platform in lower case, for example vsphere, aws, azure, gcp. */
  readonly platform?: string;
  /**
   * The set as people write it: a short kind, a slash and the name, for example ms/worker-a, cpms/cluster or
   * capi-md/worker-b.
   */
  readonly set?: string;
  /** The release, or the image where no release is known, that new machines start from now. */
  readonly current?: string;
  /** The release that the cluster asks for; absent where nothing is asked for. */
  readonly target?: string;
  /** Name of the BootImagePolicy that decides about the set; absent where none does. */
  readonly policy?: string;
  /**
   * One word of nine. Pending: seen, not yet looked at. Downloading: the image is fetched and verified. Uploading: it
   * is written to the platform. Publishing: it is being made a template. Switching: the set is being pointed at it.
   * Current: new machines start from the target. Skipped: left alone on purpose. Blocked: waits for a person or for
   * the cluster. Failed: an attempt failed and will be repeated.
   */
  readonly phase?: string;
  /**
   * One cell of a table: share, rate and remaining time while bytes move (41% 0.9GB/s 38s), the reason in words when
   * the phase is Skipped, Blocked or Failed, what is wrong with the image where it is Current and not verified, else a
   * dash.
   */
  readonly progress?: string;
  /** The numbers behind progress, while bytes move. */
  readonly progressDetail?: BootImageStatusProgressDetail;
  /** When the phase was entered. */
  readonly since?: string;
  /** The release that a revert would go back to; absent where there is no way back. */
  readonly revertTo?: string;
  /** Why the phase is what it is, as one CamelCase word. */
  readonly reason?: string;
  /** The same in a sentence that names the object concerned. */
  readonly message?: string;
  /** What a person can do next, as a sentence or a command; absent where there is nothing to do. */
  readonly nextStep?: string;
  /**
   * The import that was about to start when this was written. It is written before the first byte, and stays until its
   * outcome was observed.
   */
  readonly operation?: BootImageStatusOperation;
  /** The template that the set's new machines are cloned from, on platforms that have templates. */
  readonly template?: BootImageStatusTemplate;
  /**
   * The last image that a machine was made from before the set was to be pointed at it, and what became of that
   * machine.
   */
  readonly canary?: BootImageStatusCanary;
  /**
   * Moves to one target in a row, counted because somebody else may take the image back each time. The fourth is
   * refused, and counted. It starts anew with another target, when the set is left alone, and when somebody else moves
   * it to the target.
   */
  readonly attempts?: BootImageStatusAttempts;
  /**
   * Who published images that the set has, is to have or had, as the cloud or the release said it: an answer that can
   * be missed later decides whether an image may be replaced.
   */
  readonly origins?: readonly BootImageStatusOrigin[];
  /** The images that new machines started from, the newest first, at most 20. The first is the one in use. */
  readonly history?: readonly BootImageStatusHistoryItem[];
  /** The pins that the set had, the newest first, at most 20. An entry stays when its pin is lifted. */
  readonly pins?: readonly BootImageStatusPin[];
  /**
   * Conditions by type: UpToDate, Progressing, Blocked, Pinned where a pin is obeyed, Paused where a person wants
   * nothing to be begun and nobody leads, StubTrusted (whether new machines trust machine-config-server), and on
   * clouds Verified. Verified is True where machines are known to start from the image, False where they are known not
   * to, and Unknown where nobody could look, with what is missing in the message. It speaks of the target while the
   * set is being moved to it or waits for it, else of the current image.
   */
  readonly conditions?: readonly BootImageStatusCondition[];
}

/** The numbers behind progress, while bytes move. */
export interface BootImageStatusProgressDetail {
  /** Bytes done. */
  readonly bytes?: number;
  /** Bytes in all; absent while unknown. */
  readonly total?: number;
  /** Bytes per second over the last seconds. */
  readonly rate?: number;
  /** Seconds that remain at this rate. */
  readonly etaSeconds?: number;
}

/**
 * The import that was about to start when this was written. It is written before the first byte, and stays until its
 * outcome was observed.
 */
export interface BootImageStatusOperation {
  /** Identifier of the operation, also part of the object's name. */
  readonly id?: string;
  /** The unique name under which the object is made. */
  readonly name?: string;
  /** Identity of the Lease holder that started it. */
  readonly holder?: string;
  /** The UUID chosen for the virtual machine that is imported. */
  readonly instanceUuid?: string;
  /** When it was announced. */
  readonly startedAt?: string;
}

/** The template that the set's new machines are cloned from, on platforms that have templates. */
export interface BootImageStatusTemplate {
  /** Host name of the vCenter. */
  readonly server?: string;
  /** Name of the template. */
  readonly name?: string;
  /** Release of the image in it. */
  readonly release?: string;
  /** SHA-256 of the image that it was made from, in lower-case hex; absent where nobody knows it. */
  readonly digest?: string;
  /** Name under which a rename swap kept the template before it; absent where none was replaced under its name. */
  readonly retired?: string;
  /** How long that swap left the name without a template, as the controller saw it. */
  readonly absentMilliseconds?: number;
}

/** The last image that a machine was made from before the set was to be pointed at it, and what became of that machine. */
export interface BootImageStatusCanary {
  /** What was tried, as a hash over policy, place, stub and image; another one of these is another canary. */
  readonly group?: string;
  /** Name of the machine. */
  readonly machine?: string;
  /** The image, as the set would refer to it. */
  readonly image?: string;
  /**
   * Passed: the machine became a node that is ready. Failed: it did not, and the image is not tried again. Absent
   * while it is tried.
   */
  readonly verdict?: string;
  /** What was seen last, in a sentence. */
  readonly message?: string;
}

/**
 * Moves to one target in a row, counted because somebody else may take the image back each time. The fourth is
 * refused, and counted. It starts anew with another target, when the set is left alone, and when somebody else moves
 * it to the target.
 */
export interface BootImageStatusAttempts {
  /** What the set was moved to. */
  readonly target?: string;
  /** How often in a row; more than 3 where a move was refused. */
  readonly count?: number;
  /** The field manager that took the image back, where it is known. */
  readonly by?: string;
}

export interface BootImageStatusOrigin {
  /** The image as the set refers to it, for example an AMI. */
  readonly image: string;
  /** Account that published it. */
  readonly owner?: string;
  /** Id of its product in a marketplace; absent where it has none. */
  readonly product?: string;
}

export interface BootImageStatusHistoryItem {
  /** Identifier of the operation that made the image, or of the move where none did. */
  readonly id: string;
  /** The release, or the image where no release is known. */
  readonly release?: string;
  /** The image as the set referred to it, without its folder. */
  readonly image?: string;
  /** SHA-256 of the image in lower-case hex; absent where nobody knows it. */
  readonly digest?: string;
  /** Where machines were made from it, for example vCenter and folder, region, project. */
  readonly place?: string;
  /** When it was first seen in use. */
  readonly since?: string;
  /** When another one was first seen in use; absent for the one in use. */
  readonly until?: string;
  /**
   * What put it there. found: the set had it when it was first looked at. release: the cluster's release asked for it.
   * revert: a pin did. unknown, or the field manager of somebody else.
   */
  readonly by?: string;
  /** Who pinned the set to it; absent where no pin put it there. */
  readonly pinnedBy?: string;
  /** Why it was pinned, in the words of that person. */
  readonly pinReason?: string;
  /**
   * What became of it. InUse; Replaced by another; RevertedFrom: a pin took the set off it. What a canary refused is
   * none of these: no set had it.
   */
  readonly outcome?: string;
  /**
   * Whether the set can be pointed at it again without an upload, as it was last looked at; absent where nobody has
   * looked.
   */
  readonly revertable?: boolean;
  /** Why it cannot, as a clause; absent where it can, or nobody has looked. */
  readonly why?: string;
}

export interface BootImageStatusPin {
  /** Identifier of the entry. */
  readonly id: string;
  /** The image version that was pinned. */
  readonly release?: string;
  /** The image that was pinned, as status.history has it. */
  readonly image?: string;
  /** Who pinned it. */
  readonly by?: string;
  /** Why it was pinned, in the words of that person. */
  readonly reason?: string;
  /** Since when it is pinned, or when the pin was first seen. */
  readonly since?: string;
  /** When the pin was to lapse. */
  readonly until?: string;
  /** When the pin was lifted or lapsed; absent while it holds. */
  readonly liftedAt?: string;
  /**
   * Who lifted it: the person that spec.lifted names, the author of the pin that replaced it, drydock where it lapsed,
   * the field manager of another client that removed spec.pin, or unknown where that client left none, such as kubectl
   * edit.
   */
  readonly liftedBy?: string;
  /** Why it was lifted, in the words of that person; what happened where nobody gave a reason. */
  readonly liftedReason?: string;
}

export interface BootImageStatusCondition {
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

/** The kind BootImage of drydock.dev/v1alpha1. */
export const BootImage: Resource<BootImage> = {
  group: 'drydock.dev',
  version: 'v1alpha1',
  kind: 'BootImage',
  plural: 'bootimages',
  scope: 'Namespaced',
};
