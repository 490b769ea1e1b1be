import type { BootImageStatusCanary } from '@drydock/api';
import type { StubTrust } from './stub-authority.ts';

/** Whether the image that new machines start from is known to start where the set makes them. */
export interface Verified {
  /** `Unknown`: nobody could look. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** One CamelCase word. */
  readonly reason: string;
  /** A sentence that names the image. */
  readonly message: string;
}

/** The image as people name it, before and after. */
export interface ImageFacts {
  /** Release, or image name where no release is known, that new machines start from now. */
  readonly current?: string;
  /** The same of what the cluster asks for. */
  readonly target?: string;
  readonly template?: TemplateFacts;
  /** What is in the place of the set to be pointed at; absent where nobody has looked. */
  readonly there?: readonly ImageThere[];
  /** The image as `Platform.recordOf` says it, where it is newer than the set that was read. */
  readonly movedTo?: string;
  /** The set was moved, and what was read of it is of before. */
  readonly stale?: boolean;
  /** Who published the image of the set, and the one that it is to have, where that is known. */
  readonly origins?: readonly ImageOrigin[];
  /** A pin says what the set is to have. */
  readonly pinned?: boolean;
  /** The field manager that changed the image of the set, where somebody else did and that is known. */
  readonly changedBy?: string;
  /** Why what is there is not used although it has the release that is asked for, as a clause. */
  readonly because?: string;
  /** Of the target where the set is to be switched, else of the current image; absent where nobody has looked. */
  readonly verified?: Verified;
  /** Whether its machines trust the server that they get their configuration from; absent where they ask none, or where nobody has looked. */
  readonly stub?: StubTrust;
  /** What a move that cannot be made now would aim at, as attempts name it. */
  readonly aim?: string;
  /** What a pass counts of its moves; {@link noAttempts} where nothing is, absent where no pass says so. */
  readonly attempts?: { readonly target: string; readonly count: number; readonly by?: string };
  /** The machine that was made to try the target. */
  readonly canary?: BootImageStatusCanary;
  /** RHCOS version of an image whose release is not the cluster's own, as those of a marketplace: it counts for the record of the oldest image in use. */
  readonly marketplaceVersion?: string;
}

/** Who published an image. That never changes. */
export interface ImageOrigin {
  /** As `Platform.imageOf` says it. */
  readonly image: string;
  /** Account. */
  readonly owner: string;
  /** Id of its product in a marketplace. */
  readonly product?: string;
}

/** Nothing is counted of a set. */
export const noAttempts: NonNullable<ImageFacts['attempts']> = { target: '', count: 0 };

/** An image in the place of a set. */
export interface ImageThere {
  /** As `Platform.recordOf` says it. */
  readonly image: string;
  readonly release: string;
  readonly digest?: string;
  /** The name that it had or has for others. */
  readonly stableName?: string;
  /** Why the set cannot be pointed at it all the same, as a clause. */
  readonly refused?: string;
}

/** A template as people see it. */
export interface TemplateFacts {
  readonly server: string;
  readonly name: string;
  readonly release?: string;
  /** Of the image that it was made from. */
  readonly digest?: string;
  /** Where it took over its name: what became of the template before it, and for how long the name was free. */
  readonly retired?: string;
  readonly absentMilliseconds?: number;
}

/** The facts among whatever else `of` says. */
export function factsOf(of: ImageFacts): ImageFacts {
  const { current, target, template, because, verified, marketplaceVersion, changedBy, pinned, origins, stub } = of;
  return {
    ...(changedBy === undefined ? {} : { changedBy }),
    ...(pinned === undefined ? {} : { pinned }),
    ...(origins === undefined ? {} : { origins }),
    ...(current === undefined ? {} : { current }),
    ...(target === undefined ? {} : { target }),
    ...(template === undefined ? {} : { template }),
    ...(because === undefined ? {} : { because }),
    ...(verified === undefined ? {} : { verified }),
    ...(stub === undefined ? {} : { stub }),
    ...(marketplaceVersion === undefined ? {} : { marketplaceVersion }),
  };
}
