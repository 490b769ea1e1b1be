import { equal, isList, isObject, type Json, type JsonObject, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { applyDefaults } from '../validate/defaults.ts';
import type { RuleId } from './step.ts';

/** A value that reads otherwise under the target, though nobody writes it. */
export interface Shift {
  readonly rule: RuleId;
  readonly path: Path;
  readonly what: string;
  readonly value: Json | undefined;
}

/**
 * What defaults change. From bytes that lack a field it is certain. An API server shows the default in its place, so of a value that equals the default of today it can only be said that it
 * may be one.
 */
export function defaultShifts(object: JsonObject, now: Schema, target: Schema): readonly Shift[] {
  const shifts: Shift[] = [];
  compare(object, now, target, [], shifts);
  return shifts;
}

function compare(value: Json, now: Schema, target: Schema, path: Path, shifts: Shift[]): void {
  if (!haveShifts(now, target)) return;
  if (isList(value)) {
    if (now.items === undefined || target.items === undefined) return;
    for (const [index, item] of value.entries()) compare(item, now.items, target.items, [...path, index], shifts);
    return;
  }
  if (!isObject(value)) return;
  // A field that goes is pruned, default or not.
  for (const [name, after] of Object.entries(target.properties ?? {})) {
    const before = own(now.properties, name);
    const present = own(value, name);
    const at = [...path, name];
    if (!equal(before?.default, after.default)) {
      const rule: RuleId = after.default === undefined ? 'N21' : 'N22';
      const filled = before?.default === undefined ? undefined : applyDefaults(before.default, before);
      if (present === undefined) {
        const what =
          after.default === undefined
            ? 'absent: it will read as absent, not as the default of today'
            : 'absent: another default fills it';
        shifts.push({ rule, path: at, what, value: filled });
        continue;
      }
      if (filled !== undefined && equal(present, filled))
        shifts.push({
          rule,
          path: at,
          what: 'equals the default of today: if nobody set it, it reads otherwise',
          value: present,
        });
    }
    if (present !== undefined && before !== undefined) compare(present, before, after, at, shifts);
  }
  const [before, after] = [now.additionalProperties, target.additionalProperties];
  if (typeof before !== 'object' || typeof after !== 'object') return;
  for (const [key, inner] of Object.entries(value)) compare(inner, before, after, [...path, key], shifts);
}

const known = new WeakMap<Schema, WeakMap<Schema, boolean>>();

/** Whether two schemas have different defaults anywhere. Most have not, and then no object needs to be looked at. */
function haveShifts(now: Schema, target: Schema): boolean {
  if (now === target) return false;
  let answers = known.get(now);
  if (answers === undefined) {
    answers = new WeakMap();
    known.set(now, answers);
  }
  let answer = answers.get(target);
  if (answer === undefined) {
    answer = Object.entries(target.properties ?? {}).some(([name, after]) => {
      const before = own(now.properties, name);
      return !equal(before?.default, after.default) || (before !== undefined && haveShifts(before, after));
    });
    answer ||= now.items !== undefined && target.items !== undefined && haveShifts(now.items, target.items);
    const [before, after] = [now.additionalProperties, target.additionalProperties];
    answer ||= typeof before === 'object' && typeof after === 'object' && haveShifts(before, after);
    answers.set(target, answer);
  }
  return answer;
}
