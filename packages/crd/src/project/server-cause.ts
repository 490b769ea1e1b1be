import { isList, isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Cause, CauseReason } from '../validate/cause.ts';

/** A cause as the body of a 422 has it. */
export interface ServerCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

const KEYWORDS: Readonly<Record<CauseReason, string>> = {
  FieldValueNotSupported: 'enum',
  FieldValueRequired: 'required',
  FieldValueInvalid: 'x-kubernetes-validations',
  FieldValueTooLong: 'maxLength',
  FieldValueTooMany: 'maxItems',
  FieldValueDuplicate: 'x-kubernetes-list-type',
  FieldValueTypeInvalid: 'type',
  FieldValueForbidden: 'x-kubernetes-validations',
};

/** Causes of a refusal, at the places of the object that was sent. */
export interface Refusal {
  readonly causes: readonly Cause[];
  /** Rules were not looked at because of the other causes: another round will tell. */
  readonly unchecked: boolean;
  /** What belongs to no single place of the object: nothing is taken out for it. */
  readonly unplaced: readonly ServerCause[];
}

/** Reads the causes of a 422. `sent` is the whole object as it was sent. */
export function readRefusal(causes: readonly ServerCause[], sent: JsonObject): Refusal {
  const placed: Cause[] = [];
  const unplaced: ServerCause[] = [];
  let unchecked = false;
  for (const cause of causes) {
    const { field = '', message = '', reason = '' } = cause;
    if (!Object.hasOwn(KEYWORDS, reason)) {
      unplaced.push(cause);
      continue;
    }
    const known = reason as CauseReason;
    if (field === '' || field === '<nil>') {
      if (/rules were not checked/.test(message)) unchecked = true;
      else placed.push({ reason: known, path: [], owner: [], keyword: KEYWORDS[known], message });
      continue;
    }
    const path = placeOf(field, sent, known === 'FieldValueRequired');
    if (path === undefined) {
      unplaced.push(cause);
      continue;
    }
    const owner = known === 'FieldValueRequired' ? path.slice(0, -1) : path;
    placed.push({ reason: known, path, owner, keyword: KEYWORDS[known], message });
  }
  return { causes: placed, unchecked, unplaced };
}

/**
 * The place that a field of a cause names. Keys may have dots, so only the object itself tells where one ends; two ways to read it are none. Before ratcheting the status was named without its
 * prefix.
 */
function placeOf(field: string, sent: JsonObject, absent: boolean): Path | undefined {
  const whole = new Map(ways(field, sent, absent).map((path) => [JSON.stringify(path), path]));
  if (whole.size === 1) return [...whole.values()][0];
  if (whole.size > 1) return undefined;
  const inner = ways(field, sent['status'] ?? {}, absent);
  return inner.length === 1 && inner[0] !== undefined ? ['status', ...inner[0]] : undefined;
}

function ways(text: string, value: Json, absent: boolean): readonly Path[] {
  if (text === '') return [[]];
  const found: Path[] = [];
  const index = /^\[(\d+)\](?:\.|(?=\[)|$)/.exec(text);
  if (isList(value)) {
    const item = index === null ? undefined : value[Number(index[1])];
    if (index === null || item === undefined) return [];
    return ways(text.slice(index[0].length), item, absent).map((rest) => [Number(index[1]), ...rest]);
  }
  if (!isObject(value)) return [];
  for (const [key, inner] of Object.entries(value)) {
    for (const head of [key, `[${key}]`]) {
      if (!text.startsWith(head)) continue;
      const next = text.slice(head.length);
      if (next !== '' && !next.startsWith('.') && !next.startsWith('[')) continue;
      for (const rest of ways(next.replace(/^\./, ''), inner, absent)) found.push([key, ...rest]);
    }
  }
  // What is required is not there; its name is what is left.
  if (found.length === 0 && absent && /^[A-Za-z_][A-Za-z0-9_-]*$/.test(text)) return [[text]];
  return found;
}
