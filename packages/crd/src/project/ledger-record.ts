import { equal, isList, isObject, type Json, type JsonObject, jsonText, parseJson, textOf } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { Loss } from './losses.ts';

/** A value that a live schema cannot hold, in a ledger that outlives the process. `at` is below the status. */
export interface LedgerEntry extends Loss {
  /** Of the last schema that could not hold it. */
  readonly schemaHash: string;
  /** RFC 3339. */
  readonly firstSeen: string;
  /** Who wrote it, such as a version; '' where unknown. */
  readonly release: string;
}

/** What a ledger holds about one object. */
export interface LedgerRecord {
  /** `namespace/name`, for people and for the sweep. */
  readonly object: string;
  /** The resourceVersion of the object on which the last cut was based: two writers never leave the same text. */
  readonly base: string;
  readonly entries: readonly LedgerEntry[];
  /** Text that stood here and that nobody could read. It is kept for a person. */
  readonly unreadable?: string;
}

/** Who adds entries, and when. */
export type EntryOrigin = Pick<LedgerEntry, 'schemaHash' | 'firstSeen' | 'release'>;

/** `status.capabilities.enabledCapabilities[]`: where a loss lies, without the index. */
export function lossPlace({ at }: Loss): string {
  return schemaPathText(['status', ...at]);
}

/** Entries for losses under a schema: those that are known keep their time, whatever index they have now. */
export function entriesFor(
  lost: readonly Loss[],
  known: readonly LedgerEntry[],
  origin: EntryOrigin,
): readonly LedgerEntry[] {
  return lost.map((loss) => {
    const { firstSeen, release } = known.find((entry) => isSameLoss(entry, loss)) ?? origin;
    return { ...loss, schemaHash: origin.schemaHash, firstSeen, release };
  });
}

/** Both, each loss once; of equal ones that of `more`, whose index is the newer one. */
export function union(entries: readonly LedgerEntry[], more: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return [...entries.filter((entry) => !more.some((other) => isSameLoss(entry, other))), ...more];
}

/** Whether two losses are of one value at one place; where in a list does not matter. */
export function isSameLoss(a: Loss, b: Loss): boolean {
  return lossPlace(a) === lossPlace(b) && equal(a.value, b.value) && equal(a.instead, b.instead);
}

/** As it is stored: JSON. */
export function recordText(record: LedgerRecord): string {
  return jsonText(record);
}

/** Reads what is stored. What cannot be read is a record without entries that keeps the text. */
export function readRecord(text: string): LedgerRecord {
  try {
    const record = parseJson(text);
    if (isShallow(record) && isRecord(record)) return record as unknown as LedgerRecord;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { object: '', base: '', entries: [], unreadable: text };
}

/** No status of a real definition has 30 levels; a record of thousands could be read and not be written again. */
const MAX_DEPTH = 500;

function isShallow(record: Json): boolean {
  let level: readonly Json[] = [record];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return false;
    level = level.flatMap((value) => (isList(value) ? value : isObject(value) ? Object.values(value) : []));
  }
  return true;
}

function isRecord(value: Json): boolean {
  return (
    isObject(value) &&
    typeof value['object'] === 'string' &&
    typeof value['base'] === 'string' &&
    isList(value['entries']) &&
    value['entries'].every((entry) => isObject(entry) && isEntry(entry)) &&
    (value['unreadable'] === undefined || typeof value['unreadable'] === 'string')
  );
}

function isEntry(entry: JsonObject): boolean {
  const { at, value } = entry;
  return (
    value !== undefined &&
    isList(at) &&
    at.length > 0 &&
    (at as Path).every((part, index) =>
      typeof part === 'number'
        ? Number.isInteger(part) && part >= 0 && index === at.length - 1
        : typeof part === 'string',
    ) &&
    [entry['schemaHash'], entry['firstSeen'], entry['release']].every((text) => textOf(text) === text)
  );
}
