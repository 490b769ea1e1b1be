import { type CrdVersion, ERAS, equal, isObject, type Json, type JsonObject, judge, type Schema } from '@drydock/crd';

/** What an operator of a release makes of a status, as those of OpenShift do: it keeps what it once read, adds what its own release knows, and says that it is alive. */
export interface OperatorStatusOptions {
  /** The definition of the operator's own release. */
  readonly own: CrdVersion;
  /** What it read when it started; it keeps these items of lists for ever. */
  readonly memory: JsonObject | undefined;
  /** Counts its writes. */
  readonly round: number;
}

/** Condition by which an operator says that it is alive. */
export const ALIVE = 'RehearsalAlive';

/** The status that an operator means. Pure. */
export function operatorStatus(object: JsonObject, { own, memory, round }: OperatorStatusOptions): JsonObject {
  const status = isObject(object['status']) ? object['status'] : {};
  const schema = own.schema?.properties?.['status'];
  if (schema === undefined) return status;
  const remembered = isObject(memory?.['status']) ? memory['status'] : {};
  const before = wordsIn(status, schema, remembered, false) as JsonObject;
  const known = wordsIn(status, schema, remembered, true) as JsonObject;
  // Of what it adds itself an operator writes nothing that its own release refuses; what it remembers it never doubts.
  return withHeartbeat(isNewlyIllegal(object, before, known, own) ? before : known, schema, round);
}

function isNewlyIllegal(object: JsonObject, before: JsonObject, after: JsonObject, own: CrdVersion): boolean {
  if (own.schema === undefined || equal(before, after)) return false;
  const causes = (status: JsonObject): number =>
    judge(
      {
        endpoint: 'status',
        next: { ...object, status },
        stored: object,
        schema: own.schema as Schema,
        hasStatus: true,
      },
      ERAS.E0,
    ).causes.length;
  return causes(after) > causes(before);
}

/** Lists of words: those that were there before, those that are remembered and, with `all`, those that the release knows, in the order of bytes. */
function wordsIn(value: Json, schema: Schema, remembered: Json | undefined, all: boolean): Json {
  if (Array.isArray(value)) {
    const words = schema.items?.enum;
    if (words === undefined || schema['x-kubernetes-list-type'] === 'map') return value;
    const before = Array.isArray(remembered) ? (remembered as readonly Json[]) : [];
    const found = new Set([...(value as readonly Json[]), ...before, ...(all ? words : [])].map(String));
    return [...found].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const below = schema.properties?.[name];
      const old = isObject(remembered) ? remembered[name] : undefined;
      return [name, below === undefined ? inner : wordsIn(inner, below, old, all)];
    }),
  );
}

/** The status with a word less in each list that has words its schema does not know: one that it does. undefined: there is no such list. Pure. */
export function withFewerWords(object: JsonObject, schema: Schema): JsonObject | undefined {
  const status = object['status'];
  const below = schema.properties?.['status'];
  if (!isObject(status) || below === undefined) return undefined;
  const fewer = shorter(status, below) as JsonObject;
  return equal(fewer, status) ? undefined : fewer;
}

function shorter(value: Json, schema: Schema): Json {
  if (Array.isArray(value)) {
    const words: readonly Json[] | undefined = schema.items?.enum;
    const list = value as readonly Json[];
    if (words === undefined || list.every((one) => words.includes(one))) return value;
    const at = list.findIndex((one) => words.includes(one));
    return list.filter((_, index) => index !== at);
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const below = schema.properties?.[name];
      return [name, below === undefined ? inner : shorter(inner, below)];
    }),
  );
}

/** What changes in every write, where the kind has room for it: a condition, or the generation that was seen. */
function withHeartbeat(status: JsonObject, schema: Schema, round: number): JsonObject {
  const conditions = schema.properties?.['conditions'];
  if (conditions?.type !== 'array' || conditions.items?.properties?.['lastTransitionTime'] === undefined) return status;
  const alive = {
    type: ALIVE,
    status: 'True',
    reason: 'Rehearsal',
    message: `round ${round}`,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const before = Array.isArray(status['conditions']) ? (status['conditions'] as readonly JsonObject[]) : [];
  return { ...status, conditions: [...before.filter(({ type }) => type !== ALIVE), alive] };
}
