import { Duration } from '@marcbachmann/cel-js/evaluator';
import { isList, isNumber, isObject, type Json, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { durationOf, momentOf } from '../text/times.ts';
import { canonical } from './list-types.ts';

/**
 * How lists of type set and map are shown to a rule: a server compares them without regard to the order of their items, the library does not. Sorted both ways, with null unlike itself in one of them, they give two answers
 * that differ where it counts.
 */
export type Order = 'given' | 'up' | 'down';

/**
 * A value as a rule has it (k8s.io/apiserver, pkg/cel/common, UnstructuredToVal): integers are 64 bits wide, texts of some formats are times and bytes, maps have own keys only, a named field that is null is absent, and names
 * that CEL could not say are escaped. `root`: of the metadata of a resource rules see the names alone.
 */
export function valueForRules(value: Json, schema: Schema | undefined, root: boolean, order: Order): unknown {
  if (typeof value === 'string') return schema === undefined ? value : (textForRules(value, schema) ?? value);
  if (isNumber(value))
    return schema?.type === 'number' ? Number(value) : Number.isInteger(Number(value)) ? BigInt(value) : value;
  if (isList(value))
    return inOrder(value, schema, order).map((item) => valueForRules(item, schema?.items, false, order));
  if (!isObject(value)) return value;
  const map = new Map<string, unknown>();
  const { additionalProperties: additional, properties } = schema ?? {};
  for (const [key, inner] of Object.entries(value)) {
    const property = own(properties, key);
    if (inner === null && property !== undefined) {
      // No rule can name it, and it still counts where objects are compared: up to 1.32 it is unlike itself.
      map.set(`\0${key}`, order === 'down' ? Number.NaN : null);
      continue;
    }
    if (root && key === 'metadata' && isObject(inner)) {
      const names = ['name', 'generateName'].flatMap((name) =>
        inner[name] === undefined ? [] : [[name, inner[name]] as const],
      );
      map.set(key, new Map(names));
      continue;
    }
    const of = property ?? (typeof additional === 'object' ? additional : undefined);
    map.set(property === undefined ? key : escapeName(key), valueForRules(inner, of, false, order));
  }
  return map;
}

/** A text as a rule has it; undefined: a rule cannot have it, because its format says what it is not, or more exactly than can be told here. */
export function textForRules(text: string, { format, type }: Schema): unknown {
  if (type !== 'string') return text;
  switch (format) {
    case 'date':
    case 'date-time':
      return momentOf(text);
    case 'duration': {
      const nanos = durationOf(text);
      return nanos === undefined ? undefined : new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n));
    }
    case 'byte':
      return /^(?:[\w-]{4})*(?:[\w-]{2}==|[\w-]{3}=)?$/.test(text)
        ? new Uint8Array(Buffer.from(text, 'base64url'))
        : undefined;
    default:
      return text;
  }
}

function inOrder(list: readonly Json[], schema: Schema | undefined, order: Order): readonly Json[] {
  const type = schema?.['x-kubernetes-list-type'];
  if (order === 'given' || list.length < 2 || (type !== 'set' && type !== 'map')) return list;
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  const keyOf = (item: Json): string =>
    type === 'map' && isObject(item) ? keys.map((key) => canonical(own(item, key) ?? null)).join() : canonical(item);
  const sorted = list
    .map((item) => [keyOf(item), item] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, item]) => item);
  return order === 'up' ? sorted : sorted.toReversed();
}

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const escaped = new Map<string, string>();

/** k8s.io/apiserver/pkg/cel: names of properties in rules. There are no more of them than schemas have. */
export function escapeName(name: string): string {
  let known = escaped.get(name);
  if (known === undefined) {
    known = RESERVED.has(name)
      ? `__${name}__`
      : name
          .replaceAll('__', '__underscores__')
          .replaceAll('.', '__dot__')
          .replaceAll('-', '__dash__')
          .replaceAll('/', '__slash__');
    escaped.set(name, known);
  }
  return known;
}
