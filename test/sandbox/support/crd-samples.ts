import { ERAS, type Json, type JsonObject, judge, type Schema } from '@drydock/crd';
import * as fc from 'fast-check';

// Objects for real definitions: as full as the schema lets them be, or with some of what is optional. Whether a server takes them it is asked; what it names is left out.

/** Numbers that decide, the same for the same seed. */
export type Dice = () => number;

/** Dice of a seed. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}

const TEXTS = [
  ...[
    'a',
    'a.example',
    'a.example/b',
    'Ready',
    'True',
    '1h',
    '10s',
    '100m',
    '1Gi',
    '1',
    '10%',
    'v1',
    'v1.2.3',
    '/',
    '/x',
    'GET',
  ],
  ...[
    '10.0.0.1',
    '10.0.0.0/8',
    'https://a.example',
    '2026-01-01T00:00:00Z',
    'x-y',
    'A_B',
    '*.a.example',
    'sha256:abc',
    'a@b.example',
  ],
  ...['6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'aGVsbG8=', '0 0 * * *', '@daily', 'Always', 'Node'],
];
const NUMBERS = [1, 2, 0, 5, 30, 80, 443, 300, 1000, 40_000, 0.5];

/** A value for a schema. `fullness`: how many of ten optional fields are there. */
export function sampleOf(schema: Schema, dice: Dice, fullness: number, depth = 14): Json | undefined {
  if (schema.enum !== undefined) return pick(schema.enum, dice);
  if (schema['x-kubernetes-embedded-resource'] === true)
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'within', labels: { a: 'b' } } };
  if (schema['x-kubernetes-int-or-string'] === true) return fitting(schema, [...NUMBERS, '10%', '1', 'a', '1Gi'], dice);
  switch (schema.type) {
    case 'boolean':
      return dice() % 2 === 0;
    case 'integer':
    case 'number':
      return fitting(schema, [...NUMBERS, schema.minimum ?? 1, schema.maximum ?? 1], dice);
    case 'string':
      return textFor(schema, dice);
    case 'array':
      return listFor(schema, dice, fullness, depth);
    case 'object':
      return fieldsFor(schema, dice, fullness, depth);
    default:
      return pick<Json>([{ kept: 'x', deep: { list: [{ a: 1 }] } }, ['x'], 'x', 7], dice);
  }
}

function textFor(schema: Schema, dice: Dice): Json | undefined {
  const long = 'x'.repeat(Math.min(schema.minLength ?? 0, 100));
  const found = fitting(schema, long === '' ? TEXTS : [...TEXTS, long], dice);
  if (found !== undefined || schema.pattern === undefined) return found;
  try {
    const made = fc.sample(fc.stringMatching(new RegExp(schema.pattern)), { seed: dice(), numRuns: 20 });
    return made.find((text) => fits(text, schema));
  } catch {
    // Not every expression of RE2 is one here.
    return undefined;
  }
}

function listFor(
  { items = {}, minItems = 0, maxItems = 9 }: Schema,
  dice: Dice,
  fullness: number,
  depth: number,
): Json {
  const length = Math.min(maxItems, Math.max(minItems, depth > 0 ? 1 + (dice() % 2) : 0));
  const made = Array.from({ length }, () => sampleOf(items, dice, fullness, depth - 1));
  return made.filter((item) => item !== undefined);
}

function fieldsFor(schema: Schema, dice: Dice, fullness: number, depth: number): Json {
  const { additionalProperties: additional, properties = {}, required = [] } = schema;
  if (typeof additional === 'object') {
    const inner = sampleOf(additional, dice, fullness, depth - 1);
    return inner === undefined || (schema.maxProperties ?? 1) < 1
      ? {}
      : { [dice() % 2 === 0 ? 'a' : 'a.example/b']: inner };
  }
  const fields = Object.entries(properties).flatMap(([name, of]): readonly (readonly [string, Json])[] => {
    const wanted = required.includes(name) || (depth > 0 && dice() % 10 < fullness);
    const value = wanted ? sampleOf(of, dice, fullness, depth - 1) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  const keeps = schema['x-kubernetes-preserve-unknown-fields'] === true || additional === true;
  return { ...Object.fromEntries(fields), ...(keeps && dice() % 2 === 0 ? { unheardOf: 'kept' } : {}) };
}

function fitting(schema: Schema, values: readonly Json[], dice: Dice): Json | undefined {
  const all = values.filter((value) => fits(value, schema));
  return all.length === 0 ? undefined : pick(all, dice);
}

function fits(value: Json, schema: Schema): boolean {
  const { 'x-kubernetes-validations': _rules, ...plain } = schema;
  const whole: Schema = { type: 'object', properties: { value: plain } };
  return judge({ endpoint: 'create', next: { value }, schema: whole, hasStatus: false }, ERAS.E2).causes.length === 0;
}

function pick<T>(values: readonly T[], dice: Dice): T {
  return values[dice() % values.length] as T;
}

/** A whole resource without its head. */
export function resourceOf(schema: Schema, seed: number, fullness: number): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...properties } = schema.properties ?? {};
  return sampleOf({ ...schema, properties, required: Object.keys(properties) }, diceOf(seed), fullness) as JsonObject;
}

/** An object without what is at a place that a server named, `spec.rules[0].filters`; where that is nothing, without what is around it. undefined: nothing is left to take away. */
export function without(object: JsonObject, field: string, dice: Dice): JsonObject | undefined {
  const copy = structuredClone(object) as Record<string, unknown>;
  const path = [...field.replaceAll('<nil>', '').matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(
    ([, key, name]) => key ?? name ?? '',
  );
  let holder: unknown = copy;
  const holders: { readonly of: object; readonly key: string }[] = [];
  for (const key of path) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) break;
    holders.push({ of: holder, key });
    holder = (holder as Record<string, unknown>)[key];
  }
  // The value itself, something in it, or what is around it, lest two fields that exclude each other go in turns.
  if (dice() % 3 === 0 && typeof holder === 'object' && holder !== null && Object.keys(holder).length > 0)
    holders.push({ of: holder, key: pick(Object.keys(holder), dice) });
  else if (holders.length > 2 && dice() % 3 === 0) holders.pop();
  const last = holders.at(-1);
  if (last === undefined) return undefined;
  if (Array.isArray(last.of)) last.of.splice(Number(last.key), 1);
  else delete (last.of as Record<string, unknown>)[last.key];
  return copy as JsonObject;
}
