import { canonicalRule } from '../diff/diff-rules.ts';
import type { RuleId } from '../diff/step.ts';
import { equal, type Json, own } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';

/** What no schema can bridge, and why. */
export interface Unbridged {
  readonly rule: RuleId;
  readonly version: string;
  readonly path: string;
  /** A clause. */
  readonly why: string;
}

/** A merge in progress: gathers what it cannot do. */
export interface Merge {
  readonly version: string;
  readonly unbridged: Unbridged[];
}

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const LIST_TYPE = 'x-kubernetes-list-type';
const LIST_KEYS = 'x-kubernetes-list-map-keys';
const RULES = 'x-kubernetes-validations';
const INT_OR_STRING = 'x-kubernetes-int-or-string';

type Mutable = { -readonly [K in keyof Schema]: Schema[K] };

/** A schema that takes everything that `old` or `now` takes, and prunes nothing that either of them knows. Where both have a default, `old`'s holds. */
export function bridgeNode(old: Schema, now: Schema, path: Path, merge: Merge): Schema {
  if (old === now || equal(old as Json, now as Json)) return now;
  const next: Mutable = { ...annotationsOf(now) };
  if (!mergeType(old, now, next)) {
    merge.unbridged.push({
      rule: 'N11',
      version: merge.version,
      path: schemaPathText(path),
      why: `type ${old.type ?? 'any'} and type ${now.type ?? 'any'} have no common schema`,
    });
    return now;
  }
  if (old.nullable === true || now.nullable === true) next.nullable = true;
  const filled = old.default ?? now.default;
  if (filled !== undefined) next.default = filled;
  mergeBounds(old, now, next);
  if (old.enum !== undefined && now.enum !== undefined)
    next.enum = [...now.enum, ...old.enum.filter((value) => !now.enum?.some((other) => equal(value, other)))];
  const required = (old.required ?? []).filter((name) => now.required?.includes(name));
  if (required.length > 0) next.required = required;
  mergeFields(old, now, next, path, merge);
  mergeLists(old, now, next, path, merge);
  if (old['x-kubernetes-map-type'] === now['x-kubernetes-map-type'] && now['x-kubernetes-map-type'] !== undefined)
    next['x-kubernetes-map-type'] = now['x-kubernetes-map-type'];
  // What is read back may differ by a default or by its type; a rule of one side must not see that of the other.
  if (readsAlike(old, now)) mergeRules(old, now, next);
  else {
    delete next.maxProperties;
    delete next.enum;
    if (old.enum !== undefined && now.enum !== undefined && next.type !== 'object' && next.type !== 'array')
      next.enum = [...now.enum, ...old.enum.filter((value) => !now.enum?.some((other) => equal(value, other)))];
  }
  return next;
}

/** What says something about a field and decides nothing. */
function annotationsOf(schema: Schema): Schema {
  const { description, title } = schema as { readonly description?: string; readonly title?: string };
  return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) } as Schema;
}

/** The common type, or false. */
function mergeType(old: Schema, now: Schema, next: Mutable): boolean {
  const [a, b] = [typeOf(old), typeOf(now)];
  if (a === 'any' || b === 'any') {
    if (a !== b || old[PRESERVE] === true || now[PRESERVE] === true) next[PRESERVE] = true;
    return true;
  }
  const both = new Set([a, b]);
  if (both.size === 1 && a !== INT_OR_STRING) next.type = a;
  else if ([...both].every((one) => one === 'integer' || one === 'number')) next.type = 'number';
  else if ([...both].every((one) => [INT_OR_STRING, 'integer', 'string'].includes(one))) next[INT_OR_STRING] = true;
  else return false;
  return true;
}

function typeOf(schema: Schema): string {
  return schema[INT_OR_STRING] === true
    ? INT_OR_STRING
    : schema.type === undefined || schema.type === ''
      ? 'any'
      : schema.type;
}

const MOST = ['maxLength', 'maxItems', 'maxProperties'] as const;
const LEAST = ['minLength', 'minItems', 'minProperties'] as const;

function mergeBounds(old: Schema, now: Schema, next: Mutable): void {
  for (const keyword of MOST) {
    const [a, b] = [old[keyword], now[keyword]];
    if (a !== undefined && b !== undefined) next[keyword] = Math.max(a, b);
  }
  for (const keyword of LEAST) {
    const [a, b] = [old[keyword], now[keyword]];
    if (a !== undefined && b !== undefined) next[keyword] = Math.min(a, b);
  }
  if (old.maximum !== undefined && now.maximum !== undefined) {
    next.maximum = Math.max(old.maximum, now.maximum);
    const at = (of: Schema): boolean => of.maximum !== next.maximum || of.exclusiveMaximum === true;
    if (at(old) && at(now)) next.exclusiveMaximum = true;
  }
  if (old.minimum !== undefined && now.minimum !== undefined) {
    next.minimum = Math.min(old.minimum, now.minimum);
    const at = (of: Schema): boolean => of.minimum !== next.minimum || of.exclusiveMinimum === true;
    if (at(old) && at(now)) next.exclusiveMinimum = true;
  }
  if (old.multipleOf !== undefined && old.multipleOf === now.multipleOf) next.multipleOf = old.multipleOf;
  if (old.pattern !== undefined && old.pattern === now.pattern) next.pattern = old.pattern;
  if (old.format !== undefined && old.format === now.format) next.format = old.format;
}

function mergeFields(old: Schema, now: Schema, next: Mutable, path: Path, merge: Merge): void {
  const keeps = (of: Schema): boolean => of[PRESERVE] === true;
  if (keeps(old) || keeps(now)) next[PRESERVE] = true;
  const embedded = 'x-kubernetes-embedded-resource';
  if (old[embedded] === true && now[embedded] === true) next[embedded] = true;
  else if (old[embedded] === true || now[embedded] === true) next[PRESERVE] = true;
  if (hasTyped(old) && hasTyped(now)) {
    next.additionalProperties = bridgeNode(additionalOf(old), additionalOf(now), [...path, '*'], merge);
    return;
  }
  if (hasAny(old) || hasAny(now) || hasTyped(old) || hasTyped(now)) {
    // Named fields here, any key there: nothing but "anything" takes both.
    if (old.properties === undefined && now.properties === undefined && !next[PRESERVE])
      next.additionalProperties =
        hasAny(old) || hasAny(now) ? true : hasTyped(old) ? additionalOf(old) : additionalOf(now);
    else next[PRESERVE] = true;
    if (next[PRESERVE]) return;
  }
  const names = Object.keys({ ...now.properties, ...old.properties });
  const properties = names.flatMap((name): readonly (readonly [string, Schema])[] => {
    const [a, b] = [own(old.properties, name), own(now.properties, name)];
    if (a !== undefined && b !== undefined) return [[name, bridgeNode(a, b, [...path, name], merge)]];
    return keeps(a === undefined ? old : now) ? [] : [[name, (a ?? b) as Schema]];
  });
  if (names.length > 0) next.properties = Object.fromEntries(properties);
}

function hasTyped(schema: Schema): boolean {
  return typeof schema.additionalProperties === 'object';
}

function hasAny(schema: Schema): boolean {
  return schema.additionalProperties === true;
}

function additionalOf(schema: Schema): Schema {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
}

function mergeLists(old: Schema, now: Schema, next: Mutable, path: Path, merge: Merge): void {
  if (old.items !== undefined && now.items !== undefined)
    next.items = bridgeNode(old.items, now.items, [...path, '[]'], merge);
  else if (old.items !== undefined || now.items !== undefined) next.items = { [PRESERVE]: true };
  const [a, b] = [old[LIST_TYPE], now[LIST_TYPE]];
  if (a === undefined && b === undefined) return;
  const same = a === b && equal(old[LIST_KEYS] ?? [], now[LIST_KEYS] ?? []);
  // The weaker of two types: a list of type atomic takes what either takes.
  next[LIST_TYPE] = same ? (a ?? 'atomic') : 'atomic';
  if (same && now[LIST_KEYS] !== undefined) next[LIST_KEYS] = now[LIST_KEYS];
}

const JUNCTORS = ['allOf', 'anyOf', 'oneOf', 'not'] as const;

function mergeRules(old: Schema, now: Schema, next: Mutable): void {
  const known = new Set((old[RULES] ?? []).map(canonicalRule));
  const rules = (now[RULES] ?? []).filter((rule) => known.has(canonicalRule(rule)));
  if (rules.length > 0) next[RULES] = rules;
  for (const keyword of JUNCTORS)
    if (now[keyword] !== undefined && equal(old[keyword] as Json | undefined, now[keyword] as Json | undefined))
      Object.assign(next, { [keyword]: now[keyword] });
}

/** Whether an object that one of the two knows reads the same through both: same types, same defaults. */
function readsAlike(a: Schema, b: Schema): boolean {
  if (a === b) return true;
  if (typeOf(a) !== typeOf(b) || !equal(a.default, b.default) || (a.nullable === true) !== (b.nullable === true))
    return false;
  if (a[LIST_TYPE] !== b[LIST_TYPE] || a[PRESERVE] !== b[PRESERVE] || hasTyped(a) !== hasTyped(b)) return false;
  for (const name of Object.keys({ ...a.properties, ...b.properties })) {
    const [x, y] = [own(a.properties, name), own(b.properties, name)];
    if (x === undefined || y === undefined) {
      if ((x ?? y)?.default !== undefined) return false;
    } else if (!readsAlike(x, y)) return false;
  }
  if ((a.items === undefined) !== (b.items === undefined)) return false;
  if (a.items !== undefined && b.items !== undefined && !readsAlike(a.items, b.items)) return false;
  return !hasTyped(a) || readsAlike(additionalOf(a), additionalOf(b));
}
