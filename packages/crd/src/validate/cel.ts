import { isIP } from 'node:net';
import { Environment, EvaluationError, type ParseResult } from '@marcbachmann/cel-js';
import { type Json, jsonText } from '../schema/json.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { traitsOf } from '../schema/traits.ts';
import { withPresence } from './cel-presence.ts';
import { type Reach, reachesLists, reachOf, within } from './cel-reach.ts';
import { type Order, valueForRules } from './cel-value.ts';
import { isRequestUri } from './formats.ts';
import { find, matches } from './pattern.ts';

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
  if (transition !== undefined && rule.optionalOldSelf === true)
    return { kind: 'unknown', why: 'has an optional old value' };
  if (COUNTS.test(rule.rule) && /[\ud800-\udfff]/.test(jsonText([self, transition?.old ?? null])))
    return { kind: 'unknown', why: 'counts the characters of a text that has unusual ones' };
  // The rules of a node come one after the other.
  if (last?.self !== self || last.schema !== schema) last = { self, schema, views: new Map() };
  const { views } = last;
  const viewOf = (value: Json, order: Order): unknown => valueForRules(within(value, reach), schema, root, order);
  const answerIn = (order: Order): RuleAnswer => {
    let view = reach === true ? views.get(order) : undefined;
    view ??= viewOf(self, order);
    if (reach === true) views.set(order, view);
    const old = transition === undefined ? {} : { oldSelf: viewOf(transition.old ?? null, order) };
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

/** Functions that count in halves of a character in the library, and in whole ones on a server. */
const COUNTS = /\.\s*(?:substring|indexOf|lastIndexOf|charAt|split)\s*\(/;

/** What an error of these codes is for the library, it is for a server too. */
const BROKEN: ReadonlySet<string> = new Set([
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
    return environment().parse(withRe2(withPresence(rule)));
  } catch (error) {
    return error instanceof Error ? error : new Error('unreadable', { cause: error });
  }
}

/** The library's `matches` is JavaScript's; the server's is RE2. Quoted text is left alone. */
function withRe2(rule: string): string {
  return rule.replaceAll(
    /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\.\s*matches\s*\(/g,
    (_all, quoted: string | undefined) => quoted ?? '.re2Matches(',
  );
}

let shared: Environment | undefined;

/** CEL with the functions that Kubernetes adds and that real rules use; see k8s.io/apiserver/pkg/cel/library. */
function environment(): Environment {
  if (shared !== undefined) return shared;
  const made = new Environment({
    unlistedVariablesAreDyn: true,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
  });
  const add = (signature: string, handler: (...args: never[]) => unknown): void => {
    try {
      made.registerFunction(signature, handler as (...args: unknown[]) => unknown);
    } catch {
      // The library has it by now.
    }
  };
  add('string.re2Matches(string): bool', (text: string, pattern: string) => decided(matches(pattern, text)));
  add('isIP(string): bool', isAddress);
  add('isCIDR(string): bool', (text: string) => {
    const [, address = '', bits = ''] = /^(.*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
    return bits !== '' && isAddress(address) && Number(bits) <= (address.includes(':') ? 128 : 32);
  });
  add('isURL(string): bool', (text: string) => decided(isRequestUri(text)));
  add('string.find(string): string', (text: string, pattern: string) => decided(find(pattern, text)));
  add('duration(google.protobuf.Duration): google.protobuf.Duration', (duration: unknown) => duration);
  add('timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp', (moment: unknown) => moment);
  add('list.isSorted(): bool', (list: readonly (string | bigint)[]) =>
    list.every((item, at) => at === 0 || (list[at - 1] ?? item) <= item),
  );
  shared = made;
  return made;
}

/** What cannot be decided here makes the rule undecided. */
function decided<T>(answer: T | undefined): T {
  if (answer === undefined) throw new RangeError('only the server can tell');
  return answer;
}

/** netip.ParseAddr without zones, and without addresses of version 4 in the form of version 6. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%') && !/^(?:0{0,4}:)+ffff:(?:[\da-f]+:[\da-f]+|[\d.]+)$/i.test(text);
}

function firstLine(error: Error): string {
  return error.message.split('\n', 1)[0] ?? '';
}
