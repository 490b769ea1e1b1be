import {
  type Cause,
  CORE_FIELDS,
  type CrdVersion,
  isObject,
  type Json,
  type JsonObject,
  jsonText,
  judge,
  type Projection,
  project,
  schemaPathText,
} from '@drydock/crd';

/** So many fields are left out one by one. */
const TRIES = 200;
const CORE: ReadonlySet<string> = new Set(CORE_FIELDS.map((field) => field.replace(/\W.*/, '')));

/**
 * The status that the schema takes whole, and what stands against any: faults of the spec, of what nobody may leave out, or of rules about
 * the whole object. If such rules alone refuse it, each field is left out on its own, the smallest first.
 */
export function legalStatus(
  status: JsonObject,
  object: JsonObject,
  options: { readonly live: CrdVersion; readonly minor: number },
): Projection {
  const whole = project(status, object, options);
  const stuck = [...faultsOfSpec(object, options), ...whole.stuck];
  if (stuck.length === 0 || stuck.some(({ owner }) => owner.length > 0)) return { ...whole, stuck };
  for (const { path, value } of fieldsOf(status).slice(0, TRIES)) {
    const tried = project(without(status, path), object, options);
    if (tried.stuck.length > 0) continue;
    const left = { path: schemaPathText(['status', ...path]), value, why: stuck[0]?.message ?? '' };
    return { ...tried, quarantined: [left, ...tried.quarantined] };
  }
  return { ...whole, stuck };
}

/** The status endpoint does not look at the spec, but whoever writes the object itself is refused. */
function faultsOfSpec(
  object: JsonObject,
  { live, minor }: { readonly live: CrdVersion; readonly minor: number },
): readonly Cause[] {
  const { schema = {}, status: hasStatus } = live;
  const { causes } = judge({ endpoint: 'main', next: object, stored: object, schema, hasStatus }, { era: 'E0', minor });
  return causes.filter(({ owner }) => owner[0] === 'spec');
}

interface Field {
  readonly path: readonly string[];
  readonly value: Json;
}

/** Each field below the status that may be left out, the one with the shortest text first. Items of lists are no fields. */
function fieldsOf(status: JsonObject): readonly Field[] {
  const below = (value: Json, path: readonly string[]): readonly Field[] => [
    { path, value },
    ...(isObject(value) ? Object.entries(value).flatMap(([key, one]) => below(one, [...path, key])) : []),
  ];
  return Object.entries(status)
    .filter(([key]) => !CORE.has(key))
    .flatMap(([key, value]) => below(value, [key]))
    .map((field) => ({ field, size: jsonText(field.value).length }))
    .toSorted((a, b) => a.size - b.size)
    .map(({ field }) => field);
}

function without(object: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject {
  const { [key]: value, ...kept } = object;
  return rest.length === 0 || !isObject(value ?? null)
    ? kept
    : { ...object, [key]: without(value as JsonObject, rest) };
}
