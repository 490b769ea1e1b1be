import { isList, type Json, type JsonObject, own } from '../schema/json.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { isTransition } from '../schema/traits.ts';
import { evaluateRule } from './cel.ts';
import { textForRules } from './cel-value.ts';
import { defaulted } from './defaults.ts';
import { checkEmbedded } from './embedded.ts';
import { hasRepeated } from './list-types.ts';
import { META } from './prune.ts';
import { keepsWholeHead } from './resource-within.ts';
import { validate } from './validate.ts';

/**
 * Whether a server of Kubernetes 1.`minor` reads an object as it is and creates it as it is: nothing to prune, no null to drop, no default to fill in, and nothing that the schema or a rule refuses, or that only a server can
 * decide. `false` means only that somebody has to look closer: `prune`, `applyDefaults` and `judge` say what it is, and this one never says yes where they have something to say.
 *
 * Most objects of a cluster are plain. So each node of a schema is compiled once, where an object first needs it, and each object is walked once.
 */
export function isPlain(object: JsonObject, schema: Schema, minor: number): boolean {
  let plan = compiled.get(schema);
  if (plan?.setting.minor !== minor) {
    plan = planOf(schema, { minor, root: true, prunes: true, preserved: false });
    compiled.set(schema, plan);
  }
  return takes(plan, object);
}

const compiled = new WeakMap<Schema, Plan>();

/** What a node has from the nodes around it. */
interface Setting {
  readonly minor: number;
  /** The node is the object itself. */
  readonly root: boolean;
  /** What the schema does not know is pruned; not so in the metadata of a resource. */
  readonly prunes: boolean;
  /** The node is an item of a list that preserves what its items have. */
  readonly preserved: boolean;
}

/** A node of a schema. There are ten thousands of them: what few need is apart. */
interface Plan {
  readonly schema: Schema;
  readonly setting: Setting;
  /** Bits of the kinds of values that have its type. */
  readonly kinds: number;
  /** Lengths (in UTF-16 units) between which a text breaks no bound, however many code points it has. */
  readonly shortest: number;
  readonly longest: number;
  /** Verdicts about texts and numbers of which more is asked than type and length; undefined where nothing is. */
  readonly known: Map<string | number, boolean> | undefined;
  /** Asks the junctors and rules of the node, and about the enum of what is no text or number. */
  readonly asks: ((value: Json) => boolean) | undefined;
  list: ListPlan | undefined;
  object: ObjectPlan | undefined;
}

const TEXT = 1;
const WHOLE = 2;
const FRACTION = 4;
const TRUTH = 8;
const LIST = 16;
const OBJECT = 32;
const NULL = 64;

const KINDS: Readonly<Record<string, number>> = {
  string: TEXT,
  integer: WHOLE,
  number: WHOLE | FRACTION,
  boolean: TRUTH,
  array: LIST,
  object: OBJECT,
  '': TEXT | WHOLE | FRACTION | TRUTH | LIST | OBJECT,
};

/** Keywords that are asked of numbers, and of texts beside their length. */
const SCALAR = ['enum', 'format', 'maximum', 'minimum', 'multipleOf', 'pattern'] as const;
/** Keywords that are asked of all values. */
const ANY = ['allOf', 'anyOf', 'enum', 'not', 'oneOf'] as const;

function planOf(schema: Schema, setting: Setting): Plan {
  const { 'x-kubernetes-int-or-string': either, 'x-kubernetes-validations': rules, enum: members, type = '' } = schema;
  const { maxLength = Number.POSITIVE_INFINITY, minLength = 0 } = schema;
  const has = (keyword: keyof Schema): boolean => schema[keyword] !== undefined;
  const isNull = schema.nullable === true && (members ?? []).length === 0;
  const whole = Object.fromEntries(ANY.filter(has).map((keyword) => [keyword, schema[keyword]])) as Schema;
  return {
    schema,
    setting,
    kinds: (either === true ? TEXT | WHOLE : (KINDS[type] ?? 0)) | (isNull ? NULL : 0),
    shortest: minLength < 2 ? minLength : 2 * minLength,
    longest: maxLength,
    known: [...SCALAR, ...ANY].some(has) ? new Map() : undefined,
    asks:
      rules === undefined && !ANY.some(has)
        ? undefined
        : (value) =>
            (isScalar(value) || isTaken(value, whole, setting.minor)) &&
            (rules ?? []).every((rule) => holds(rule, schema, value, setting.root)),
    list: undefined,
    object: undefined,
  };
}

function takes(plan: Plan, value: Json): boolean {
  switch (typeof value) {
    case 'string':
      if ((plan.kinds & TEXT) === 0) return false;
      if (plan.known === undefined ? value.length < plan.shortest || value.length > plan.longest : true)
        if (!isKnownRight(plan, value)) return false;
      break;
    case 'number': {
      const kind = Number.isSafeInteger(value) ? WHOLE : Number.isInteger(value) ? 0 : FRACTION;
      // An integer that is no safe one may have been another number.
      if ((plan.kinds & kind) === 0 || (plan.known !== undefined && !isKnownRight(plan, value))) return false;
      break;
    }
    case 'boolean':
      if ((plan.kinds & TRUTH) === 0 || (plan.known !== undefined && !isTaken(value, plan.schema, plan.setting.minor)))
        return false;
      break;
    case 'object':
      if (value === null) return (plan.kinds & NULL) !== 0;
      if (!(isList(value) ? takesList(plan, value) : takesObject(plan, value as JsonObject))) return false;
      break;
    default:
      return false;
  }
  return plan.asks === undefined || plan.asks(value);
}

interface ListPlan {
  readonly least: number;
  readonly most: number;
  readonly unique: boolean;
  readonly items: Plan | undefined;
  /** Of items that nothing is said about, all stays, or only what is no object and no list. */
  readonly preserves: boolean;
}

function listPlanOf({ schema, setting: { minor, preserved, prunes } }: Plan): ListPlan {
  const { items, maxItems = Number.POSITIVE_INFINITY, minItems = 0 } = schema;
  const preserves = preserved || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    least: minItems,
    most: maxItems,
    unique: ['set', 'map'].includes(schema['x-kubernetes-list-type'] ?? ''),
    items: items === undefined ? undefined : planOf(items, { minor, root: false, prunes, preserved: preserves }),
    preserves: preserves || !prunes,
  };
}

function takesList(plan: Plan, list: readonly Json[]): boolean {
  if ((plan.kinds & LIST) === 0) return false;
  plan.list ??= listPlanOf(plan);
  const { items, least, most, preserves, unique } = plan.list;
  if (list.length < least || list.length > most || (unique && hasRepeated(list, plan.schema))) return false;
  if (items === undefined) return preserves || list.every(isScalar);
  for (const item of list) if (!takes(items, item)) return false;
  return true;
}

interface ObjectPlan {
  readonly least: number;
  readonly most: number;
  /** Names that must be there: where they are not, they are missed, or a default is filled in. */
  readonly needed: readonly string[];
  readonly fields: Map<string, Plan>;
  readonly others: Plan | undefined;
  readonly resource: boolean;
  readonly embedded: boolean;
  /** Fields without a schema stay. */
  readonly preserves: boolean;
}

function objectPlanOf({ schema, setting: { minor, preserved, prunes, root } }: Plan): ObjectPlan {
  const { additionalProperties: additional, maxProperties = Number.POSITIVE_INFINITY, minProperties = 0 } = schema;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  return {
    least: minProperties,
    most: maxProperties,
    needed: [...new Set([...(schema.required ?? []), ...defaulted(schema.properties ?? {})])],
    fields: new Map(),
    others:
      typeof additional === 'object' ? planOf(additional, { minor, root: false, prunes, preserved: false }) : undefined,
    resource: root || embedded,
    embedded,
    preserves: preserved || schema['x-kubernetes-preserve-unknown-fields'] === true,
  };
}

function takesObject(plan: Plan, object: JsonObject): boolean {
  if ((plan.kinds & OBJECT) === 0) return false;
  plan.object ??= objectPlanOf(plan);
  const { embedded, fields, least, most, needed } = plan.object;
  for (const name of needed) if (!Object.hasOwn(object, name)) return false;
  let count = 0;
  for (const key in object) {
    count += 1;
    const field = fields.get(key) ?? fieldOf(plan, plan.object, key);
    const value = object[key] as Json;
    if (!(field === undefined ? keeps(plan, plan.object, key, value) : takes(field, value))) return false;
  }
  return count >= least && count <= most && !(embedded && !isResource(object));
}

function fieldOf({ schema, setting: { minor, prunes } }: Plan, plan: ObjectPlan, key: string): Plan | undefined {
  const property = own(schema.properties, key);
  // One for all other keys, of which there may be any number.
  if (property === undefined) return plan.others;
  const isMeta = plan.resource && META.has(key);
  const field = planOf(property, { minor, root: false, prunes: prunes && !isMeta, preserved: false });
  plan.fields.set(key, field);
  return field;
}

/** Whether all of a field stays that has no schema. */
function keeps({ schema, setting: { prunes } }: Plan, plan: ObjectPlan, key: string, value: Json): boolean {
  if (!prunes || (plan.resource && META.has(key))) return true;
  return schema.additionalProperties === true ? isScalar(value) : plan.preserves;
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}

/** Texts and numbers of one node whose verdict is remembered. */
const MOST_KNOWN = 1000;

function isKnownRight({ known, schema, setting: { minor } }: Plan, value: string | number): boolean {
  let right = known?.get(value);
  if (right === undefined) {
    // What a rule cannot have, it may not say so itself.
    right = isTaken(value, schema, minor) && (typeof value === 'number' || textForRules(value, schema) !== undefined);
    if (known?.size === MOST_KNOWN) known.clear();
    known?.set(value, right);
  }
  return right;
}

function isTaken(value: Json, schema: Schema, minor: number): boolean {
  const context = { minor, ratchets: false, causes: [], doubts: [] };
  validate(value, schema, [], undefined, context);
  return context.causes.length === 0 && context.doubts.length === 0;
}

/** Whether a rule holds of an object that nobody has stored yet. */
function holds(rule: CelRule, schema: Schema, value: Json, root: boolean): boolean {
  const compares = isTransition(rule);
  if (compares && rule.optionalOldSelf !== true) return true;
  return evaluateRule(rule, schema, value, compares ? { old: undefined } : undefined, root).kind === 'holds';
}

function isResource(object: JsonObject): boolean {
  const into = { causes: [], doubts: [] };
  checkEmbedded(object, RESOURCE, [], into);
  return keepsWholeHead(object) && into.causes.length === 0 && into.doubts.length === 0;
}

const RESOURCE: Schema = { 'x-kubernetes-embedded-resource': true };
