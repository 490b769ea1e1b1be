import { equal, isList, isObject, type Json, type JsonObject, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { defaultOf } from '../validate/defaults.ts';
import type { RuleId } from './step.ts';

/** A value that may read otherwise under the target, though nobody writes it. */
export interface Shift {
  readonly rule: RuleId;
  readonly path: Path;
  readonly what: string;
  readonly value: Json | undefined;
}

/**
 * Fields that read as a default of today, which the target does not have. Of bytes that lack a field it is certain. An API server shows the default in its place, so of a value that equals the default of today it can only be
 * said that it may be one, unless `isStored` knows better. What the target fills in is told by {@link applyDefaults}.
 */
export function lostDefaults(
  object: JsonObject,
  now: Schema,
  target: Schema,
  isStored: (path: Path, value: Json) => boolean,
): readonly Shift[] {
  const shifts: Shift[] = [];
  compare(object, now, target, [], (path, shift) => {
    if (shift.value === undefined || !isStored(path, shift.value)) shifts.push({ ...shift, path });
  });
  return shifts;
}

function compare(
  value: Json,
  now: Schema,
  target: Schema,
  path: Path,
  tell: (path: Path, shift: Omit<Shift, 'path'>) => void,
): void {
  if (!loses(now, target)) return;
  if (isList(value)) {
    if (now.items === undefined || target.items === undefined) return;
    for (const [index, item] of value.entries()) compare(item, now.items, target.items, [...path, index], tell);
    return;
  }
  if (!isObject(value)) return;
  // A field that goes is pruned, default or not.
  for (const [name, after] of Object.entries(target.properties ?? {})) {
    const before = own(now.properties, name);
    if (before === undefined) continue;
    const present = own(value, name);
    const at = [...path, name];
    if (losesOwn(before, after)) {
      const filled = defaultOf(before);
      const rule: RuleId = after.default === undefined ? 'N21' : 'N22';
      if (present === undefined && after.default === undefined)
        tell(at, { rule, what: 'absent: it will read as absent, not as the default of today', value: undefined });
      if (present !== undefined && equal(present, filled))
        tell(at, {
          rule,
          what: 'equals the default of today: if nobody set it, it reads otherwise',
          value: present,
        });
    }
    if (present !== undefined) compare(present, before, after, at, tell);
  }
  const [before, after] = [now.additionalProperties, target.additionalProperties];
  if (typeof before !== 'object' || typeof after !== 'object') return;
  for (const [key, inner] of Object.entries(value)) compare(inner, before, after, [...path, key], tell);
}

function losesOwn(before: Schema, after: Schema): boolean {
  return before.default !== undefined && !equal(before.default, after.default);
}

const known = new WeakMap<Schema, WeakMap<Schema, boolean>>();

/** Whether a schema has a default anywhere that another one has not. Most have none, and then no object needs to be looked at. */
function loses(now: Schema, target: Schema): boolean {
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
      return before !== undefined && (losesOwn(before, after) || loses(before, after));
    });
    answer ||= now.items !== undefined && target.items !== undefined && loses(now.items, target.items);
    const [before, after] = [now.additionalProperties, target.additionalProperties];
    answer ||= typeof before === 'object' && typeof after === 'object' && loses(before, after);
    answers.set(target, answer);
  }
  return answer;
}
