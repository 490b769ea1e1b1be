import {
  badRequest,
  isObject,
  itemSchema,
  type JsonObject,
  jsonEqual,
  keySchema,
  own,
  put,
  serverError,
} from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import type { TypeSchema } from './recorded-schema.ts';

// Strategic merge patches: merge patches that know the lists of Kubernetes' own types, and directives in keys that begin with `$`.

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const ORDER = '$setElementOrder/';
const DELETE_PRIMITIVES = '$deleteFromPrimitiveList/';

/** The object that a patch makes of another one. */
export function strategicMerge(current: JsonObject, patch: unknown, schema: TypeSchema): JsonObject {
  if (!isObject(patch)) {
    const given = Array.isArray(patch) ? 'array' : typeof patch;
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${given} into Go value of type map[string]interface {}`,
    );
  }
  return mergeMap(current, patch, schema);
}

function mergeMap(original: JsonObject, patch: JsonObject, schema: TypeSchema | undefined): JsonObject {
  const directive = patch[DIRECTIVE];
  if (directive !== undefined) {
    const { [DIRECTIVE]: _directive, ...rest } = patch;
    if (directive === 'replace') return withoutDirectives(rest);
    if (directive === 'delete') return {};
    if (directive !== 'merge') throw serverError(`unrecognized type for directive value: ${textOf(directive)}`);
  }
  const out: Record<string, unknown> = retained(original, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (key === DIRECTIVE || key === RETAIN_KEYS || key.startsWith(ORDER)) continue;
    if (key.startsWith(DELETE_PRIMITIVES)) {
      const field = key.slice(DELETE_PRIMITIVES.length);
      const gone = listOrFail(value);
      out[field] = listOrFail(out[field] ?? []).filter((one) => !gone.some((other) => jsonEqual(one, other)));
      continue;
    }
    if (value === null) {
      delete out[key];
      continue;
    }
    put(out, key, mergeValue(own(out, key), value, fieldSchema(schema, key), orderOf(patch, key)));
  }
  // An order alone reorders what is there.
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(ORDER)) continue;
    const field = key.slice(ORDER.length);
    const order = listOrFail(patch[key]);
    const of = fieldSchema(schema, field);
    if (!(field in patch) && Array.isArray(out[field])) out[field] = mergeList(out[field] as unknown[], [], of, order);
  }
  for (const key of Object.keys(patch)) if (key === '$setElementOrder') listOrFail(patch[key]);
  return out;
}

function fieldSchema(schema: TypeSchema | undefined, key: string): TypeSchema | undefined {
  return schema === undefined ? undefined : (keySchema(schema, key) as TypeSchema | undefined);
}

function orderOf(patch: JsonObject, key: string): readonly unknown[] | undefined {
  const order = patch[ORDER + key];
  return order === undefined ? undefined : listOrFail(order);
}

function listOrFail(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  const given = typeof value === 'number' ? 'int64' : isObject(value) ? 'map[string]interface {}' : typeof value;
  throw serverError(`expected a []interface {}, but received a ${given}`);
}

/** With `$retainKeys`, what is not named goes. */
function retained(original: JsonObject, patch: JsonObject): Record<string, unknown> {
  const keys = patch[RETAIN_KEYS];
  if (keys === undefined) return { ...original };
  const list = listOrFail(keys);
  return Object.fromEntries(Object.entries(original).filter(([key]) => list.includes(key)));
}

function mergeValue(
  original: unknown,
  patch: unknown,
  schema: TypeSchema | undefined,
  order: readonly unknown[] | undefined,
): unknown {
  const strategy = schema?.['x-kubernetes-patch-strategy']?.split(',') ?? [];
  if (isObject(patch)) {
    if (isObject(original) && !strategy.includes('replace')) return mergeMap(original, patch, schema);
    return mergeMap({}, patch, schema);
  }
  if (Array.isArray(patch)) {
    if (strategy.includes('merge')) return mergeList(Array.isArray(original) ? original : [], patch, schema, order);
    return patch.map((one: unknown) => (isObject(one) ? withoutDirectives(one) : one));
  }
  return patch;
}

function withoutDirectives(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !key.startsWith('$')));
}

function mergeList(
  original: readonly unknown[],
  patch: readonly unknown[],
  schema: TypeSchema | undefined,
  order: readonly unknown[] | undefined,
): unknown[] {
  const key = schema?.['x-kubernetes-patch-merge-key'];
  if (key === undefined || key === '') {
    const all = [...original, ...patch];
    const unique = all.filter((one, at) => all.findIndex((other) => jsonEqual(one, other)) === at);
    return order === undefined ? unique : ordered(unique, order, original, (a, b) => jsonEqual(a, b));
  }
  const keyOf = (item: unknown): unknown => {
    const value = isObject(item) ? item[key] : undefined;
    if (value === undefined) {
      const fields = isObject(item)
        ? Object.keys(item)
            .sort()
            .map((one) => `${one}:${String(item[one])}`)
        : [];
      throw serverError(`map: map[${fields.join(' ')}] does not contain declared merge key: ${key}`);
    }
    return value;
  };
  const items = schema === undefined ? undefined : (itemSchema(schema) as TypeSchema);
  if (patch.some((item) => isObject(item) && item[DIRECTIVE] === 'replace')) {
    const kept = patch.filter((item) => !isObject(item) || item[DIRECTIVE] === undefined);
    return kept.map((item) => (isObject(item) ? withoutDirectives(item) : item));
  }
  let merged: unknown[] = [...original];
  const plain: unknown[] = [];
  for (const item of patch) {
    const of = keyOf(item);
    if (isObject(item) && item[DIRECTIVE] === 'delete') merged = merged.filter((one) => !jsonEqual(keyOf(one), of));
    else plain.push(item);
  }
  for (const item of plain) {
    if (!isObject(item)) continue;
    const of = keyOf(item);
    const at = merged.findIndex((one) => jsonEqual(keyOf(one), of));
    if (at < 0) merged.push(mergeMap({}, item, items));
    else merged[at] = mergeMap(merged[at] as JsonObject, item, items);
  }
  return ordered(merged, order ?? plain, original, (a, b) => jsonEqual(keyOf(a), keyOf(b)));
}

/**
 * The order of a merged list: what the patch names comes in its order; what only the server has keeps its place before what it stood before, as far as both
 * were there.
 */
function ordered(
  merged: readonly unknown[],
  order: readonly unknown[],
  server: readonly unknown[],
  same: (a: unknown, b: unknown) => boolean,
): unknown[] {
  const at = (list: readonly unknown[], item: unknown): number => list.findIndex((one) => same(one, item));
  const named = merged.filter((item) => at(order, item) >= 0).sort((a, b) => at(order, a) - at(order, b));
  const others = merged.filter((item) => at(order, item) < 0).sort((a, b) => at(server, a) - at(server, b));
  const out: unknown[] = [];
  let left = 0;
  let right = 0;
  while (left < others.length || right < named.length) {
    const other = left < others.length ? at(server, others[left]) : -1;
    const next = right < named.length ? at(server, named[right]) : -1;
    const first = right >= named.length || (other >= 0 && next >= 0 && other < next);
    out.push(first ? others[left++] : named[right++]);
  }
  return out;
}
