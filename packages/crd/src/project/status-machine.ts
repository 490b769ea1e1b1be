import { valueAt } from '../preflight/preflight-object.ts';
import { equal, isObject, type JsonObject } from '../schema/json.ts';
import type { CrdVersion } from '../schema/schema.ts';
import { versionHash } from '../schema/schema-hash.ts';
import { isLeftOut } from './ledger.ts';
import { isSameLoss, type LedgerEntry } from './ledger-record.ts';
import { type Loss, losses } from './losses.ts';
import { type Projection, type ProjectOptions, project, type Refused } from './project.ts';
import { readRefusal, type ServerCause } from './server-cause.ts';

/** What a writer knows. */
export interface StatusWorld {
  /** The whole status that is meant. It is never reduced; only its projection is. */
  readonly intent: JsonObject;
  readonly object: JsonObject;
  readonly live: CrdVersion;
  /** What is saved of this object. */
  readonly ledger: readonly LedgerEntry[];
  readonly minor?: number;
  readonly core?: readonly string[];
}

/** What became of the last step. */
export type WriteAnswer =
  | { readonly kind: 'ok' }
  /** The ledger is saved; the world that comes with this has it. */
  | { readonly kind: 'recorded' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'invalid'; readonly causes: readonly ServerCause[] }
  /** 404 of the subresource; the object itself is there. */
  | { readonly kind: 'noSubresource' }
  /** 5xx, or a webhook that did not answer. `sinceMs`: how long it has been failing. */
  | { readonly kind: 'failed'; readonly sinceMs: number };

/** What is to be done next. */
export type StatusStep =
  /** The projection is what is stored already. */
  | { readonly kind: 'skip' }
  /** Save these losses, beside what is saved already, before anything is taken out of the stored status. */
  | { readonly kind: 'record'; readonly lost: readonly Loss[] }
  | { readonly kind: 'put'; readonly endpoint: 'status' | 'main'; readonly status: JsonObject }
  /** Read the object again and start over with it. */
  | { readonly kind: 'refetch' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Written. Only these losses are left: values that are legal again are written again. */
  | { readonly kind: 'done'; readonly lost: readonly Loss[] }
  /** Nothing of ours helps. Say so where this schema has no say; try again when the definition or the object changes, and after `retryMs`. */
  | { readonly kind: 'blocked'; readonly why: string; readonly causes: readonly string[]; readonly retryMs: number };

/** Where a write stands; a plain value. */
export interface StatusState {
  readonly refused: readonly Refused[];
  readonly round: number;
  readonly conflicts: number;
  readonly endpoint: 'status' | 'main';
  readonly recorded: boolean;
}

/** Rounds of refusals before the writer is blocked, conflicts before it waits, and how long (ms) it goes without an answer before it says so. */
const ROUNDS = 6;
const CONFLICTS = 5;
const SILENCE = 60_000;
const RETRY = 30_000;

/** The start of a write. */
export const START: StatusState = { refused: [], round: 0, conflicts: 0, endpoint: 'status', recorded: false };

/** The next step of writing a status, from what is known and from what became of the last step (undefined at first). Pure: the same inputs give the same step. */
export function nextWrite(
  state: StatusState,
  world: StatusWorld,
  answer?: WriteAnswer,
): { readonly state: StatusState; readonly step: StatusStep } {
  switch (answer?.kind) {
    case undefined:
      return attempt(state, world);
    case 'ok': {
      const projection = projectionOf(state, world);
      // What is not meant any more need not be known any longer.
      return {
        state: { ...state, refused: projection.heeded },
        step: { kind: 'done', lost: lossesOf(world, projection) },
      };
    }
    case 'recorded':
      return attempt({ ...state, recorded: true }, world);
    case 'conflict':
      return state.conflicts < CONFLICTS
        ? { state: { ...state, conflicts: state.conflicts + 1, recorded: false }, step: { kind: 'refetch' } }
        : { state: { ...START, endpoint: state.endpoint }, step: { kind: 'wait', ms: 1000 } };
    case 'noSubresource':
      return state.endpoint === 'main'
        ? blocked(state, 'the resource takes no status', [])
        : attempt({ ...state, endpoint: 'main' }, world);
    case 'failed':
      return answer.sinceMs < SILENCE
        ? { state, step: { kind: 'wait', ms: 1000 } }
        : blocked(state, 'the server does not answer', []);
    case 'invalid':
      return refusedBy(answer.causes, state, world);
  }
}

/** Another round without what the server named, if it named anything new. */
function refusedBy(
  causes: readonly ServerCause[],
  state: StatusState,
  world: StatusWorld,
): ReturnType<typeof nextWrite> {
  const sent = projectionOf(state, world).status;
  const object = { ...world.object, status: sent };
  const said = causes.map(({ field = '', reason = '' }) => `${field} ${reason}`.trim());
  const round = (state.refused.at(-1)?.round ?? 0) + 1;
  const fresh = readRefusal(causes, object)
    .causes.map((cause): Refused => ({ ...cause, value: valueAt(object, cause.owner), round }))
    .filter((cause) => !state.refused.some((before) => isSameRefusal(before, cause)));
  if (fresh.length === 0) return blocked(state, 'the server refuses what it refused before', said);
  if (state.round + 1 >= ROUNDS) return blocked(state, `the server refuses after ${ROUNDS} rounds`, said);
  const next = { ...state, refused: [...state.refused, ...fresh], round: state.round + 1, recorded: false };
  const projection = projectionOf(next, world);
  // A round that would send the same is none.
  if (equal(projection.status, sent)) return blocked(next, 'nothing that may be left out makes the status legal', said);
  return attempt(next, world);
}

function isSameRefusal(a: Refused, b: Refused): boolean {
  return a.reason === b.reason && a.message === b.message && equal([...a.path], [...b.path]) && equal(a.value, b.value);
}

function attempt(state: StatusState, world: StatusWorld): ReturnType<typeof nextWrite> {
  const projection = projectionOf(state, world);
  const lost = lossesOf(world, projection);
  const stored = statusOf(world);
  const same = equal(world.object['status'], projection.status);
  const hash = versionHash(world.live);
  const isSaved = (loss: Loss): boolean =>
    world.ledger.some((entry) => entry.schemaHash === hash && isSameLoss(entry, loss));
  // A value that is still stored is recorded anew, so that whoever tidies up sees that a cut may follow.
  const goes = (loss: Loss): boolean => !same && !isLeftOut(stored, loss, world.live.schema);
  if (!state.recorded && lost.some((loss) => !isSaved(loss) || goes(loss)))
    return { state, step: { kind: 'record', lost } };
  const settled = { ...state, recorded: true };
  if (!same) return { state: settled, step: { kind: 'put', endpoint: state.endpoint, status: projection.status } };
  return { state: settled, step: lost.length < world.ledger.length ? { kind: 'done', lost } : { kind: 'skip' } };
}

function blocked(state: StatusState, why: string, causes: readonly string[]): ReturnType<typeof nextWrite> {
  return { state, step: { kind: 'blocked', why, causes, retryMs: RETRY } };
}

/** The last one of each world: what was sent is asked for again when it has arrived. */
const known = new WeakMap<StatusWorld, { readonly refused: readonly Refused[]; readonly projection: Projection }>();

function projectionOf({ refused }: StatusState, world: StatusWorld): Projection {
  const last = known.get(world);
  if (last?.refused === refused) return last.projection;
  const projection = projected(refused, world);
  known.set(world, { refused, projection });
  return projection;
}

function projected(refused: readonly Refused[], { intent, object, live, minor, core }: StatusWorld): Projection {
  const options: ProjectOptions = {
    live,
    refused,
    ...(minor === undefined ? {} : { minor }),
    ...(core === undefined ? {} : { core }),
  };
  return project(intent, object, options);
}

function lossesOf({ intent }: StatusWorld, { status }: Projection): readonly Loss[] {
  return losses(intent, status);
}

function statusOf({ object }: StatusWorld): JsonObject {
  const { status } = object;
  return isObject(status) ? status : {};
}
