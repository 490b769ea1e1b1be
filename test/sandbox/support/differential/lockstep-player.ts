import { type NormalAnswer, normalAnswer, watchBody } from './answer-normal.ts';
import { compareAnswers, type Difference } from './differences.ts';
import type { ObjectKind, PlannedRequest } from './planned-request.ts';
import { serverNames } from './server-names.ts';
import type { ServerAnswer, ServerSide } from './server-side.ts';
import { type SideState, sideState } from './side-state.ts';
import { PATIENCE, watchComparison } from './watch-comparison.ts';

/** Why a difference is none that anybody has to mend; undefined for those that are. */
export type Explain = (difference: Difference) => string | undefined;

/** What came of a history. */
export interface HistoryOutcome {
  readonly requests: number;
  readonly events: number;
  /** Without an explanation, in the order of requests. */
  readonly differences: readonly Difference[];
  /** How often each explanation was needed. */
  readonly explained: ReadonlyMap<string, number>;
}

/** Plays the same requests on two servers, one after the other. */
export interface LockstepPlayer extends AsyncDisposable {
  /** Plays from empty pools, and empties them. Stops at `atMost` differences. */
  play(history: readonly PlannedRequest[], atMost?: number): Promise<HistoryOutcome>;
}

/** Requests between two comparisons of what watches saw. */
const EVENTS_EVERY = 20;

/** `reference` is right by definition; `tested` is held to it. */
export async function lockstepPlayer(
  reference: ServerSide,
  tested: ServerSide,
  kinds: readonly ObjectKind[],
  explain: Explain,
  patience: number = PATIENCE,
): Promise<LockstepPlayer> {
  const sides = [sideState(reference, serverNames()), sideState(tested, serverNames())] as const;
  const watches = await watchComparison(sides, kinds, patience);

  const ask = async (side: SideState, request: PlannedRequest): Promise<ServerAnswer> => {
    const answer = await side.send(request);
    return request.verb === 'watch' ? { ...answer, body: watchBody(answer.body) } : answer;
  };

  const step = async (request: PlannedRequest, at: number): Promise<Difference | undefined> => {
    const answers = await Promise.all(sides.map((side) => ask(side, request)));
    const [first, second] = sides.map((side, index) => {
      side.note(request, answers[index] as ServerAnswer);
      return normalAnswer(answers[index] as ServerAnswer, side.names);
    }) as [NormalAnswer, NormalAnswer];
    return compareAnswers(request, at, first, second);
  };

  /** Takes the objects of a request from both servers, so that what follows begins alike. */
  const level = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      await Promise.all(sides.map((side) => side.removeObject(path)));
      for (const key of new Set(sides.map((side) => side.keyOfPath(path)))) {
        const most = Math.max(...sides.map((side) => side.names.incarnations(key)));
        for (const side of sides) side.names.forget(key, most);
      }
    }
  };

  const written = (): readonly string[] => [...new Set(sides.flatMap((side) => side.written()))].toSorted();

  return {
    play: async (history, atMost = Number.POSITIVE_INFINITY) => {
      const differences: Difference[] = [];
      const explained = new Map<string, number>();
      let events = 0;
      let requests = 0;
      const judge = (difference: Difference): void => {
        const why = explain(difference);
        if (why === undefined) differences.push(difference);
        else explained.set(why, (explained.get(why) ?? 0) + 1);
      };
      for (const [at, request] of history.entries()) {
        requests += 1;
        const difference = await step(request, at);
        if (difference !== undefined) {
          judge(difference);
          const about = sides[0].objectPaths(request, written());
          if (request.method !== 'GET') await level(about);
        }
        if (differences.length >= atMost) break;
        if (at % EVENTS_EVERY !== EVENTS_EVERY - 1 && at !== history.length - 1) continue;
        const seen = await watches.compare(request, at);
        events += seen.events;
        for (const one of seen.differences) judge(one);
        if (differences.length >= atMost) break;
      }
      await level(written());
      for (const side of sides) side.begin();
      return { requests, events, differences, explained };
    },
    [Symbol.asyncDispose]: async () => {
      await watches[Symbol.asyncDispose]();
    },
  };
}
