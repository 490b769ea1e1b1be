import { equal, type Json, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { validate } from '../validate/validate.ts';
import { diffRules } from './diff-rules.ts';
import { diffUnknown } from './diff-unknown.ts';
import { diffValues } from './diff-values.ts';
import { difference } from './difference.ts';
import { below, type Effect, type Place, type RuleId, type Step, shown, stepAt } from './step.ts';

/** All differences between two schemas of one node and of what is below it. */
export function diffNode(a: Schema, b: Schema, place: Place): readonly Step[] {
  if (a === b) return [];
  const type = diffType(a, b, place);
  // Where the type is another one, nothing below can be compared.
  if (type.some(({ effect }) => effect === 'narrows') && type.some(({ effect }) => effect === 'widens')) return type;
  return [
    ...type,
    ...diffNull(a, b, place),
    ...diffValues(a, b, place),
    ...diffRequired(a, b, place),
    ...diffDefault(a, b, place),
    ...diffLists(a, b, place),
    ...diffJunctors(a, b, place),
    ...diffRules(a, b, place),
    ...diffUnknown(a, b, place),
    ...diffChildren(a, b, place),
  ];
}

/** The types that a node may have. */
function typesOf(schema: Schema): ReadonlySet<string> | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return new Set(['integer', 'string']);
  if (schema.type === undefined || schema.type === '') return undefined;
  return new Set(schema.type === 'number' ? ['integer', 'number'] : [schema.type]);
}

function diffType(a: Schema, b: Schema, place: Place): readonly Step[] {
  const [before, after] = [typesOf(a), typesOf(b)];
  const name = (of: ReadonlySet<string> | undefined): string =>
    of === undefined ? 'any' : [...of].toSorted().join(' or ');
  const step = (effect: Effect): Step =>
    stepAt(place, { rule: 'N11', effect, keyword: 'type', what: `type ${name(before)} → ${name(after)}` });
  const narrows = after !== undefined && (before === undefined || [...before].some((type) => !after.has(type)));
  const widens = before !== undefined && (after === undefined || [...after].some((type) => !before.has(type)));
  return [...(narrows ? [step('narrows')] : []), ...(widens ? [step('widens')] : [])];
}

function diffNull(a: Schema, b: Schema, place: Place): readonly Step[] {
  const [before, after] = [a.nullable === true, b.nullable === true];
  if (before === after) return [];
  const what = after ? 'null becomes legal' : 'null is no longer legal: it is pruned, or refused';
  return [stepAt(place, { rule: 'N13', effect: after ? 'widens' : 'narrows', keyword: 'nullable', what })];
}

function diffRequired(a: Schema, b: Schema, place: Place): readonly Step[] {
  const steps: Step[] = [];
  const rule: RuleId = place.path.length === 1 && place.path[0] === 'status' ? 'N10' : 'N9';
  const add = (effect: Effect, names: readonly string[], what: string): void => {
    if (names.length > 0)
      steps.push(stepAt(place, { rule, effect, keyword: 'required', what: `${what} ${names.join(', ')}` }));
  };
  const missing = (of: Schema, than: Schema): readonly string[] =>
    (than.required ?? []).filter((name) => of.required?.includes(name) !== true);
  // A default fills in what is missing before anybody asks for it.
  const added = missing(a, b).filter((name) => own(b.properties, name)?.default === undefined);
  const removed = missing(b, a).filter((name) => own(a.properties, name)?.default === undefined);
  add('narrows', added, 'now requires');
  add('widens', removed, 'no longer requires');
  return steps;
}

function diffDefault(a: Schema, b: Schema, place: Place): readonly Step[] {
  const steps: Step[] = [];
  if (a.default !== b.default && !equal(a.default, b.default)) {
    const what = `default ${difference(a.default, b.default)}`;
    const rule: RuleId = b.default === undefined ? 'N21' : 'N22';
    steps.push(stepAt(place, { rule, effect: 'shifts', keyword: 'default', what }));
  }
  if (breaksOwnDefault(b) && !breaksOwnDefault(a)) {
    const what = `default ${shown(b.default)} is illegal: a server refuses the definition`;
    steps.push(stepAt(place, { rule: 'N23', effect: 'narrows', keyword: 'default', what }));
  }
  return steps;
}

/** Whether a default does not satisfy the schema that has it (N23). */
export function breaksOwnDefault(schema: Schema): boolean {
  if (schema.default === undefined) return false;
  const context = { minor: 0, ratchets: false, causes: [], doubts: [] };
  validate(applyDefaults(schema.default, schema), schema, [], undefined, context);
  return context.causes.length > 0;
}

function diffLists(a: Schema, b: Schema, place: Place): readonly Step[] {
  const describe = (of: Schema): string => {
    const keys = of['x-kubernetes-list-map-keys'];
    return `${of['x-kubernetes-list-type'] ?? 'atomic'}${keys === undefined ? '' : ` by ${keys.join('+')}`}`;
  };
  const [before, after] = [describe(a), describe(b)];
  const steps: Step[] = [];
  if ((a.type === 'array' || b.type === 'array') && before !== after) {
    const what = `list type ${before} → ${after}`;
    const step = (rule: RuleId, effect: Effect): Step =>
      stepAt(place, { rule, effect, keyword: 'x-kubernetes-list-type', what });
    if (before === 'atomic') steps.push(step('N19', 'narrows'));
    else if (after === 'atomic') steps.push(step('N19', 'widens'), step('N20', 'shifts'));
    else steps.push(step('N19', 'narrows'), step('N19', 'widens'), step('N20', 'shifts'));
  }
  const map = (of: Schema): string => of['x-kubernetes-map-type'] ?? 'granular';
  if (map(a) !== map(b)) {
    const what = `map type ${map(a)} → ${map(b)}`;
    steps.push(stepAt(place, { rule: 'N20', effect: 'shifts', keyword: 'x-kubernetes-map-type', what }));
  }
  return steps;
}

const JUNCTORS = ['allOf', 'anyOf', 'oneOf', 'not'] as const;

function diffJunctors(a: Schema, b: Schema, place: Place): readonly Step[] {
  const steps: Step[] = [];
  for (const keyword of JUNCTORS) {
    const [before, after] = [a[keyword] as Json | undefined, b[keyword] as Json | undefined];
    if (before === undefined ? after === undefined : equal(before, after)) continue;
    const effect: Effect = before === undefined ? 'narrows' : after === undefined ? 'widens' : 'undecided';
    const what =
      effect === 'undecided' ? `${keyword} changes` : effect === 'narrows' ? `${keyword} is added` : `${keyword} goes`;
    steps.push(stepAt(place, { rule: 'N6', effect, keyword, what }));
  }
  return steps;
}

function diffChildren(a: Schema, b: Schema, place: Place): readonly Step[] {
  const steps: Step[] = [];
  const [keepsBefore, keepsAfter] = [keepsUnknown(a), keepsUnknown(b)];
  if (keepsBefore !== keepsAfter) {
    const what = keepsAfter ? 'unknown fields are kept' : 'unknown fields are pruned';
    const keyword = 'x-kubernetes-preserve-unknown-fields';
    steps.push(stepAt(place, { rule: 'N13', effect: keepsAfter ? 'widens' : 'narrows', keyword, what }));
  }
  const embedded = (of: Schema): boolean => of['x-kubernetes-embedded-resource'] === true;
  if (embedded(a) !== embedded(b)) {
    const keyword = 'x-kubernetes-embedded-resource';
    const what = embedded(b) ? 'is an embedded resource now' : 'is no embedded resource any more';
    steps.push(stepAt(place, { rule: 'N13', effect: 'undecided', keyword, what }));
  }
  for (const name of Object.keys({ ...a.properties, ...b.properties }).toSorted()) {
    const always = ofEveryResource(place, name);
    const [before, after] = [childOf(a, name) ?? always, childOf(b, name) ?? always];
    const inner = below(place, a, name);
    const at = place.keys?.has(name) === true ? { ...inner, key: true } : inner;
    if (before !== undefined && after !== undefined) steps.push(...diffNode(before, after, at));
    else if (before === undefined) steps.push(...appeared(a, after, at));
    else steps.push(...vanished(b, at));
  }
  if (a.items !== undefined && b.items !== undefined)
    steps.push(...diffNode(a.items, b.items, { ...below(place, b, '[]'), keys: keysOf(a, b) }));
  steps.push(...diffAdditional(a, b, place));
  return steps;
}

/** What every resource has, whether its schema names it or not; undefined elsewhere. */
function ofEveryResource({ path }: Place, name: string): Schema | undefined {
  if (path.length === 0 && name === 'metadata') return { type: 'object' };
  const isText = path.length === 0 ? ['apiVersion', 'kind'] : path.length === 1 && path[0] === 'metadata' ? NAMES : [];
  return isText.includes(name) ? { type: 'string' } : undefined;
}

/** Nothing else of the metadata may a schema speak of. */
const NAMES: readonly string[] = ['name', 'generateName'];

function keepsUnknown(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true;
}

/** What decides about a key: its property, or what all keys must be. */
function childOf(schema: Schema, name: string): Schema | undefined {
  const { additionalProperties: additional } = schema;
  return own(schema.properties, name) ?? (typeof additional === 'object' ? additional : undefined);
}

/** A property that is new: it widens, unless the old schema took anything there. */
function appeared(a: Schema, after: Schema | undefined, at: Place): readonly Step[] {
  const anything = keepsUnknown(a) || a.additionalProperties === true;
  const step = stepAt(at, { rule: 'N12', effect: 'widens', keyword: 'properties', what: 'field is new' });
  if (anything)
    return [{ ...step, rule: 'N14', effect: 'narrows', what: 'a field that could be anything gets a schema' }];
  if (after?.default === undefined) return [step];
  const what = `default none → ${shown(after.default)}, with the new field`;
  return [step, stepAt(at, { rule: 'N22', effect: 'shifts', keyword: 'default', what })];
}

function vanished(b: Schema, at: Place): readonly Step[] {
  if (keepsUnknown(b) || b.additionalProperties === true)
    return [
      stepAt(at, {
        rule: 'N14',
        effect: 'widens',
        keyword: 'properties',
        what: 'a field loses its schema and is kept',
      }),
    ];
  return [
    stepAt(at, {
      rule: 'N12',
      effect: 'narrows',
      keyword: 'properties',
      what: 'field is removed: its value is pruned',
    }),
  ];
}

function diffAdditional(a: Schema, b: Schema, place: Place): readonly Step[] {
  const [before, after] = [a.additionalProperties, b.additionalProperties];
  const at = below(place, a, '*');
  if (typeof before === 'object' && typeof after === 'object') return diffNode(before, after, at);
  const kept = (of: boolean | Schema | undefined, schema: Schema): 'none' | 'typed' | 'any' =>
    typeof of === 'object' ? 'typed' : of === true || keepsUnknown(schema) ? 'any' : 'none';
  const order = ['none', 'typed', 'any'];
  const [from, to] = [kept(before, a), kept(after, b)];
  // A change of what is preserved was told above.
  if (from === to || (typeof before !== 'object' && typeof after !== 'object')) return [];
  const effect = order.indexOf(to) > order.indexOf(from) ? 'widens' : 'narrows';
  return [stepAt(at, { rule: 'N14', effect, keyword: 'additionalProperties', what: `other keys: ${from} → ${to}` })];
}

function keysOf(...lists: readonly Schema[]): ReadonlySet<string> {
  return new Set(lists.flatMap((list) => list['x-kubernetes-list-map-keys'] ?? []));
}
