import {
  applyDefaults,
  type Crd,
  diff,
  ERAS,
  equal,
  type Json,
  type JsonObject,
  judge,
  prune,
  type RuleId,
  type Schema,
} from '@drydock/crd';
import { NAMESPACE } from './rehearsed-release.ts';
import { type Dice, diceOf, fits, listOf, sampleOf } from './sample.ts';

/** An object that the newer release takes, and that the older one would refuse or cut. */
export interface Exercise {
  /** `plural.group`. */
  readonly definition: string;
  /** Class of narrowing; undefined: somebody gave the object. */
  readonly rule: RuleId | undefined;
  readonly path: string;
  readonly effect: ExerciseEffect;
  readonly object: JsonObject;
}

/** What the older release makes of an object: its status is refused, its spec is, or something of it is cut. */
export type ExerciseEffect = 'status' | 'spec' | 'cut';

/** A place that differs and for which no object was found. */
export interface Unexercised {
  readonly definition: string;
  readonly rule: RuleId;
  readonly path: string;
  readonly why: string;
}

const TRIES = 40;

/** Objects for the places where going back to `older` refuses or loses something: of each class one at most, and `most` in all. */
export function exercisesFor(
  older: Crd,
  newer: Crd,
  { seed, most }: { readonly seed: number; readonly most: number },
): { readonly exercises: readonly Exercise[]; readonly unexercised: readonly Unexercised[] } {
  const exercises = new Map<string, Exercise>();
  const unexercised: Unexercised[] = [];
  const version = newer.versions.find((one) => one.storage && one.served);
  const before = older.versions.find(({ name }) => name === version?.name);
  if (version?.schema === undefined || before?.schema === undefined) return { exercises: [], unexercised };
  const schemas = { newer: version.schema, older: before.schema };
  for (const { effect, half, path, rule, version: at } of diff(newer, older).steps) {
    const key = `${rule}-${half}`.toLowerCase();
    if (effect !== 'narrows' || at !== version.name || exercises.has(key) || exercises.size >= most) continue;
    if (half !== 'status' && half !== 'spec') continue;
    const found = objectFor(schemas, path, seed);
    if (found === undefined) {
      unexercised.push({ definition: newer.name, rule, path, why: 'no object was found that only one of them takes' });
      continue;
    }
    const metadata = {
      name: `rehearsal-${key}`,
      ...(newer.scope === 'Namespaced' ? { namespace: NAMESPACE } : {}),
    };
    const object = { ...found, apiVersion: `${newer.group}/${version.name}`, kind: newer.kind, metadata };
    exercises.set(key, { definition: newer.name, rule, path, effect: effectOn(object, older), object });
  }
  return { exercises: [...exercises.values()], unexercised };
}

/** What the definition of the older release makes of an object. */
export function effectOn(object: JsonObject, { versions }: Crd): ExerciseEffect {
  const name = `${object['apiVersion'] as string}`.split('/').at(-1);
  const schema = versions.find((one) => one.name === name)?.schema;
  if (schema === undefined) return 'cut';
  const { status: _status, ...spec } = seenBy(object, schema);
  if (!isTaken(spec, schema)) return 'spec';
  return isTaken(seenBy(object, schema), schema) ? 'cut' : 'status';
}

interface Schemas {
  readonly newer: Schema;
  readonly older: Schema;
}

function objectFor(schemas: Schemas, path: string, seed: number): JsonObject | undefined {
  const parts = partsOf(path);
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...properties } = schemas.newer.properties ?? {};
  const root: Schema = { ...schemas.newer, properties };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const dice = diceOf(seed * 1_000 + tries);
    const value = placed(root, schemas.older, parts, dice);
    if (value === undefined) continue;
    const object = seenBy(value as JsonObject, schemas.newer);
    if (isTaken(object, schemas.newer) && !isKept(object, schemas.older)) return object;
  }
  return undefined;
}

/** As a server of this schema shows what it is given. */
function seenBy(object: JsonObject, schema: Schema): JsonObject {
  return applyDefaults(prune(object, schema).value, schema) as JsonObject;
}

function isTaken(object: JsonObject, schema: Schema): boolean {
  const { causes, doubts } = judge({ endpoint: 'create', next: headed(object), schema, hasStatus: false }, ERAS.E0);
  return causes.length === 0 && doubts.length === 0;
}

function isKept(object: JsonObject, schema: Schema): boolean {
  return equal(prune(object, schema).value, object) && isTaken(object, schema);
}

function headed(object: JsonObject): JsonObject {
  return { apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, ...object };
}

/** `status.history[].state` as its parts; what is below a list is `[]`. */
function partsOf(path: string): readonly string[] {
  return path.split('.').flatMap((part) => {
    const name = part.replaceAll('[]', '');
    return [...(name === '' ? [] : [name]), ...Array.from({ length: part.split('[]').length - 1 }, () => '[]')];
  });
}

/** A value that has what only the newer schema takes at a place. */
function placed(newer: Schema, older: Schema | undefined, parts: readonly string[], dice: Dice): Json | undefined {
  const [part, ...rest] = parts;
  if (part === undefined) return telling(newer, older, dice);
  if (part === '[]') {
    const one = placed(newer.items ?? {}, older?.items, rest, dice);
    if (one === undefined) return undefined;
    const more = listOf(newer, Math.max(0, (newer.minItems ?? 0) - 1), dice, { fullness: 0, depth: 8 });
    return [one, ...more];
  }
  const property = newer.properties?.[part];
  const below = property ?? (typeof newer.additionalProperties === 'object' ? newer.additionalProperties : undefined);
  if (below === undefined) return undefined;
  const inner = older?.properties?.[part] ?? valuesOf(older);
  const value = placed(below, inner, rest, dice);
  if (value === undefined) return undefined;
  const others = sampleOf(newer, dice, dice() % 3);
  return { ...((others ?? {}) as JsonObject), [property === undefined ? 'a' : part]: value };
}

function valuesOf(schema: Schema | undefined): Schema | undefined {
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** A value that fits the newer schema and, if one is found, not the older. */
function telling(newer: Schema, older: Schema | undefined, dice: Dice): Json | undefined {
  if (older === undefined) return sampleOf(newer, dice, 6);
  const only = newer.enum?.filter((one) => !(older.enum ?? []).includes(one));
  if (only !== undefined && only.length > 0 && older.enum !== undefined) return only[dice() % only.length];
  if (newer.type === 'array') {
    const length = (older.maxItems ?? 1) + 1;
    const list = listOf(newer, length, dice, { fullness: 1, depth: 8 });
    // Of sets and keyed lists the older one refuses what is there twice.
    return dice() % 2 === 0 && list[0] !== undefined ? [list[0], list[0]] : list;
  }
  const beyond: Json[] = [];
  if (older.maxLength !== undefined && older.maxLength < 100_000) beyond.push('a'.repeat(older.maxLength + 1));
  if (older.minimum !== undefined) beyond.push(older.minimum - 1);
  if (older.maximum !== undefined) beyond.push(older.maximum + 1);
  const found = beyond.find((value) => fits(value, newer) && !fits(value, older));
  if (found !== undefined) return found;
  let last: Json | undefined;
  for (let tries = 0; tries < 12; tries += 1) {
    last = sampleOf(newer, dice, tries % 5);
    if (last !== undefined && fits(last, newer) && !fits(last, older)) return last;
  }
  return last;
}
