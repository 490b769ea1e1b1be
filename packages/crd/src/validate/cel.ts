import { EvaluationError, Optional, type ParseResult } from '@marcbachmann/cel-js';
import { environment } from '../cel/environment.ts';
import { FAULT } from '../cel/fault.ts';
import { withOurs } from '../cel/names.ts';
import type { Json } from '../schema/json.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import { withPresence } from './cel-presence.ts';
import { type Reach, reachesLists, reachOf, within } from './cel-reach.ts';
import { type Order, valueForRules } from './cel-value.ts';

/** What a rule says about a value. */
export type RuleAnswer =
  | { readonly kind: 'holds' }
  /** `broken`: it could not be evaluated, which no server overlooks, whatever was there before. */
  | { readonly kind: 'fails'; readonly message: string; readonly broken?: boolean }
  /** Only the server can tell. */
  | { readonly kind: 'unknown'; readonly why: string; readonly broken?: boolean };

const parsed = new Map<string, { readonly program: ParseResult | Error; readonly reach: Reach }>();
let last: { readonly self: Json; readonly schema: Schema; readonly views: Map<Order, unknown> } | undefined;

/**
 * Evaluates a rule. What the library does not know (functions, overloads) is unknown; what CEL itself calls an error (a key that is not there) fails, as it does on the server.
 * `transition` has the old value where the rule asks for it.
 */
export function evaluateRule(
  rule: CelRule,
  schema: Schema,
  self: Json,
  transition: { readonly old: Json | undefined } | undefined,
  root: boolean,
): RuleAnswer {
  let known = parsed.get(rule.rule);
  if (known === undefined) {
    known = { program: parse(rule.rule), reach: reachOf(rule.rule) };
    parsed.set(rule.rule, known);
  }
  const { program, reach } = known;
  if (program instanceof Error) return { kind: 'unknown', why: `cannot be read here: ${firstLine(program)}` };
  // The rules of a node come one after the other.
  if (last?.self !== self || last.schema !== schema) last = { self, schema, views: new Map() };
  const { views } = last;
  const viewOf = (value: Json, order: Order): unknown => valueForRules(within(value, reach), schema, root, order);
  const oldIn = (order: Order, old: Json | undefined): unknown => {
    if (rule.optionalOldSelf !== true) return viewOf(old ?? null, order);
    return old === undefined ? Optional.none() : Optional.of(viewOf(old, order));
  };
  const answerIn = (order: Order): RuleAnswer => {
    let view = reach === true ? views.get(order) : undefined;
    view ??= viewOf(self, order);
    if (reach === true) views.set(order, view);
    const old = transition === undefined ? {} : { oldSelf: oldIn(order, transition.old) };
    return answerOf(rule, program, { self: view, ...old });
  };
  const odd = traitsOf(schema).nulls || reachesLists(schema, reach);
  if (!odd || !/[!=]=/.test(rule.rule)) return answerIn('given');
  const [up, down] = [answerIn('up'), answerIn('down')];
  return up.kind === down.kind
    ? up
    : {
        kind: 'unknown',
        why: 'compares lists that have no order, or fields that are null, and that depends on the server',
      };
}

/** What an error of these codes is for the library, it is for a server too. */
const BROKEN: ReadonlySet<string> = new Set([
  FAULT,
  'optional_value_missing',
  'no_such_key',
  'index_out_of_range',
  'index_out_of_bounds',
  'division_by_zero',
  'modulo_by_zero',
  'numeric_overflow',
]);

function answerOf(rule: CelRule, program: ParseResult, context: Readonly<Record<string, unknown>>): RuleAnswer {
  try {
    const answer: unknown = program(context);
    if (answer === true) return { kind: 'holds' };
    if (answer !== false) return { kind: 'unknown', why: 'does not evaluate to true or false' };
    return { kind: 'fails', message: rule.message ?? `failed rule: ${rule.rule}` };
  } catch (error) {
    const code = error instanceof EvaluationError ? error.code : '';
    if (BROKEN.has(code))
      return { kind: 'fails', broken: true, message: `rule ${rule.rule} cannot be evaluated: ${wordsOf(code)}` };
    return { kind: 'unknown', why: `cannot be evaluated here${code === '' ? '' : `: ${wordsOf(code)}`}` };
  }
}

/** Never the library's own words: they may have the value. */
function wordsOf(code: string): string {
  return code.replaceAll('_', ' ');
}

function parse(rule: string): ParseResult | Error {
  try {
    return environment().parse(withOurs(withPresence(rule)));
  } catch (error) {
    return error instanceof Error ? error : new Error('unreadable', { cause: error });
  }
}

function firstLine(error: Error): string {
  return error.message.split('\n', 1)[0] ?? '';
}
