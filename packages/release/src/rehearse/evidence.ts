import type { Era, JsonObject } from '@drydock/crd';
import { type Exercise, exercisesFor, type Unexercised } from './exercise.ts';
import type { Pace } from './pace.ts';
import type { KeptValue, Snapshot } from './snapshot.ts';
import type { Stage } from './stage.ts';
import type { RehearsedObject } from './subject.ts';

/** What happens besides, while the way back is gone. `managers`: there are two, and the one that leads is killed. `servers`: the API server is killed, and one of another kind comes up. `legacy`: operators look at no schema, until somebody mends them. */
export const BESIDES = ['managers', 'servers', 'legacy'] as const;
/** See {@link BESIDES}. */
export type Besides = (typeof BESIDES)[number];

/** Definitions that stayed at the bridge because of their operators. */
export interface KeptAtBridge {
  readonly definitions: readonly string[];
  /** What RollbackIncomplete says; '' where it did not come. */
  readonly said: string;
}

/** Phases of a rehearsal, in their order. */
export const SCENES = ['Older', 'Forward', 'Use', 'Back', 'Idle', 'Again', 'Control'] as const;
/** See {@link SCENES}. */
export type Scene = (typeof SCENES)[number];

/** When a scene began and ended, in ms since the epoch. */
export interface SceneTime {
  readonly scene: Scene;
  readonly from: number;
  to: number;
}

/** Everything that was found out while a way was gone there and back, and there again. */
export interface Evidence {
  readonly scenes: SceneTime[];
  readonly exercises: readonly Exercise[];
  readonly unexercised: readonly Unexercised[];
  /** What says which release is wanted, as it was at the end of scenes. */
  readonly subjects: Map<Scene, RehearsedObject>;
  /** Its key in snapshots; undefined: it is in none. */
  readonly managed: string | undefined;
  readonly snapshots: Map<Scene, Snapshot>;
  /** What ledgers kept after the way back. */
  kept: readonly KeptValue[];
  /** Who was killed on the way back, and when. */
  readonly killed: string[];
  /** The API server was among them. */
  serverKilled: boolean;
  /** What operators that nobody can tell held up, before they were mended; undefined: there are none. */
  heldUp: KeptAtBridge | undefined;
  /** ms until the manager had seen what was wanted, by scene. */
  readonly acknowledged: Map<Scene, number>;
  /** Share of operators that acted as the newer release when the way back was asked for. */
  reached: number;
  /** Failures of a webhook that nobody answered, while going back. */
  webhookFailures: readonly string[];
  /** Objects of the newer release alone that were there after the way back. */
  left: readonly string[];
  /** Keys of the ConfigMap that both bring, and of the one that the newer deletes, after the way back. */
  settings: readonly string[];
  retired: readonly string[];
}

/** What a play follows. */
export interface Script {
  readonly era: Era;
  /** Share of operators, in percent, at which the way forward is broken off. */
  readonly abortAt: number;
  readonly seed: number;
  readonly objects: readonly JsonObject[];
  readonly besides: readonly Besides[];
  readonly pace: Pace;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Places of a definition that are exercised at most. */
const MOST = 4;
/** Begins a scene; whatever ran before has ended. */
export function begin(evidence: Evidence, scene: Scene): SceneTime {
  const now = Date.now();
  const last = evidence.scenes.at(-1);
  if (last !== undefined) last.to = now;
  const time = { scene, from: now, to: now };
  evidence.scenes.push(time);
  return time;
}

/** What is known before anything has happened. */
export function noEvidence(stage: Pick<Stage, 'older' | 'newer' | 'subject'>, script: Script): Evidence {
  const found = [...stage.newer.crds].flatMap(([name, newer]) => {
    const older = stage.older.crds.get(name);
    return older === undefined ? [] : [exercisesFor(older, newer, { seed: script.seed, most: MOST })];
  });
  return {
    exercises: found.flatMap(({ exercises }) => exercises),
    unexercised: found.flatMap(({ unexercised }) => unexercised),
    ...{ scenes: [], subjects: new Map(), snapshots: new Map(), kept: [], acknowledged: new Map(), reached: 0 },
    ...{ managed: stage.subject.key, killed: [], serverKilled: false, heldUp: undefined },
    ...{ webhookFailures: [], left: [], settings: [], retired: [] },
  };
}
