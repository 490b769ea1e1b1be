import type { Client } from '@drydock/kube';
import { type CanaryMemory, canaryMemory } from '../canary/canaries.ts';
import type { ImageThere } from '../image-facts.ts';
import type { KeptSet } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { Platform } from '../platform.ts';
import type { Platforms } from '../platforms.ts';
import type { PassResult } from '../skew/record.ts';
import type { ConditionLike } from '../status/conditions.ts';
import { type Counters, zeroCounters } from '../status/counters.ts';
import type { SetOutcome } from '../status/subject.ts';
import type { AskServer } from '../user-data/machine-config-server.ts';
import type { StubTrustMemory } from '../user-data/stub-trust.ts';
import type { StubSecret } from '../user-data/user-data.ts';
import type { Pin } from '../way-back/pin.ts';
import type { PassBounds } from './bounds.ts';
import { type Attempts, createHotLoop, type HotLoop } from './hot-loop.ts';
import { createRetries, type Retries } from './retries.ts';
import type { StoryReason } from './update.ts';

/** So many sets are written to at a time, where nothing else is waited for: a write takes a server the time of a disk, and the next one need not wait for it. */
export const WRITES_AT_ONCE = 16;

/** What a pass can be told. */
export interface PassSettings {
  /** Sets and publications at a time. Default 4, and {@link WRITES_AT_ONCE} of what only the API server is asked. */
  readonly concurrency?: number | undefined;
  /** Least time between two progress writes of one set. Default 1000. */
  readonly progressMs?: number | undefined;
  /** How often a machine that tries an image is looked at, in ms. Default 10,000. */
  readonly canaryPollMs?: number | undefined;
  /** See {@link StubSecret}. Default 'InPlace'. */
  readonly stubSecret?: StubSecret | undefined;
  /** How long after a switch nothing is collected: machines of the old set may still be on their way. Default 60,000. */
  readonly collectAfterMs?: number | undefined;
}

/** What a pass reads from and writes to. */
export interface PassPorts extends PassSettings {
  readonly world: World;
  readonly client: Client;
  /** By `Infrastructure.status.platformStatus.type`. */
  readonly platforms: Platforms;
  /** Puts these conditions into MachineConfiguration's status, and with a pass that ended what it says of the oldest image in use. */
  readonly writeConditions: (conditions: readonly ConditionLike[], ended?: PassResult) => Promise<void>;
  /** Writes the BootImage of a set. */
  readonly report: (set: KeptSet, outcome: SetOutcome) => Promise<void>;
  readonly event: (set: KeptSet, reason: StoryReason, note: string) => void;
  readonly warn: (message: string, error?: unknown) => void;
  /** Tells who else changed the image of a set, as far as that is known, and counts it. */
  readonly foreignWriter: (
    set: KeptSet,
    platform: Platform,
    options: { readonly signal?: AbortSignal | undefined },
  ) => Promise<string | undefined>;
  /** A move was refused as one of a hot loop. */
  readonly refused: (set: KeptSet) => void;
  /** A step of an update ended well. */
  readonly step: (step: string, seconds: number) => void;
  readonly now: () => Date;
  /** Monotonic ms. Default: the machine's. */
  readonly elapsed?: (() => number) | undefined;
  /** See `StubTrustPorts.askServer`. */
  readonly askServer?: AskServer | undefined;
  /** RPM name of the architecture of single-architecture clusters. */
  readonly architecture: string;
  /** Absent: whatever is to be done is done. */
  readonly bounds?: PassBounds;
}

/** What one process remembers between passes, by `idOf` the sets; losing it costs nothing but a repeated look. */
export interface PassState {
  readonly hotLoop: HotLoop;
  readonly retries: Retries;
  /** Images that sets were pointed at, until the cache shows it. */
  readonly pointed: Map<string, string>;
  /** Sets that the last pass looked at: an event about them is dealt with, whatever became of the rest of the pass. */
  readonly looked: Set<string>;
  /** Sets whose image somebody besides us changed, until it was asked who. */
  readonly foreign: Set<string>;
  /** Who that was, where it is known, until the set is moved again. */
  readonly writers: Map<string, string>;
  /** The version in which each set was moved last: what is read in that version is of before. */
  readonly moved: Map<string, string>;
  readonly canaries: CanaryMemory;
  readonly waysBack: WaysBack;
  /** The pin that each set was decided by last. */
  readonly pins: Map<string, Pin | undefined>;
  /** See `UpdatePorts.left`. */
  readonly left: Map<string, string>;
  /** When the old stub of each user-data Secret was looked at, see `collectOldStubs`. */
  readonly oldStubs: Map<string, number>;
  /** What was found out about stubs. */
  readonly stubTrusts: StubTrustMemory;
  counters: Counters;
  /** Why nothing may be changed, as it was last logged. */
  refusal: string | undefined;
  waitingSince: number | undefined;
  quietSince: number;
}

/** A fresh memory; `recorded` is what an earlier process counted of the moves of a set. */
export function createPassState(now: Date, recorded?: (set: KeptSet) => Attempts | undefined): PassState {
  return {
    hotLoop: createHotLoop(recorded),
    retries: createRetries(),
    pointed: new Map(),
    looked: new Set(),
    foreign: new Set(),
    writers: new Map(),
    moved: new Map(),
    pins: new Map(),
    canaries: canaryMemory(),
    waysBack: createWaysBack(),
    left: new Map(),
    oldStubs: new Map(),
    stubTrusts: new Map(),
    refusal: undefined,
    counters: zeroCounters,
    waitingSince: undefined,
    quietSince: now.getTime(),
  };
}

/** What was found in the places of sets when these were last looked at. */
export interface WaysBack {
  /** Images that are there for a set. True where that is news. */
  readonly found: (set: string, images: readonly ImageThere[]) => boolean;
  /** What was found before lacks the template that the set came from. */
  readonly switched: (set: string) => void;
  /** The outcome with what was found. */
  readonly told: (set: string, outcome: SetOutcome) => SetOutcome;
  /** Forgets sets that are not among these. */
  readonly keep: (sets: ReadonlySet<string>) => void;
}

/** An empty memory: until a place was looked at nothing is said of it. */
export function createWaysBack(): WaysBack {
  const known = new Map<string, readonly ImageThere[]>();
  return {
    found: (set, images) => {
      const before = known.get(set);
      known.set(set, images);
      return before === undefined || namesIn(before) !== namesIn(images);
    },
    switched: (set) => void known.delete(set),
    told: (set, outcome) => {
      const there = known.get(set);
      return there === undefined || outcome.current === undefined ? outcome : { ...outcome, there };
    },
    keep: (sets) => {
      for (const set of known.keys()) if (!sets.has(set)) known.delete(set);
    },
  };
}

function namesIn(images: readonly ImageThere[]): string {
  return JSON.stringify(
    images.map(({ image, release, refused = '' }) => [image, release, refused].join(' ')).toSorted(),
  );
}
