import { isIP } from 'node:net';
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import { isList, isNumber, isObject, type Json, own } from '../schema/json.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { isCidr } from './formats.ts';
import { matches } from './pattern.ts';

/** What a rule says about a value. */
export type RuleAnswer =
  | { readonly kind: 'holds' }
  /** `broken`: it could not be evaluated, which no server overlooks, whatever was there before. */
  | { readonly kind: 'fails'; readonly message: string; readonly broken?: boolean }
  /** Only the server can tell. */
  | { readonly kind: 'unknown'; readonly why: string; readonly broken?: boolean };

const parsed = new Map<string, ParseResult | Error>();
let last: { readonly self: Json; readonly schema: Schema; readonly cel: unknown } | undefined;

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
  let program = parsed.get(rule.rule);
  if (program === undefined) {
    program = parse(rule.rule);
    parsed.set(rule.rule, program);
  }
  if (program instanceof Error) return { kind: 'unknown', why: `cannot be read here: ${firstLine(program)}` };
  // The rules of a node come one after the other.
  if (last?.self !== self || last.schema !== schema) last = { self, schema, cel: toCel(self, schema, root) };
  const context: Record<string, unknown> = { self: last.cel };
  if (transition !== undefined) {
    if (rule.optionalOldSelf === true) return { kind: 'unknown', why: 'has an optional old value' };
    context['oldSelf'] = toCel(transition.old ?? null, schema, root);
  }
  try {
    const answer: unknown = program(context);
    if (answer === true) return { kind: 'holds' };
    if (answer !== false) return { kind: 'unknown', why: 'does not evaluate to true or false' };
    return { kind: 'fails', message: rule.message ?? `failed rule: ${rule.rule}` };
  } catch (error) {
    if (error instanceof Error && /no such key|out of bounds|index out of range/i.test(error.message))
      return { kind: 'fails', broken: true, message: `rule ${rule.rule} cannot be evaluated: ${firstLine(error)}` };
    return { kind: 'unknown', why: `cannot be evaluated here: ${error instanceof Error ? firstLine(error) : ''}` };
  }
}

function parse(rule: string): ParseResult | Error {
  try {
    return environment().parse(withRe2(rule));
  } catch (error) {
    return error instanceof Error ? error : new Error('unreadable', { cause: error });
  }
}

/** The library's `matches` is JavaScript's; the server's is RE2. Quoted text is left alone. */
function withRe2(rule: string): string {
  return rule.replaceAll(
    /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\.matches\(/g,
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
  add('string.re2Matches(string): bool', (text: string, pattern: string) => matches(pattern, text) === true);
  add('isIP(string): bool', (text: string) => isIP(text) !== 0);
  add('isCIDR(string): bool', (text: string) => isCidr(text));
  add('isURL(string): bool', (text: string) => URL.canParse(text) && /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\//.test(text));
  add('string.find(string): string', (text: string, pattern: string) => new RegExp(pattern, 'u').exec(text)?.[0] ?? '');
  add('list.isSorted(): bool', (list: readonly (string | bigint)[]) =>
    list.every((item, at) => at === 0 || (list[at - 1] ?? item) <= item),
  );
  shared = made;
  return made;
}

/** A value as CEL has it: integers are 64 bits wide, maps have own keys only, and names that CEL could not say are escaped. */
function toCel(value: Json, schema: Schema | undefined, root = false): unknown {
  if (isNumber(value))
    return schema?.type === 'number' ? Number(value) : Number.isInteger(Number(value)) ? BigInt(value) : value;
  if (isList(value)) return value.map((item) => toCel(item, schema?.items));
  if (!isObject(value)) return value;
  const map = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(value)) {
    const property = own(schema?.properties, key);
    const additional = schema?.additionalProperties;
    const of = property ?? (typeof additional === 'object' ? additional : undefined);
    // Of the metadata of a resource rules see the names alone.
    if (root && key === 'metadata' && isObject(inner)) {
      const names = ['name', 'generateName'].flatMap((name) =>
        inner[name] === undefined ? [] : [[name, inner[name]] as const],
      );
      map.set(key, new Map(names));
    } else map.set(property === undefined ? key : escapeName(key), toCel(inner, of));
  }
  return map;
}

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const escaped = new Map<string, string>();

/** k8s.io/apiserver/pkg/cel: names of properties in rules. There are no more of them than schemas have. */
function escapeName(name: string): string {
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

function firstLine(error: Error): string {
  return error.message.split('\n', 1)[0] ?? '';
}
