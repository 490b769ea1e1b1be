import type { Cause } from './cause.ts';
import { equal, type JsonObject } from './json.ts';
import { pathText } from './path.ts';
import { type Projection, type ProjectOptions, project } from './project.ts';
import { type LedgerEntry, ledgerAfter } from './quarantine.ts';
import type { CrdVersion } from './schema.ts';
import { schemaHash } from './schema-hash.ts';
import { readRefusal, type ServerCause } from './server-cause.ts';

/** What a writer knows. */
export interface StatusWorld {
  /** The whole status that is meant. It is never reduced; only its projection is. */
  readonly intent: JsonObject;
  readonly object: JsonObject;
  readonly live: CrdVersion;
  readonly ledger: readonly LedgerEntry[];
  /** RFC 3339. */
  readonly now: string;
  /** Who writes, for the ledger. */
  readonly release?: string;
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
  /** Save this ledger before anything is taken out of the stored status. */
  | { readonly kind: 'record'; readonly ledger: readonly LedgerEntry[] }
  | { readonly kind: 'put'; readonly endpoint: 'status' | 'main'; readonly status: JsonObject }
  /** Read the object again and start over with it. */
  | { readonly kind: 'refetch' }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Written. The ledger may have become smaller: values that are legal again are written again. */
  | { readonly kind: 'done'; readonly ledger: readonly LedgerEntry[] }
  /** Nothing of ours helps. Say so where this schema has no say; try again when the definition or the object changes, and after `retryMs`. */
  | { readonly kind: 'blocked'; readonly why: string; readonly causes: readonly string[]; readonly retryMs: number };

/** Where a write stands; a plain value. */
export interface StatusState {
  readonly refused: readonly Cause[];
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
    case 'ok':
      return { state, step: { kind: 'done', ledger: ledgerOf(world, projectionOf(state, world)) } };
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
  const refusal = readRefusal(causes, { ...world.object, status: sent });
  const said = causes.map(({ field = '', reason = '' }) => `${field} ${reason}`.trim());
  const before = new Set(state.refused.map(keyOf));
  const fresh = refusal.causes.filter((cause) => !before.has(keyOf(cause)));
  if (fresh.length === 0) return blocked(state, 'the server refuses what it refused before', said);
  if (state.round + 1 >= ROUNDS) return blocked(state, `the server refuses after ${ROUNDS} rounds`, said);
  const next = { ...state, refused: [...state.refused, ...fresh], round: state.round + 1, recorded: false };
  const projection = projectionOf(next, world);
  // A round that would send the same is none.
  if (equal(projection.status, sent)) return blocked(next, 'nothing that may be left out makes the status legal', said);
  return attempt(next, world);
}

function keyOf({ path, reason, message }: Cause): string {
  return `${pathText(path)} ${reason} ${message}`;
}

function attempt(state: StatusState, world: StatusWorld): ReturnType<typeof nextWrite> {
  const projection = projectionOf(state, world);
  if (!state.recorded && needsRecord(world, projection))
    return { state, step: { kind: 'record', ledger: [...world.ledger, ...additions(world, projection)] } };
  const settled = { ...state, recorded: true };
  if (equal(world.object['status'], projection.status)) {
    const ledger = ledgerOf(world, projection);
    return { state: settled, step: ledger.length < world.ledger.length ? { kind: 'done', ledger } : { kind: 'skip' } };
  }
  return { state: settled, step: { kind: 'put', endpoint: state.endpoint, status: projection.status } };
}

function blocked(state: StatusState, why: string, causes: readonly string[]): ReturnType<typeof nextWrite> {
  return { state, step: { kind: 'blocked', why, causes, retryMs: RETRY } };
}

function projectionOf(state: StatusState, { intent, object, live, minor, core }: StatusWorld): Projection {
  const options: ProjectOptions = {
    live,
    refused: state.refused,
    ...(minor === undefined ? {} : { minor }),
    ...(core === undefined ? {} : { core }),
  };
  return project(intent, object, options);
}

function ledgerOf(world: StatusWorld, { quarantined }: Projection): readonly LedgerEntry[] {
  const { uid } = (world.object['metadata'] ?? {}) as { readonly uid?: string };
  return ledgerAfter(world.ledger, quarantined, {
    uid: uid ?? '',
    schemaHash: schemaHash(world.live.schema),
    release: world.release ?? '',
    now: world.now,
  });
}

/** Entries that the saved ledger lacks. It only grows before a write, and shrinks after it. */
function additions(world: StatusWorld, projection: Projection): readonly LedgerEntry[] {
  return ledgerOf(world, projection).filter((entry) => !world.ledger.includes(entry));
}

function needsRecord(world: StatusWorld, projection: Projection): boolean {
  return additions(world, projection).length > 0;
}
