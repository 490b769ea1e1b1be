import { canonicalRule } from '../diff/diff-rules.ts';
import { isLegal } from '../diff/neutral.ts';
import type { RuleId } from '../diff/step.ts';
import { equal, type Json, own } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { ERAS } from '../validate/eras.ts';
import { readsAlike, typeOf } from './reads-alike.ts';
import { reachesOf } from './rule-room.ts';

/** What no schema can bridge, and why. */
export interface Unbridged {
  readonly rule: RuleId;
  readonly version: string;
  readonly path: string;
  /** A clause. */
  readonly why: string;
}

/** What a bridge is looser in than a reader might expect. */
export interface BridgeNote {
  readonly version: string;
  readonly path: string;
  /** A clause. */
  readonly what: string;
}

/** A merge in progress: gathers what it cannot do. */
export interface Merge {
  readonly version: string;
  readonly unbridged: Unbridged[];
  readonly notes: BridgeNote[];
  /** The schemas are of versions of different names, between which nothing converts: whoever reads one of them meets what was written through the other, whatever its type. */
  readonly across: boolean;
}

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const LIST_TYPE = 'x-kubernetes-list-type';
const LIST_KEYS = 'x-kubernetes-list-map-keys';
const RULES = 'x-kubernetes-validations';
const INT_OR_STRING = 'x-kubernetes-int-or-string';

type Mutable = { -readonly [K in keyof Schema]: Schema[K] };

/**
 * A schema that takes everything that `old` or `now` takes, and prunes nothing that either of them knows. Where both have a default, `old`'s holds; one that only `now` has, where it is legal in both.
 */
export function bridgeNode(old: Schema, now: Schema, path: Path, merge: Merge): Schema {
  if (old === now || equal(old as Json, now as Json)) return now;
  const next: Mutable = { ...annotationsOf(now) };
  if (old.nullable === true || now.nullable === true) next.nullable = true;
  const filled = defaultOf(old, now);
  if (filled !== undefined) next.default = filled;
  if (!mergeType(old, now, next)) {
    const types = `type ${old.type ?? 'any'} and type ${now.type ?? 'any'}`;
    if (!merge.across) {
      merge.unbridged.push({ rule: 'N11', ...placeOf(path, merge), why: `${types} have no common schema` });
      return now;
    }
    merge.notes.push({ ...placeOf(path, merge), what: `${types}: takes anything` });
    delete next.default;
    next[PRESERVE] = true;
  }
  if (typeOf(next) === 'any') return next;
  mergeBounds(old, now, next);
  const required = (old.required ?? []).filter((name) => now.required?.includes(name));
  if (required.length > 0) next.required = required;
  mergeFields(old, now, next, path, merge);
  mergeLists(old, now, next, path, merge);
  if (old['x-kubernetes-map-type'] === now['x-kubernetes-map-type'] && now['x-kubernetes-map-type'] !== undefined)
    next['x-kubernetes-map-type'] = now['x-kubernetes-map-type'];
  // What is read back may differ by a default or by its type; what one side says of the whole must not see that of the other.
  const alike = readsAlike(old, now);
  if (!alike) delete next.maxProperties;
  if (old.enum !== undefined && now.enum !== undefined && (alike || (next.type !== 'object' && next.type !== 'array')))
    next.enum = [...now.enum, ...old.enum.filter((value) => !now.enum?.some((other) => equal(value, other)))];
  if (alike) mergeJunctors(old, now, next);
  mergeRules(old, now, next, path, merge);
  return next;
}

/** The older default. One that is written back is stored, and must not be what the other release refuses. */
function defaultOf(old: Schema, now: Schema): Json | undefined {
  const both = (value: Json | undefined): boolean =>
    value !== undefined && [old, now].every((schema) => isLegal(value, schema, ERAS.E2.minor));
  return [old.default, now.default].find(both) ?? old.default;
}

function placeOf(path: Path, { version }: Merge): { readonly version: string; readonly path: string } {
  return { version, path: schemaPathText(path) };
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
  else if (old[embedded] === true || now[embedded] === true) {
    // Only an embedded resource keeps metadata that its schema does not know.
    next[PRESERVE] = true;
    return;
  }
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
    if (name === 'metadata' && (path.length === 0 || next[embedded] === true))
      return [[name, bridgeMetadata(a, b, [...path, name], merge)]];
    if (a !== undefined && b !== undefined) return [[name, bridgeNode(a, b, [...path, name], merge)]];
    return keeps(a === undefined ? old : now) ? [] : [[name, (a ?? b) as Schema]];
  });
  if (names.length > 0) next.properties = Object.fromEntries(properties);
}

/** Every resource has all of its metadata, also where a schema does not name it: what one release alone says of a name would be refused for the other's objects. */
function bridgeMetadata(old: Schema | undefined, now: Schema | undefined, path: Path, merge: Merge): Schema {
  const names = Object.keys(old?.properties ?? {}).filter((name) => own(now?.properties, name) !== undefined);
  const properties = names.flatMap((name): readonly (readonly [string, Schema])[] => {
    const [a, b] = [own(old?.properties, name), own(now?.properties, name)];
    return a === undefined || b === undefined ? [] : [[name, bridgeNode(a, b, [...path, name], merge)]];
  });
  return { type: 'object', ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }) };
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
  const keys = now[LIST_KEYS] ?? [];
  const same = a === b && equal(old[LIST_KEYS] ?? [], keys) && keys.every((key) => isKey(key, next.items));
  // The weaker of two types: a list of type atomic takes what either takes.
  next[LIST_TYPE] = same ? (a ?? 'atomic') : 'atomic';
  if (same && now[LIST_KEYS] !== undefined) next[LIST_KEYS] = now[LIST_KEYS];
}

/** Whether a server takes a field as the key of a list: a scalar that every item has. */
function isKey(name: string, items: Schema | undefined): boolean {
  const key = own(items?.properties, name);
  return (
    key !== undefined &&
    ['boolean', 'integer', 'number', 'string'].includes(typeOf(key)) &&
    (key.default !== undefined || items?.required?.includes(name) === true)
  );
}

const JUNCTORS = ['allOf', 'anyOf', 'oneOf', 'not'] as const;

function mergeJunctors(old: Schema, now: Schema, next: Mutable): void {
  for (const keyword of JUNCTORS)
    if (now[keyword] !== undefined && equal(old[keyword] as Json | undefined, now[keyword] as Json | undefined))
      Object.assign(next, { [keyword]: now[keyword] });
}

/** The rules that both have, as far as what they look at reads the same through both. */
function mergeRules(old: Schema, now: Schema, next: Mutable, path: Path, merge: Merge): void {
  const known = new Map((old[RULES] ?? []).map((rule) => [canonicalRule(rule), rule]));
  const rules = (now[RULES] ?? []).flatMap((rule): readonly CelRule[] => {
    const before = known.get(canonicalRule(rule));
    if (before === undefined) return [];
    if (!reachesOf(rule).every((reach) => readsAlike(old, now, reach))) {
      merge.notes.push({
        ...placeOf(path, merge),
        what: `${shortRule(rule)}: left out, what it looks at is not the same in both`,
      });
      return [];
    }
    if (before.messageExpression === rule.messageExpression) return [rule];
    const { messageExpression: _expression, ...rest } = rule;
    return [rest];
  });
  if (rules.length > 0) next[RULES] = rules;
}

/** A rule in a message. */
export function shortRule({ message, rule }: CelRule): string {
  const text = (message ?? rule).trim().replaceAll(/\s+/g, ' ');
  return `rule ${text.length > 100 ? `${text.slice(0, 99)}…` : text}`;
}
