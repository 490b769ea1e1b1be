import { applyDefaults } from './defaults.ts';
import { equal, isList, isObject, type Json, type JsonObject, own } from './json.ts';
import type { Path } from './path.ts';
import type { Schema } from './schema.ts';
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
  if (now === target) return;
  if (isList(value)) {
    if (now.items === undefined || target.items === undefined) return;
    for (const [index, item] of value.entries()) compare(item, now.items, target.items, [...path, index], shifts);
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys({ ...now.properties, ...target.properties })) {
    const [before, after] = [own(now.properties, name), own(target.properties, name)];
    // A field that goes is pruned, default or not.
    if (after === undefined) continue;
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
