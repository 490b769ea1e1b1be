import type { ImageFacts } from '../image-facts.ts';
import type { SetOutcome } from '../status/subject.ts';
import type { NoImage, WantedImage } from './catalogue.ts';
import type { VariablePlace } from './cluster-class.ts';
import type { ImageLeaf, NamedPath } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { RotatedSet } from './set.ts';

/** Everything that is read of the cluster about one set. */
export interface Rotation {
  readonly set: RotatedSet;
  /** Other sets that get their image from the same entry of their cluster's topology. */
  readonly siblings: readonly RotatedSet[];
  readonly cluster: ClusterApiObject | undefined;
  readonly clusterClass: ClusterApiObject | undefined;
  /** What the set refers to. */
  readonly template: ClusterApiObject | undefined;
  /** Templates of the same kind beside it, by name. */
  readonly beside: (name: string) => ClusterApiObject | undefined;
  /** Machines of the set that are about to be replaced because they are unhealthy. */
  readonly remediated: readonly string[];
  /** Who else manages the machines of this set; undefined where nobody does. */
  readonly otherAuthority: string | undefined;
}

/** What is wanted for a set, from policies and requests. */
export interface RotationWish {
  /** Why the set is left alone, as a few words, a sentence and what to do about it. */
  readonly leftAlone?: {
    readonly reason: string;
    readonly brief: string;
    readonly message: string;
    readonly nextStep: string;
  };
  /** Why nothing is done now, although it is wanted. */
  readonly waits?: {
    readonly reason: string;
    readonly brief: string;
    readonly message: string;
    readonly nextStep?: string;
  };
  /** `template`: what the set refers to; without it an image is called as it would be, and perhaps it is not for the set. */
  readonly image: (leaf: ImageLeaf, template?: ClusterApiObject) => WantedImage | NoImage;
  /** Nodes may be replaced. */
  readonly rollout: boolean;
  readonly imagePaths: readonly NamedPath[];
  /** The variable of a ClusterClass that may be changed. */
  readonly classVariable: string | undefined;
  /** The policy that says so, as kubectl names it; undefined where there is none. */
  readonly policy: string | undefined;
  /** A machine is to be made from an image before sets use it. */
  readonly canary?: RotationCanary;
}

/** How an image is tried. */
export interface RotationCanary {
  readonly policy: { readonly name: string; readonly uid: string | undefined; readonly generation: number | undefined };
  readonly timeoutMs: number;
  readonly keepOnFailure: boolean;
}

/** What is known of the wanted image where the set's machines are made. */
export interface ImageThere {
  /** What templates name it; undefined where it has to be published first. */
  readonly image: string | undefined;
  /** A machine was made from it, and became a node. */
  readonly tried?: boolean;
  /** The release of what the set's template names now, where that is known. */
  readonly current?: string;
}

/** The next step for a set. */
export type RotationStep =
  | { readonly kind: 'settled'; readonly outcome: SetOutcome }
  /** What is there of the image must be known first. */
  | { readonly kind: 'look'; readonly leaf: ImageLeaf; readonly image: WantedImage }
  | { readonly kind: 'publish'; readonly leaf: ImageLeaf; readonly image: WantedImage; readonly facts: ImageFacts }
  | {
      readonly kind: 'try';
      readonly leaf: ImageLeaf;
      /** As templates name it. */
      readonly image: string;
      readonly wish: RotationCanary;
      readonly facts: ImageFacts;
    }
  | { readonly kind: 'clone'; readonly template: ClusterApiObject; readonly facts: ImageFacts }
  /** The clone was about to be collected: from now on it is not. */
  | { readonly kind: 'keep'; readonly template: ClusterApiObject; readonly facts: ImageFacts }
  | { readonly kind: 'point'; readonly from: string; readonly to: string; readonly facts: ImageFacts }
  | {
      readonly kind: 'variable';
      readonly cluster: ClusterApiObject;
      readonly variable: string;
      readonly place: VariablePlace;
      readonly value: string;
      readonly facts: ImageFacts;
    };
