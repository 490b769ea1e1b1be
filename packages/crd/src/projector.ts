import type { Cause } from './cause.ts';
import { CrdError } from './errors.ts';
import { equal, isObject, type JsonObject } from './json.ts';
import { pathText } from './path.ts';
import { project } from './project.ts';
import { type LedgerEntry, ledgerAfter, type Quarantined } from './quarantine.ts';
import { readCrd } from './read-crd.ts';
import type { CrdVersion } from './schema.ts';
import { schemaHash } from './schema-hash.ts';
import { readRefusal, type ServerCause } from './server-cause.ts';

/** What a status writer tells about its projection, once for each set of places under one schema. */
export type ProjectionEvent =
  | { readonly kind: 'quarantined'; readonly uid: string; readonly quarantined: readonly Quarantined[] }
  /** Everything that was left out is written again. */
  | { readonly kind: 'restored'; readonly uid: string }
  /** The server refuses, and nothing that may be left out helps. */
  | { readonly kind: 'blocked'; readonly uid: string; readonly causes: readonly ServerCause[] };

/** How a projector sees the world. */
export interface ProjectorOptions {
  /** The schema as the live server has it now; undefined while it is not known: nothing is cut then. */
  readonly live: () => CrdVersion | undefined;
  readonly minor?: () => number | undefined;
  readonly core?: readonly string[];
  /** Who writes, for the ledger. */
  readonly release?: string;
  /** What was saved. */
  readonly ledger?: readonly LedgerEntry[];
  /** Saves the ledger. It is awaited before what it records is left out of a write. */
  readonly save?: (ledger: readonly LedgerEntry[]) => Promise<void>;
  readonly tell?: (event: ProjectionEvent) => void;
  readonly now?: () => Date;
}

/** The two hooks of a status writer: what it sends, and what it does when that is refused. */
export interface Projector {
  /** The status that the live schema accepts, of what is meant. Both are plain JSON; what comes back lacks optional parts of `S` at most. */
  readonly project: <S>(intent: S, current: unknown) => Promise<S>;
  /** The server refused what was last projected for this object. True: project again, it will be something else. */
  readonly refused: (causes: readonly ServerCause[], current: unknown) => boolean;
  readonly ledger: readonly LedgerEntry[];
}

interface Memory {
  readonly hash: string;
  readonly refused: readonly Cause[];
  readonly sent: JsonObject;
  readonly rounds: number;
}

/** Objects of which refusals are remembered. */
const REMEMBERED = 10_000;

/** Rounds after which only another schema helps. */
const ROUNDS = 6;

/** Projects the statuses of one kind onto its live schema, with memory of what the server refused and of what was left out. */
export function createProjector(options: ProjectorOptions): Projector {
  const { live, core, release = '', save, tell = () => undefined, now = () => new Date() } = options;
  let ledger = options.ledger ?? [];
  const memories = new Map<string, Memory>();
  const told = new Map<string, string>();

  function tellOnce(uid: string, hash: string, quarantined: readonly Quarantined[]): void {
    const key =
      quarantined.length === 0 ? '' : `${hash} ${[...new Set(quarantined.map(({ path }) => path))].toSorted().join()}`;
    const before = told.get(uid) ?? '';
    if (before === key) return;
    remember(told, uid, key);
    tell(key === '' ? { kind: 'restored', uid } : { kind: 'quarantined', uid, quarantined });
  }

  return {
    get ledger() {
      return ledger;
    },
    project: async <S>(meant: S, object: unknown): Promise<S> => {
      const [intent, current] = [meant as JsonObject, object as JsonObject];
      const schema = live();
      if (schema === undefined) return meant;
      const uid = uidOf(current);
      const hash = schemaHash(schema.schema);
      const known = memories.get(uid);
      const memory = known?.hash === hash ? known : undefined;
      const minor = options.minor?.();
      const { status, quarantined } = project(intent, current, {
        live: schema,
        refused: memory?.refused ?? [],
        ...(minor === undefined ? {} : { minor }),
        ...(core === undefined ? {} : { core }),
      });
      const next = ledgerAfter(ledger, quarantined, { uid, schemaHash: hash, release, now: now().toISOString() });
      if (next.length !== ledger.length || next.some((entry, index) => entry !== ledger[index])) {
        await save?.(next);
        ledger = next;
      }
      tellOnce(uid, hash, quarantined);
      remember(memories, uid, { hash, refused: memory?.refused ?? [], sent: status, rounds: memory?.rounds ?? 0 });
      return status as S;
    },
    refused: (causes, object) => {
      const current = object as JsonObject;
      const uid = uidOf(current);
      const memory = memories.get(uid);
      if (memory === undefined) return false;
      const sent = { ...current, status: memory.sent };
      const before = new Set(memory.refused.map(keyOf));
      const fresh = readRefusal(causes, sent).causes.filter((cause) => !before.has(keyOf(cause)));
      const next = { ...memory, refused: [...memory.refused, ...fresh], rounds: memory.rounds + 1 };
      remember(memories, uid, next);
      const schema = live();
      const helps =
        fresh.length > 0 &&
        next.rounds < ROUNDS &&
        schema !== undefined &&
        !equal(
          project(memory.sent, current, {
            live: schema,
            refused: next.refused,
            ...(core === undefined ? {} : { core }),
          }).status,
          memory.sent,
        );
      if (!helps) tell({ kind: 'blocked', uid, causes });
      return helps;
    },
  };
}

/** Objects come and go; those that were written last are kept in mind. What is forgotten costs one refusal, or one event more. */
function remember<V>(map: Map<string, V>, uid: string, value: V): void {
  map.delete(uid);
  map.set(uid, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED && oldest !== undefined) map.delete(oldest);
}

function keyOf({ path, reason, message }: Cause): string {
  return `${pathText(path)} ${reason} ${message}`;
}

function uidOf(object: JsonObject): string {
  const { metadata } = object;
  const uid = isObject(metadata) ? metadata['uid'] : undefined;
  return typeof uid === 'string' ? uid : '';
}

/** The schema of a version as a watched definition has it now; the same object is read once. One that cannot be read is none. */
export function liveVersion(definition: () => unknown, version: string): () => CrdVersion | undefined {
  let last: { readonly of: unknown; readonly found: CrdVersion | undefined } | undefined;
  return () => {
    const of = definition();
    if (of === undefined) return undefined;
    if (last?.of !== of) last = { of, found: versionOf(of as JsonObject, version) };
    return last.found;
  };
}

function versionOf(definition: JsonObject, version: string): CrdVersion | undefined {
  try {
    return readCrd(definition, 'cluster').versions.find(({ name }) => name === version);
  } catch (error) {
    // A writer that knows no schema writes what it means; the server has the last word.
    if (error instanceof CrdError) return undefined;
    throw error;
  }
}
