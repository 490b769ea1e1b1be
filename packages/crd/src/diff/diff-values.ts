import { equal, type Json } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { FORMATS_SINCE, isChecked } from '../text/formats.ts';
import { type Effect, enumRule, type Place, type RuleId, type Step, shown, stepAt } from './step.ts';

/** Differences in what a node's own value may be: enum, bounds, pattern, format (N1 to N8). */
export function diffValues(a: Schema, b: Schema, place: Place): readonly Step[] {
  return [...diffEnum(a, b, place), ...diffBounds(a, b, place), ...diffText(a, b, place)];
}

function diffEnum(a: Schema, b: Schema, place: Place): readonly Step[] {
  const step = (effect: Effect, rule: RuleId, what: string): Step =>
    stepAt(place, { rule, effect, keyword: 'enum', what });
  if (a.enum === undefined && b.enum === undefined) return [];
  if (a.enum === undefined)
    return [step('narrows', enumRule(place, true), `enum is introduced: ${names(b.enum ?? [])}`)];
  if (b.enum === undefined) return [step('widens', enumRule(place, true), 'enum goes')];
  const lost = without(a.enum, b.enum);
  const gained = without(b.enum, a.enum);
  return [
    ...(lost.length === 0 ? [] : [step('narrows', enumRule(place, false), `enum loses ${names(lost)}`)]),
    ...(gained.length === 0 ? [] : [step('widens', enumRule(place, false), `enum gains ${names(gained)}`)]),
  ];
}

function without(values: readonly Json[], others: readonly Json[]): readonly Json[] {
  return values.filter((value) => !others.some((other) => equal(value, other)));
}

function names(values: readonly Json[]): string {
  const few = values.length > 8 ? [...values.slice(0, 7).map(shown), `${values.length - 7} more`] : values.map(shown);
  return few.join(', ');
}

type NumberKeyword = {
  [K in keyof Schema]-?: number extends NonNullable<Schema[K]>
    ? NonNullable<Schema[K]> extends number
      ? K
      : never
    : never;
}[keyof Schema];

/** Bounds above and below, with their classes. */
const BOUNDS: readonly (readonly [NumberKeyword, 'most' | 'least', RuleId])[] = [
  ['maxLength', 'most', 'N6'],
  ['minLength', 'least', 'N6'],
  ['maxItems', 'most', 'N7'],
  ['maxProperties', 'most', 'N7'],
  ['minItems', 'least', 'N8'],
  ['minProperties', 'least', 'N8'],
  ['maximum', 'most', 'N6'],
  ['minimum', 'least', 'N6'],
];

function diffBounds(a: Schema, b: Schema, place: Place): readonly Step[] {
  const steps: Step[] = [];
  for (const [keyword, end, rule] of BOUNDS) {
    const [before, after] = [limit(a, keyword), limit(b, keyword)];
    if (before?.value === after?.value && before?.exclusive === after?.exclusive) continue;
    const effect = tighter(before, after, end) ? 'narrows' : 'widens';
    steps.push(stepAt(place, { rule, effect, keyword, what: `${keyword} ${limitText(before)} → ${limitText(after)}` }));
  }
  const { multipleOf: before } = a;
  const { multipleOf: after } = b;
  if (before !== after) {
    const step = (effect: Effect): Step =>
      stepAt(place, {
        rule: 'N6',
        effect,
        keyword: 'multipleOf',
        what: `multipleOf ${shown(before)} → ${shown(after)}`,
      });
    const [widens, narrows] = [takesAll(after, before), takesAll(before, after)];
    if (widens) steps.push(step('widens'));
    else if (narrows) steps.push(step('narrows'));
    else steps.push(step('narrows'), step('widens'));
  }
  return steps;
}

/** Whether multiples of one factor are multiples of another. A server cuts the fraction off where it asks of an integer, and then none is a multiple of nothing. */
function takesAll(wide: number | undefined, tight: number | undefined): boolean {
  if (wide === undefined || tight === undefined) return wide === undefined;
  const [some, all] = [Math.trunc(tight), Math.trunc(wide)];
  return Number.isInteger(tight / wide) && (some === 0 || (all > 0 && some % all === 0));
}

interface Limit {
  readonly value: number;
  readonly exclusive: boolean;
}

function limit(schema: Schema, keyword: NumberKeyword): Limit | undefined {
  const value = schema[keyword];
  if (value === undefined || (value === 0 && keyword.startsWith('min') && keyword !== 'minimum')) return undefined;
  const exclusive =
    (keyword === 'maximum' && schema.exclusiveMaximum === true) ||
    (keyword === 'minimum' && schema.exclusiveMinimum === true);
  return { value, exclusive };
}

function tighter(before: Limit | undefined, after: Limit | undefined, end: 'most' | 'least'): boolean {
  if (after === undefined) return false;
  if (before === undefined) return true;
  if (before.value === after.value) return after.exclusive;
  return end === 'most' ? after.value < before.value : after.value > before.value;
}

function limitText(of: Limit | undefined): string {
  return of === undefined ? 'none' : `${of.value}${of.exclusive ? ' (exclusive)' : ''}`;
}

function diffText(a: Schema, b: Schema, place: Place): readonly Step[] {
  const steps: Step[] = [];
  for (const keyword of ['pattern', 'format'] as const) {
    const [before, after] = [a[keyword], b[keyword]];
    if (before === after) continue;
    // Whether one expression contains another is not decided here, not even where it seems plain.
    const effect: Effect = before === undefined ? 'narrows' : after === undefined ? 'widens' : 'undecided';
    const since =
      keyword === 'format' ? (FORMATS_SINCE.get(after ?? '') ?? FORMATS_SINCE.get(before ?? '')) : undefined;
    const what = `${keyword} ${shown(before)} → ${shown(after)}`;
    if (keyword === 'format' && !isChecked(before) && !isChecked(after)) {
      if (after === undefined || isKnown(after)) continue;
      steps.push(
        stepAt(place, { rule: 'N6', effect: 'undecided', keyword, what: `${what}: no server known here checks it` }),
      );
      continue;
    }
    steps.push(
      stepAt(place, {
        rule: 'N6',
        effect,
        keyword,
        what: since === undefined ? what : `${what}: checked by servers from 1.${since} alone`,
        ...(since === undefined ? {} : { since }),
      }),
    );
  }
  return steps;
}

/** Formats that are documentation alone, on every server. */
function isKnown(format: string): boolean {
  return ['int32', 'int64', 'float', 'double', 'password', ''].includes(format);
}
