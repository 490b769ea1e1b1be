import { ERAS, type Json, type JsonObject, judge, type Schema } from '@drydock/crd';

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

/** Texts of which one fits most of the patterns that definitions have. */
const TEXTS: readonly string[] = [
  ...['a', 'a.example', 'Ready', 'True', '1h', '10s', '1', '10%', 'v1.2.3', '/x', 'GET', '10.0.0.1', '10.0.0.0/8'],
  ...['https://a.example', 'mailto:a@b.example', '2026-01-01T00:00:00Z', 'x-y', 'A_B', '*.a.example', 'a@b.example'],
  ...['6ba7b810-9dad-41d1-80b4-00c04fd430c8', 'aGVsbG8=', '0 0 * * *', 'Always', 'a b', '%', '-', '', 'a/b:c@d'],
  `sha256:${'0'.repeat(64)}`,
  `registry.example/image@sha256:${'0'.repeat(64)}`,
];
const NUMBERS: readonly number[] = [1, 2, 0, 5, 80, 443, 1_000, 40_000, -1];

/** A value that fits a schema: what is required, and of ten optional fields as many as `fullness` says. undefined: none was found. */
export function sampleOf(schema: Schema, dice: Dice, fullness: number, depth = 12): Json | undefined {
  if (schema.enum !== undefined) return pick(schema.enum, dice);
  if (schema['x-kubernetes-embedded-resource'] === true)
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'within' } };
  if (schema['x-kubernetes-int-or-string'] === true) return fitting(schema, [1, '10%', '1'], dice);
  switch (schema.type) {
    case 'boolean':
      return dice() % 2 === 0;
    case 'integer':
    case 'number':
      return fitting(schema, [...NUMBERS, schema.minimum ?? 1, schema.maximum ?? 1], dice);
    case 'string':
      return fitting(schema, [...TEXTS, 'x'.repeat(Math.min(schema.minLength ?? 1, 200))], dice);
    case 'array':
      return listOf(schema, Math.max(schema.minItems ?? 0, fullness > 0 ? 1 : 0), dice, { fullness, depth });
    case 'object':
      return fieldsOf(schema, dice, fullness, depth);
    default:
      return { kept: 'x' };
  }
}

/** A list of so many items that differ, where there are so many. */
export function listOf(
  { items = {}, maxItems = 10_000 }: Schema,
  length: number,
  dice: Dice,
  { fullness, depth }: { readonly fullness: number; readonly depth: number },
): readonly Json[] {
  const found = new Map<string, Json>();
  const wanted = depth > 0 ? Math.min(length, maxItems) : 0;
  for (let tries = 0; found.size < wanted && tries < wanted * 6; tries += 1) {
    const one = numbered(sampleOf(items, dice, fullness, depth - 1), items, tries);
    if (one !== undefined) found.set(JSON.stringify(one), one);
  }
  return [...found.values()];
}

/** The same value in another place: the first text of it that may be anything is told apart. */
function numbered(value: Json | undefined, schema: Schema, at: number): Json | undefined {
  if (at === 0 || value === undefined) return value;
  if (typeof value === 'string') {
    const next = `${value}${at}`;
    return schema.enum === undefined && fits(next, schema) ? next : value;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const object = value as JsonObject;
  for (const [name, of] of Object.entries(schema.properties ?? {})) {
    const one = object[name];
    if (typeof one !== 'string') continue;
    const next = numbered(one, of, at);
    if (next !== undefined && next !== one) return { ...object, [name]: next };
  }
  return value;
}

function fieldsOf(schema: Schema, dice: Dice, fullness: number, depth: number): JsonObject {
  const { additionalProperties: more, properties = {}, required = [] } = schema;
  if (typeof more === 'object') {
    const inner = fullness > 0 ? sampleOf(more, dice, fullness, depth - 1) : undefined;
    return inner === undefined ? {} : { a: inner };
  }
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, of]): readonly (readonly [string, Json])[] => {
      const wanted = required.includes(name) || (depth > 0 && dice() % 10 < fullness);
      const value = wanted ? sampleOf(of, dice, fullness, depth - 1) : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** One of the values that fit. */
export function fitting(schema: Schema, values: readonly Json[], dice: Dice): Json | undefined {
  const all = values.filter((value) => fits(value, schema));
  return all.length === 0 ? undefined : pick(all, dice);
}

/** Whether a value fits a schema, rules included. */
export function fits(value: Json, schema: Schema): boolean {
  const whole: Schema = { type: 'object', properties: { value: schema } };
  return judge({ endpoint: 'create', next: { value }, schema: whole, hasStatus: false }, ERAS.E0).causes.length === 0;
}

/** One of them. */
export function pick<T>(values: readonly T[], dice: Dice): T {
  return values[dice() % values.length] as T;
}
