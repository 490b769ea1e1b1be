import { isObject, type Json, type JsonObject, textOf } from '../schema/json.ts';
import type { LedgerSubject, LedgerView } from './ledger.ts';
import { lossPlace } from './ledger-record.ts';
import type { Loss } from './losses.ts';
import { START, type StatusState } from './status-machine.ts';

/** What is remembered of an object. */
export interface Memory {
  readonly subject: LedgerSubject;
  readonly hash: string;
  readonly state: StatusState;
  /** The status as this writer knows it, because it wrote it or found it so, and of which version. */
  readonly stored?: { readonly version: string; readonly status: Json | undefined };
  /** The schema and the places that were told; '': nothing is left out. */
  readonly told: string;
  /** It was this process that told it. */
  readonly here: boolean;
  /** `metadata.generation`: another spec may make legal what was refused. */
  readonly generation: Json | undefined;
  /** Not to be tried again before `until` (ms), unless the object is no longer of this version. */
  readonly blocked?: { readonly until: number; readonly version: string };
  /** Since when (ms) no answer comes. */
  readonly failingSince?: number;
}

/** What a projector remembers, by uid. */
export interface ProjectionMemory {
  readonly get: (uid: string) => Memory | undefined;
  /** As it counts for a write under this schema: another schema, or another spec of the object, begins anew. */
  readonly of: (subject: LedgerSubject, hash: string, view: LedgerView, object?: JsonObject) => Memory;
  readonly put: (memory: Memory) => void;
  readonly delete: (uid: string) => void;
  readonly all: () => readonly Memory[];
}

/** Objects come and go: those that were written last are kept in mind. What is forgotten costs one refusal, or one event more. */
const REMEMBERED = 10_000;

/** Makes an empty memory. */
export function projectionMemory(): ProjectionMemory {
  const memories = new Map<string, Memory>();
  const of = (subject: LedgerSubject, hash: string, view: LedgerView, object?: JsonObject): Memory => {
    const known = memories.get(subject.uid);
    const generation = object === undefined ? known?.generation : generationOf(object);
    if (known === undefined) {
      const [first] = view.entries;
      // An earlier process told what it left behind in the ledger.
      const told = first === undefined ? '' : toldOf(first.schemaHash, view.entries);
      return { subject, hash, state: START, told, here: false, generation };
    }
    if (known.hash === hash && known.generation === generation) return { ...known, subject };
    const again = known.blocked === undefined ? {} : { blocked: { ...known.blocked, until: 0 } };
    return { ...known, subject, hash, generation, state: START, ...again };
  };
  return {
    get: (uid) => memories.get(uid),
    of,
    put: (memory) => {
      const { uid } = memory.subject;
      memories.delete(uid);
      memories.set(uid, memory);
      const [oldest] = memories.keys();
      if (memories.size > REMEMBERED && oldest !== undefined) memories.delete(oldest);
    },
    delete: (uid) => void memories.delete(uid),
    all: () => [...memories.values()],
  };
}

/** Places of losses, each once, sorted. */
export function placesOf(lost: readonly Loss[]): readonly string[] {
  return [...new Set(lost.map(lossPlace))].toSorted();
}

/** What identifies a thing that is told: a schema and the places that it cuts. */
export function toldOf(hash: string, lost: readonly Loss[]): string {
  return `${hash} ${placesOf(lost).join()}`;
}

function generationOf({ metadata }: JsonObject): Json | undefined {
  return isObject(metadata) ? metadata['generation'] : undefined;
}

/** Which object this is. */
export function subjectOf(object: JsonObject): LedgerSubject {
  const metadata: Json = object['metadata'] ?? {};
  const { name, namespace, resourceVersion, uid } = isObject(metadata) ? metadata : {};
  const where = textOf(namespace);
  return {
    uid: textOf(uid),
    object: where === '' ? textOf(name) : `${where}/${textOf(name)}`,
    resourceVersion: textOf(resourceVersion),
  };
}
