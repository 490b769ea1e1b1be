import type { MachineSet } from '@drydock/api';
import type { Client } from '@drydock/kube';
import type { SetOutcome } from './boot-image.ts';
import type { ConditionLike } from './conditions.ts';
import { type Counters, zeroCounters } from './counters.ts';
import { createHotLoop, type HotLoop } from './hot-loop.ts';
import type { Platform } from './platform.ts';
import { createRetries, type Retries } from './retries.ts';
import type { StoryReason } from './update.ts';
import type { World } from './world.ts';

/** What a pass reads from and writes to. */
export interface PassPorts {
  readonly world: World;
  readonly client: Client;
  /** By `Infrastructure.status.platformStatus.type`. */
  readonly platforms: ReadonlyMap<string, Platform>;
  /** Puts these conditions into MachineConfiguration's status. */
  readonly writeConditions: (conditions: readonly ConditionLike[]) => Promise<void>;
  /** Writes the BootImage of a set. */
  readonly report: (set: MachineSet, outcome: SetOutcome) => Promise<void>;
  readonly event: (set: MachineSet, reason: StoryReason, note: string) => void;
  readonly warn: (message: string, error: unknown) => void;
  readonly now: () => Date;
  /** RPM name of the architecture of single-architecture clusters. */
  readonly architecture: string;
  /** Sets and publications at a time. Default 4. */
  readonly concurrency?: number;
  /** Least time between two progress writes of one set. Default 1000. */
  readonly progressMs?: number;
  /** How long after a switch nothing is collected: machines of the old set may still be on their way. Default 60,000. */
  readonly collectAfterMs?: number;
}

/** What one process remembers between passes; losing it costs nothing but a repeated look. */
export interface PassState {
  readonly hotLoop: HotLoop;
  readonly retries: Retries;
  /** Images that sets were pointed at, until the cache shows it. */
  readonly pointed: Map<string, string>;
  counters: Counters;
  waitingSince: number | undefined;
  quietSince: number;
}

/** A fresh memory. */
export function createPassState(now: Date): PassState {
  return {
    hotLoop: createHotLoop(),
    retries: createRetries(),
    pointed: new Map(),
    counters: zeroCounters,
    waitingSince: undefined,
    quietSince: now.getTime(),
  };
}
