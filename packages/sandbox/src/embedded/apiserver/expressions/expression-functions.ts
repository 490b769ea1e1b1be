import { parseQuantity, type Quantity } from '../resource-quantity.ts';
import {
  type Address,
  addressText,
  contains,
  isWithin,
  masked,
  parseAddress,
  parseRange,
  type Range,
} from './expression-addresses.ts';
import { type Bindings, matches, readType, type Type } from './expression-types.ts';
import {
  compare,
  Dictionary,
  Duration,
  display,
  durationText,
  EvaluationError,
  equal,
  kindOf,
  List,
  Opaque,
  Optional,
  parseDuration,
  parseTimestamp,
  Timestamp,
  TypeValue,
  timestampText,
  typeName,
  Unsigned,
  type Value,
} from './expression-values.ts';

// The functions of CEL's standard, and those that Kubernetes adds to it.

/** One signature of a function. */
export interface Overload {
  readonly target: Type | undefined;
  readonly args: readonly Type[];
  readonly result: Type;
  readonly run: (...values: readonly never[]) => Value;
}

const TABLE = new Map<string, Overload[]>();

/** Adds a signature such as `string.contains(string):bool`; `sets::contains(…)` is a function of a namespace. */
export function add(signature: string, run: (...values: never[]) => Value): void {
  const [, target, name = '', args = '', result = ''] = /^(?:([^.(]+)\.)?([^.(]+)\((.*)\):(.+)$/.exec(signature) ?? [];
  const overloads = TABLE.get(name) ?? [];
  TABLE.set(name, overloads);
  overloads.push({
    target: target === undefined ? undefined : readType(target),
    args: args === '' ? [] : splitTypes(args).map(readType),
    result: readType(result),
    run,
  });
}

function splitTypes(text: string): string[] {
  const types: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [at, letter] of Array.from(text).entries()) {
    if (letter === '<') depth += 1;
    if (letter === '>') depth -= 1;
    if (letter !== ',' || depth > 0) continue;
    types.push(text.slice(start, at));
    start = at + 1;
  }
  return [...types, text.slice(start)];
}

/** The signatures of a function; undefined for one that there is not. */
export function overloadsOf(name: string): readonly Overload[] | undefined {
  return TABLE.get(name);
}

/** The names of functions that belong to a namespace, such as `sets`. */
export const NAMESPACES: ReadonlySet<string> = new Set([
  'sets',
  'optional',
  'strings',
  'ip',
  'cidr',
  'format',
  'cel',
  'lists',
]);

/** Whether values can be the arguments of a signature. */
export function accepts({ target, args }: Overload, on: Value | undefined, values: readonly Value[]): boolean {
  if ((target === undefined) !== (on === undefined) || args.length !== values.length) return false;
  const bound: Bindings = new Map();
  const fits = (wanted: Type, value: Value): boolean => matches(wanted, runtimeType(value), bound);
  if (target !== undefined && on !== undefined && !fits(target, on)) return false;
  return args.every((wanted, at) => fits(wanted, values[at] ?? null));
}

function runtimeType(value: Value): Type {
  const kind = kindOf(value);
  switch (kind) {
    case 'list':
      return { kind: 'list', of: { kind: 'dyn' } };
    case 'map':
      return value instanceof Dictionary && value.isObject
        ? { kind: 'object', schema: {}, name: 'object' }
        : { kind: 'map', key: { kind: 'dyn' }, of: { kind: 'dyn' } };
    case 'optional':
      return { kind: 'optional', of: { kind: 'dyn' } };
    default:
      return { kind };
  }
}

const MAX = (1n << 63n) - 1n;
const MIN = -(1n << 63n);

function int(value: bigint): bigint {
  if (value > MAX || value < MIN) throw new EvaluationError('integer overflow');
  return value;
}

const divided = (divisor: bigint, what: string): bigint => {
  if (divisor === 0n) throw new EvaluationError(what);
  return divisor;
};

// Arithmetic.
add('_+_(int,int):int', (a: bigint, b: bigint) => int(a + b));
add('_+_(uint,uint):uint', (a: Unsigned, b: Unsigned) => new Unsigned(a.value + b.value));
add('_+_(double,double):double', (a: number, b: number) => a + b);
add('_+_(string,string):string', (a: string, b: string) => a + b);
add('_+_(bytes,bytes):bytes', (a: Uint8Array, b: Uint8Array) => new Uint8Array(Buffer.concat([a, b])));
add('_+_(list<A>,list<A>):list<A>', joinLists);
add('_+_(timestamp,duration):timestamp', (a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos));
add('_+_(duration,timestamp):timestamp', (a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos));
add('_+_(duration,duration):duration', (a: Duration, b: Duration) => new Duration(int(a.nanos + b.nanos)));
add('_-_(int,int):int', (a: bigint, b: bigint) => int(a - b));
add('_-_(uint,uint):uint', (a: Unsigned, b: Unsigned) => new Unsigned(a.value - b.value));
add('_-_(double,double):double', (a: number, b: number) => a - b);
add('_-_(timestamp,timestamp):duration', (a: Timestamp, b: Timestamp) => new Duration(a.nanos - b.nanos));
add('_-_(timestamp,duration):timestamp', (a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos));
add('_-_(duration,duration):duration', (a: Duration, b: Duration) => new Duration(int(a.nanos - b.nanos)));
add('_*_(int,int):int', (a: bigint, b: bigint) => int(a * b));
add('_*_(uint,uint):uint', (a: Unsigned, b: Unsigned) => new Unsigned(a.value * b.value));
add('_*_(double,double):double', (a: number, b: number) => a * b);
add('_/_(int,int):int', (a: bigint, b: bigint) => int(a / divided(b, 'division by zero')));
add('_/_(uint,uint):uint', (a: Unsigned, b: Unsigned) => new Unsigned(a.value / divided(b.value, 'division by zero')));
add('_/_(double,double):double', (a: number, b: number) => a / b);
add('_%_(int,int):int', (a: bigint, b: bigint) => a % divided(b, 'modulus by zero'));
add('_%_(uint,uint):uint', (a: Unsigned, b: Unsigned) => new Unsigned(a.value % divided(b.value, 'modulus by zero')));
add('-_(int):int', (a: bigint) => int(-a));
add('-_(double):double', (a: number) => -a);
add('!_(bool):bool', (a: boolean) => !a);

/** Lists that are sets have each item once, those that are maps each key once, the right one's. */
function joinLists(a: List, b: List): Value {
  if (a.listType === 'set') {
    const more = b.items.filter((item) => !a.items.some((other) => equal(item, other)));
    return List.of([...a.items, ...more], a.schema);
  }
  if (a.listType === 'map') {
    const later = new Map(b.items.map((item) => [a.keyOf(item), item]));
    const kept = a.items.map((item) => later.get(a.keyOf(item)) ?? item);
    const known = new Set(a.items.map((item) => a.keyOf(item)));
    return List.of([...kept, ...b.items.filter((item) => !known.has(a.keyOf(item)))], a.schema);
  }
  return List.of([...a.items, ...b.items], a.schema);
}

// Comparison.
for (const [sign, holds] of [
  ['<', (order: number) => order < 0],
  ['<=', (order: number) => order <= 0],
  ['>', (order: number) => order > 0],
  ['>=', (order: number) => order >= 0],
] as const) {
  const numbers = ['int', 'uint', 'double'];
  const pairs = numbers.flatMap((a) => numbers.map((b) => `${a},${b}`));
  const others = ['string', 'bool', 'bytes', 'timestamp', 'duration'].map((one) => `${one},${one}`);
  for (const pair of [...pairs, ...others]) {
    add(`_${sign}_(${pair}):bool`, (a: number, b: number) => {
      if (Number.isNaN(a) || Number.isNaN(b)) return false;
      return holds(compare(a, b));
    });
  }
}
add('_==_(A,A):bool', (a: Value, b: Value) => equal(a, b));
add('_!=_(A,A):bool', (a: Value, b: Value) => !equal(a, b));

// Lists and maps.
add('@in(A,list<A>):bool', (a: Value, list: List) => list.items.some((item) => equal(a, item)));
add('@in(A,map<A,B>):bool', (a: Value, map: Dictionary) => map.get(a) !== undefined);
add('_[_](list<A>,int):A', (list: List, at: bigint) => {
  const item = at < 0n ? undefined : list.items[Number(at)];
  if (item === undefined) throw new EvaluationError(`index out of bounds: ${at}`);
  return item;
});
add('_[_](map<A,B>,A):B', (map: Dictionary, key: Value) => {
  const value = map.get(key);
  if (value === undefined) throw new EvaluationError(`no such key: ${display(key)}`);
  return value;
});
add(
  '_[?_](list<A>,int):optional<A>',
  (list: List, at: bigint) => new Optional(at < 0n ? undefined : list.items[Number(at)]),
);
add('_[?_](map<A,B>,A):optional<B>', (map: Dictionary, key: Value) => new Optional(map.get(key)));
add('_[?_](optional<A>,dyn):optional<dyn>', (of: Optional, key: Value) => {
  const { value } = of;
  if (value instanceof List) return new Optional(typeof key === 'bigint' ? value.items[Number(key)] : undefined);
  return new Optional(value instanceof Dictionary ? value.get(key) : undefined);
});
add('_[_](optional<A>,dyn):optional<dyn>', (of: Optional, key: Value) => {
  const { value } = of;
  if (value instanceof List) return new Optional(typeof key === 'bigint' ? value.items[Number(key)] : undefined);
  return new Optional(value instanceof Dictionary ? value.get(key) : undefined);
});
for (const form of ['size(T)', 'T.size()']) {
  const sized = (type: string): string => `${form.replace('T', type)}:int`;
  add(sized('string'), (text: string) => BigInt(Array.from(text).length));
  add(sized('bytes'), (bytes: Uint8Array) => BigInt(bytes.length));
  add(sized('list<A>'), (list: List) => BigInt(list.length));
  add(sized('map<A,B>'), (map: Dictionary) => BigInt(map.size));
}
add('list<A>.isSorted():bool', (list: List) =>
  list.items.every((item, at) => at === 0 || compare(list.items[at - 1] ?? null, item) <= 0),
);
add('list<int>.sum():int', (list: List) => list.items.reduce<bigint>((sum, item) => int(sum + (item as bigint)), 0n));
add('list<double>.sum():double', (list: List) => list.items.reduce<number>((sum, item) => sum + Number(item), 0));
add('list<duration>.sum():duration', (list: List) =>
  list.items.reduce<Duration>((sum, item) => new Duration(sum.nanos + (item as Duration).nanos), new Duration(0n)),
);
const extreme = (name: string, better: (order: number) => boolean): void =>
  add(`list<A>.${name}():A`, (list: List) => {
    const [first, ...rest] = list.items;
    if (first === undefined) throw new EvaluationError(`${name} called on empty list`);
    return rest.reduce<Value>((best, item) => (better(compare(item, best)) ? item : best), first);
  });
extreme('min', (order) => order < 0);
extreme('max', (order) => order > 0);
add('list<A>.indexOf(A):int', (list: List, wanted: Value) =>
  BigInt(list.items.findIndex((item) => equal(item, wanted))),
);
add('list<A>.lastIndexOf(A):int', (list: List, wanted: Value) =>
  BigInt(list.items.findLastIndex((item) => equal(item, wanted))),
);
add('sets::contains(list<A>,list<A>):bool', (a: List, b: List) => within(b, a));
add('sets::equivalent(list<A>,list<A>):bool', (a: List, b: List) => within(a, b) && within(b, a));
add('sets::intersects(list<A>,list<A>):bool', (a: List, b: List) =>
  a.items.some((item) => b.items.some((other) => equal(item, other))),
);

function within(part: List, all: List): boolean {
  return part.items.every((item) => all.items.some((other) => equal(item, other)));
}

// Conversions.
const fails = (from: string, to: string): EvaluationError =>
  new EvaluationError(`type conversion error from '${from}' to '${to}'`);
add('int(int):int', (a: bigint) => a);
add('int(uint):int', (a: Unsigned) => int(a.value));
add('int(double):int', (a: number) => {
  if (!Number.isFinite(a) || Math.abs(a) >= 2 ** 63) throw new EvaluationError('integer overflow');
  return BigInt(Math.trunc(a));
});
add('int(string):int', (a: string) => {
  const value = /^[-+]?\d+$/.test(a) ? BigInt(a.replace('+', '')) : undefined;
  if (value === undefined || value > MAX || value < MIN) throw fails('string', 'int');
  return value;
});
add('int(timestamp):int', (a: Timestamp) => a.nanos / 1_000_000_000n);
add('int(duration):int', (a: Duration) => a.nanos);
add('uint(uint):uint', (a: Unsigned) => a);
add('uint(int):uint', (a: bigint) => new Unsigned(a));
add('uint(double):uint', (a: number) => new Unsigned(BigInt(Math.trunc(a))));
add('uint(string):uint', (a: string) => {
  if (!/^\d+$/.test(a)) throw fails('string', 'uint');
  return new Unsigned(BigInt(a));
});
add('double(double):double', (a: number) => a);
add('double(int):double', (a: bigint) => Number(a));
add('double(uint):double', (a: Unsigned) => Number(a.value));
add('double(string):double', (a: string) => {
  const special = /^[-+]?(?:inf|infinity)$/i.test(a)
    ? Number.POSITIVE_INFINITY
    : /^nan$/i.test(a)
      ? Number.NaN
      : undefined;
  if (special !== undefined) return a.startsWith('-') ? -special : special;
  if (!/^[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(a)) throw fails('string', 'double');
  return Number(a.replaceAll('_', ''));
});
add('string(string):string', (a: string) => a);
add('string(int):string', (a: bigint) => String(a));
add('string(uint):string', (a: Unsigned) => String(a.value));
add('string(double):string', (a: number) => doubleText(a));
add('string(bool):string', (a: boolean) => String(a));
add('string(bytes):string', (a: Uint8Array) => Buffer.from(a).toString('utf8'));
add('string(timestamp):string', (a: Timestamp) => timestampText(a));
add('string(duration):string', (a: Duration) => durationText(a));
for (const kind of ['ip', 'cidr', 'quantity', 'url', 'semver']) add(`string(${kind}):string`, (a: Opaque) => a.text);
add('bytes(bytes):bytes', (a: Uint8Array) => a);
add('bytes(string):bytes', (a: string) => new Uint8Array(Buffer.from(a, 'utf8')));
add('bool(bool):bool', (a: boolean) => a);
add('bool(string):bool', (a: string) => {
  if (['1', 't', 'true', 'TRUE', 'True', 'T'].includes(a)) return true;
  if (['0', 'f', 'false', 'FALSE', 'False', 'F'].includes(a)) return false;
  throw fails('string', 'bool');
});
add('timestamp(timestamp):timestamp', (a: Timestamp) => a);
add('timestamp(string):timestamp', (a: string) => parseTimestamp(a));
add('timestamp(int):timestamp', (a: bigint) => new Timestamp(a * 1_000_000_000n));
add('duration(duration):duration', (a: Duration) => a);
add('duration(string):duration', (a: string) => parseDuration(a));
add('dyn(A):dyn', (a: Value) => a);
add('type(A):type', (a: Value) => new TypeValue(typeName(a)));

// Texts.
const letters = (text: string): string[] => Array.from(text);
const within_ = (at: bigint, length: number): number => {
  if (at < 0n || at > BigInt(length)) throw new EvaluationError(`index out of range: ${at}`);
  return Number(at);
};
add('string.contains(string):bool', (a: string, b: string) => a.includes(b));
add('string.startsWith(string):bool', (a: string, b: string) => a.startsWith(b));
add('string.endsWith(string):bool', (a: string, b: string) => a.endsWith(b));
add('string.matches(string):bool', (a: string, b: string) => pattern(b).test(a));
add('matches(string,string):bool', (a: string, b: string) => pattern(b).test(a));
add('string.find(string):string', (a: string, b: string) => pattern(b).exec(a)?.[0] ?? '');
add('string.findAll(string):list<string>', (a: string, b: string) => List.of(all(a, b)));
add('string.findAll(string,int):list<string>', (a: string, b: string, limit: bigint) =>
  List.of(limit < 0n ? all(a, b) : all(a, b).slice(0, Number(limit))),
);
add('string.charAt(int):string', (a: string, at: bigint) => letters(a)[within_(at, letters(a).length)] ?? '');
const from = (at: bigint): number => {
  if (at < 0n) throw new EvaluationError(`index out of range: ${at}`);
  return Number(at);
};
/** Where letters stand in others, counted in letters. */
const placesOf = (text: string, wanted: string): number[] => {
  const [all_, part] = [letters(text), letters(wanted)];
  const last = all_.length - part.length;
  return Array.from({ length: Math.max(0, last + 1) }, (_none, at) => at).filter((at) =>
    part.every((letter, index) => all_[at + index] === letter),
  );
};
add('string.indexOf(string):int', (a: string, b: string) => BigInt(placesOf(a, b)[0] ?? -1));
add('string.indexOf(string,int):int', (a: string, b: string, at: bigint) =>
  BigInt(placesOf(a, b).find((place) => place >= from(at)) ?? (at < 0n ? from(at) : -1)),
);
add('string.lastIndexOf(string):int', (a: string, b: string) => BigInt(placesOf(a, b).at(-1) ?? -1));
add('string.lastIndexOf(string,int):int', (a: string, b: string, at: bigint) => {
  const most = from(at);
  // Past the end there is nothing to look back from.
  if (most >= letters(a).length) return -1n;
  return BigInt(placesOf(a, b).findLast((place) => place <= most) ?? -1);
});
add('string.lowerAscii():string', (a: string) => a.replaceAll(/[A-Z]/g, (one) => one.toLowerCase()));
add('string.upperAscii():string', (a: string) => a.replaceAll(/[a-z]/g, (one) => one.toUpperCase()));
add('string.replace(string,string):string', (a: string, b: string, c: string) => a.replaceAll(b, () => c));
add('string.replace(string,string,int):string', (a: string, b: string, c: string, times: bigint) => {
  let left = times < 0n ? Number.POSITIVE_INFINITY : Number(times);
  return a.replaceAll(b, (one) => (left-- > 0 ? c : one));
});
add('string.split(string):list<string>', (a: string, b: string) => List.of(b === '' ? letters(a) : a.split(b)));
add('string.split(string,int):list<string>', (a: string, b: string, limit: bigint) => {
  if (limit === 0n) return List.of([]);
  const parts = b === '' ? letters(a) : a.split(b);
  if (limit < 0n || BigInt(parts.length) <= limit) return List.of(parts);
  const head = parts.slice(0, Number(limit) - 1);
  return List.of([...head, parts.slice(Number(limit) - 1).join(b)]);
});
add('list<string>.join():string', (a: List) => a.items.map(display).join(''));
add('list<string>.join(string):string', (a: List, b: string) => a.items.map(display).join(b));
add('string.substring(int):string', (a: string, at: bigint) =>
  letters(a)
    .slice(within_(at, letters(a).length))
    .join(''),
);
add('string.substring(int,int):string', (a: string, from_: bigint, to: bigint) => {
  if (from_ > to) throw new EvaluationError(`invalid substring range. start: ${from_}, end: ${to}`);
  const [start, end] = [within_(from_, letters(a).length), within_(to, letters(a).length)];
  return letters(a).slice(start, end).join('');
});
add('string.trim():string', (a: string) => a.trim());
add('string.reverse():string', (a: string) => letters(a).reverse().join(''));
add('strings::quote(string):string', (a: string) => JSON.stringify(a));
add('string.format(list<dyn>):string', (a: string, list: List) => formatted(a, list.items));

const patterns = new Map<string, RegExp>();

/** A pattern, as far as ours reads what the server's engine does. */
function pattern(text: string): RegExp {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  const [, flags = ''] = /^\(\?([ims]+)\)/.exec(text) ?? [];
  const body = (flags === '' ? text : text.slice(flags.length + 3))
    .replaceAll('\\A', '^')
    .replaceAll('\\z', '$')
    .replaceAll('(?P<', '(?<')
    .replaceAll('[[:alpha:]]', '[A-Za-z]')
    .replaceAll('[[:alnum:]]', '[A-Za-z0-9]')
    .replaceAll('[[:digit:]]', '[0-9]')
    .replaceAll('[[:space:]]', '\\s')
    .replaceAll('[:alnum:]', 'A-Za-z0-9')
    .replaceAll('[:digit:]', '0-9')
    .replaceAll('[:alpha:]', 'A-Za-z');
  try {
    const made = new RegExp(body, flags);
    patterns.set(text, made);
    return made;
  } catch {
    throw new EvaluationError(`error parsing regexp: invalid or unsupported syntax: \`${text}\``);
  }
}

/** Whether a pattern can be read. */
export function patternProblem(text: string): string | undefined {
  try {
    pattern(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function all(text: string, expression: string): string[] {
  const { source, flags } = pattern(expression);
  const found: string[] = [];
  let end = -1;
  for (const match of text.matchAll(new RegExp(source, `${flags.replace('u', '')}gu`))) {
    // An empty match right behind another one is none.
    if (match[0] === '' && match.index === end) continue;
    found.push(match[0]);
    end = match.index + match[0].length;
  }
  return found;
}

/** `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X`, `%o`, with precision, as CEL formats. */
function formatted(text: string, values: readonly Value[]): string {
  let next = 0;
  return text.replaceAll(
    /%(%|(?:\.(\d+))?([sdfebxXo]))/g,
    (_all, sign: string, digits: string | undefined, verb: string) => {
      if (sign === '%') return '%';
      const value = values[next];
      if (value === undefined) throw new EvaluationError(`index ${next} out of range`);
      next += 1;
      return formattedValue(value, verb, digits === undefined ? undefined : Number(digits));
    },
  );
}

/** A value inside of a list or a map is written as a literal. */
function nested(value: Value, inside: boolean): string {
  if (typeof value === 'string') return inside ? JSON.stringify(value) : value;
  if (value instanceof List) return `[${value.items.map((one) => nested(one, true)).join(', ')}]`;
  if (value instanceof Dictionary) {
    const entries = value.keys.map((key) => `${nested(key, true)}:${nested(value.get(key) ?? null, true)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  return display(value);
}

function formattedValue(value: Value, verb: string, digits: number | undefined): string {
  const bad = (): EvaluationError =>
    new EvaluationError(`error during formatting: unsupported ${typeName(value)} for %${verb}`);
  const number = value instanceof Unsigned ? value.value : value;
  switch (verb) {
    case 's':
      return nested(value, false);
    case 'd':
      if (typeof number === 'bigint' || typeof number === 'number') return String(number);
      throw bad();
    case 'f':
      if (typeof number === 'bigint' || typeof number === 'number') return Number(number).toFixed(digits ?? 6);
      throw bad();
    case 'e':
      if (typeof number !== 'bigint' && typeof number !== 'number') throw bad();
      return Number(number)
        .toExponential(digits ?? 6)
        .replace(/e([-+])(\d)$/, 'e$10$2');
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (typeof number === 'bigint') return number.toString(2);
      throw bad();
    case 'o':
      if (typeof number === 'bigint') return number.toString(8);
      throw bad();
    default: {
      const lower =
        typeof number === 'bigint'
          ? number.toString(16)
          : typeof value === 'string'
            ? Buffer.from(value).toString('hex')
            : value instanceof Uint8Array
              ? Buffer.from(value).toString('hex')
              : undefined;
      if (lower === undefined) throw bad();
      return verb === 'X' ? lower.toUpperCase() : lower;
    }
  }
}

// Times.
const parts: Readonly<Record<string, (date: Date, nanos: bigint) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};
for (const [name, read] of Object.entries(parts)) {
  add(`timestamp.${name}():int`, (a: Timestamp) => BigInt(read(new Date(Number(a.nanos / 1_000_000n)), a.nanos)));
  add(`timestamp.${name}(string):int`, (a: Timestamp, zone: string) => {
    const shifted = Number(a.nanos / 1_000_000n) + offsetOf(zone, Number(a.nanos / 1_000_000n));
    return BigInt(read(new Date(shifted), a.nanos));
  });
}
add('duration.getHours():int', (a: Duration) => a.nanos / 3_600_000_000_000n);
add('duration.getMinutes():int', (a: Duration) => a.nanos / 60_000_000_000n);
add('duration.getSeconds():int', (a: Duration) => a.nanos / 1_000_000_000n);
add('duration.getMilliseconds():int', (a: Duration) => a.nanos / 1_000_000n);

/** How far (ms) a time zone is from UTC at a time. */
function offsetOf(zone: string, at: number): number {
  const [, sign, hours = '0', minutes = '0'] = /^([-+]?)(\d{2}):(\d{2})$/.exec(zone) ?? [];
  if (sign !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  try {
    const options = {
      timeZone: zone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    } as const;
    const named = Object.fromEntries(
      new Intl.DateTimeFormat('en-US', options).formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = named;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  } catch {
    throw new EvaluationError(`unknown time zone ${zone}`);
  }
}

// Optional values.
add('optional::of(A):optional<A>', (a: Value) => new Optional(a));
add('optional::none():optional<dyn>', () => new Optional(undefined));
add('optional::ofNonZeroValue(A):optional<A>', (a: Value) => new Optional(isZero(a) ? undefined : a));
add('optional<A>.hasValue():bool', (a: Optional) => a.value !== undefined);
add('optional<A>.value():A', (a: Optional) => {
  if (a.value === undefined) throw new EvaluationError('optional.none() dereference');
  return a.value;
});
add('optional<A>.or(optional<A>):optional<A>', (a: Optional, b: Optional) => (a.value === undefined ? b : a));
add('optional<A>.orValue(A):A', (a: Optional, b: Value) => a.value ?? b);

function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true;
  if (value instanceof List) return value.length === 0;
  if (value instanceof Dictionary) return value.size === 0;
  if (value instanceof Unsigned) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  return value instanceof Uint8Array && value.length === 0;
}

// Quantities.
const quantityOf = (value: Quantity): Opaque => {
  const text = `${value.nanos}`;
  return new Opaque({ kind: 'quantity', data: value, text });
};
const nanos = ({ data }: Opaque): bigint => (data as Quantity).nanos;
const NANO = 1_000_000_000n;
add('isQuantity(string):bool', (a: string) => parseQuantity(a) !== undefined);
add('quantity(string):quantity', (a: string) => {
  const parsed = parseQuantity(a);
  if (parsed === undefined) {
    throw new EvaluationError(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return quantityOf(parsed);
});
add('sign(quantity):int', (a: Opaque) => (nanos(a) > 0n ? 1n : nanos(a) < 0n ? -1n : 0n));
add('quantity.isInteger():bool', (a: Opaque) => isWhole(a));
add('quantity.asInteger():int', (a: Opaque) => {
  if (!isWhole(a)) throw new EvaluationError('cannot convert value to integer');
  return nanos(a) / NANO;
});
add('quantity.asApproximateFloat():double', (a: Opaque) => Number(nanos(a)) / 1e9);
for (const [name, sign] of [
  ['add', 1n],
  ['sub', -1n],
] as const) {
  add(`quantity.${name}(quantity):quantity`, (a: Opaque, b: Opaque) =>
    quantityOf({ nanos: nanos(a) + sign * nanos(b), format: 'decimal', whole: whole(a) && whole(b) }),
  );
  add(`quantity.${name}(int):quantity`, (a: Opaque, b: bigint) =>
    quantityOf({ nanos: nanos(a) + sign * b * NANO, format: 'decimal', whole: whole(a) }),
  );
}
add('quantity.isLessThan(quantity):bool', (a: Opaque, b: Opaque) => nanos(a) < nanos(b));
add('quantity.isGreaterThan(quantity):bool', (a: Opaque, b: Opaque) => nanos(a) > nanos(b));
add('quantity.compareTo(quantity):int', (a: Opaque, b: Opaque) =>
  nanos(a) < nanos(b) ? -1n : nanos(a) > nanos(b) ? 1n : 0n,
);

/** What was written in thousandths is no integer, even where it is a whole number. */
function whole({ data }: Opaque): boolean {
  return (data as Quantity).whole;
}

function isWhole(a: Opaque): boolean {
  const value = nanos(a) / NANO;
  return whole(a) && nanos(a) % NANO === 0n && value <= MAX && value >= MIN;
}

// Addresses.
const address = (value: Address): Opaque => new Opaque({ kind: 'ip', data: value, text: addressText(value) });
const addressOf = ({ data }: Opaque): Address => data as Address;
const parsedAddress = (text: string): Address => {
  const parsed = parseAddress(text);
  if (parsed !== undefined) return parsed;
  if (/^::ffff:\d+\./i.test(text))
    throw new EvaluationError(`IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
  if (/^[0-9a-f:]+%/i.test(text))
    throw new EvaluationError(`IP address ${JSON.stringify(text)} with zone value is not allowed`);
  throw new EvaluationError(
    `IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): unable to parse IP`,
  );
};
add('isIP(string):bool', (a: string) => parseAddress(a) !== undefined);
add('ip(string):ip', (a: string) => address(parsedAddress(a)));
add('ip::isCanonical(string):bool', (a: string) => addressText(parsedAddress(a)) === a);
add('ip.family():int', (a: Opaque) => BigInt(addressOf(a).version));
add('ip.isUnspecified():bool', (a: Opaque) => addressOf(a).value === 0n);
add('ip.isLoopback():bool', (a: Opaque) => isWithin(addressOf(a), '127.0.0.0/8') || isWithin(addressOf(a), '::1/128'));
add(
  'ip.isLinkLocalMulticast():bool',
  (a: Opaque) => isWithin(addressOf(a), '224.0.0.0/24') || isWithin(addressOf(a), 'ff02::/16'),
);
add(
  'ip.isLinkLocalUnicast():bool',
  (a: Opaque) => isWithin(addressOf(a), '169.254.0.0/16') || isWithin(addressOf(a), 'fe80::/10'),
);
add('ip.isGlobalUnicast():bool', (a: Opaque) => {
  const of = addressOf(a);
  const not = [
    '0.0.0.0/32',
    '255.255.255.255/32',
    '127.0.0.0/8',
    '224.0.0.0/4',
    '169.254.0.0/16',
    '::/128',
    '::1/128',
    'ff00::/8',
    'fe80::/10',
  ];
  return !not.some((range) => isWithin(of, range));
});
const range = (value: Range): Opaque =>
  new Opaque({ kind: 'cidr', data: value, text: `${addressText(value.address)}/${value.bits}` });
const rangeOf = ({ data }: Opaque): Range => data as Range;
const parsedRange = (text: string): Range => {
  const parsed = parseRange(text);
  if (parsed !== undefined) return parsed;
  const why = text.includes('/') ? 'unable to parse IP' : "no '/'";
  const said = 'network address parse error during conversion from string: ';
  throw new EvaluationError(`${said}${said}netip.ParsePrefix(${JSON.stringify(text)}): ${why}`);
};
add('isCIDR(string):bool', (a: string) => parseRange(a) !== undefined);
add('cidr(string):cidr', (a: string) => range(parsedRange(a)));
add('cidr.containsIP(string):bool', (a: Opaque, b: string) => contains(rangeOf(a), parsedAddress(b)));
add('cidr.containsIP(ip):bool', (a: Opaque, b: Opaque) => contains(rangeOf(a), addressOf(b)));
const covers = (a: Range, b: Range): boolean => a.bits <= b.bits && contains(a, masked(b).address);
add('cidr.containsCIDR(string):bool', (a: Opaque, b: string) => covers(rangeOf(a), parsedRange(b)));
add('cidr.containsCIDR(cidr):bool', (a: Opaque, b: Opaque) => covers(rangeOf(a), rangeOf(b)));
add('cidr.ip():ip', (a: Opaque) => address(rangeOf(a).address));
add('cidr.masked():cidr', (a: Opaque) => range(masked(rangeOf(a))));
add('cidr.prefixLength():int', (a: Opaque) => BigInt(rangeOf(a).bits));

// URLs.
interface Url {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** A double as Go prints it: with an exponent from a million on, and below a ten-thousandth. */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) {
    const digits = String(size.toExponential());
    const [, mantissa = '', sign = '', exponent = ''] = /^(.*)e([-+])(\d+)$/.exec(digits) ?? [];
    return `${value < 0 ? '-' : ''}${mantissa}e${sign}${exponent.padStart(2, '0')}`;
  }
  return String(value);
}

function parseUrl(text: string): Url | undefined {
  if (Array.from(text).some((letter) => letter <= ' ')) return undefined;
  const [, scheme, host, rest = '', query = ''] =
    /^(?:([A-Za-z][-A-Za-z0-9+.]*):(?:\/\/([^/?#]*))?)?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/.exec(text) ?? [];
  if (scheme === undefined && !text.startsWith('/')) return undefined;
  // Behind a scheme without slashes nothing is a path.
  const path = rest.startsWith('/') ? rest : '';
  if (host !== undefined && rest !== '' && path === '') return undefined;
  const port = /^(?:.*@)?(?:\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(host ?? '');
  if (port === null) return undefined;
  return { scheme: scheme ?? '', host: (host ?? '').replace(/^.*@/, ''), path, query };
}

const urlOf = ({ data }: Opaque): Url => data as Url;
add('isURL(string):bool', (a: string) => parseUrl(a) !== undefined);
add('url(string):url', (a: string) => {
  const data = parseUrl(a);
  if (data === undefined)
    throw new EvaluationError(`URL parse error during conversion from string: parse "${a}": invalid URI for request`);
  return new Opaque({ kind: 'url', data, text: a });
});
add('url.getScheme():string', (a: Opaque) => urlOf(a).scheme);
add('url.getHost():string', (a: Opaque) => urlOf(a).host);
add('url.getHostname():string', (a: Opaque) =>
  urlOf(a)
    .host.replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1'),
);
add('url.getPort():string', (a: Opaque) => /:(\d*)$/.exec(urlOf(a).host)?.[1] ?? '');
add('url.getEscapedPath():string', (a: Opaque) => encodeURI(decodeURI(urlOf(a).path)));
add('url.getQuery():map<string,list<string>>', (a: Opaque) => {
  const entries = new Map<string, string[]>();
  for (const [key, value] of new URLSearchParams(urlOf(a).query))
    entries.set(key, [...(entries.get(key) ?? []), value]);
  return Dictionary.of([...entries].map(([key, values]) => [key, List.of(values)]));
});

// Versions.
interface Semver {
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly before: readonly string[];
}

function parseSemver(text: string, normalize = false): Semver | undefined {
  let whole = text;
  if (normalize) {
    whole = text.replace(/^v/, '').replace(/(^|\.)0+(?=\d)/g, '$1');
    const [core = '', ...rest] = whole.split(/(?=[-+])/);
    const numbers = core.split('.');
    while (numbers.length < 3) numbers.push('0');
    whole = numbers.join('.') + rest.join('');
  }
  const [, major, minor, patch, before] =
    /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-.]+))?(?:\+[0-9A-Za-z-.]+)?$/.exec(whole) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  const identifiers = before === undefined ? [] : before.split('.');
  if (identifiers.some((one) => one === '' || /^0\d+$/.test(one))) return undefined;
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], before: identifiers };
}

function compareSemver(a: Semver, b: Semver): number {
  for (const at of [0, 1, 2] as const)
    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
  if (a.before.length === 0 || b.before.length === 0)
    return Number(a.before.length === 0) - Number(b.before.length === 0);
  for (let at = 0; at < Math.max(a.before.length, b.before.length); at += 1) {
    const [left, right] = [a.before[at], b.before[at]];
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1;
    if (left === right) continue;
    const digits = [/^\d+$/.test(left), /^\d+$/.test(right)];
    if (digits[0] && digits[1]) return BigInt(left) < BigInt(right) ? -1 : 1;
    if (digits[0] !== digits[1]) return digits[0] ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return 0;
}

const semver = (text: string, normalize = false): Opaque => {
  const data = parseSemver(text, normalize);
  if (data === undefined) throw new EvaluationError(`could not parse semver: ${text}`);
  const before = data.before.length === 0 ? '' : `-${data.before.join('.')}`;
  return new Opaque({ kind: 'semver', data, text: `${data.numbers.join('.')}${before}` });
};
const semverOf = ({ data }: Opaque): Semver => data as Semver;
add('isSemver(string):bool', (a: string) => parseSemver(a) !== undefined);
add('isSemver(string,bool):bool', (a: string, normalize: boolean) => parseSemver(a, normalize) !== undefined);
add('semver(string):semver', (a: string) => semver(a));
add('semver(string,bool):semver', (a: string, normalize: boolean) => semver(a, normalize));
add('semver.major():int', (a: Opaque) => semverOf(a).numbers[0]);
add('semver.minor():int', (a: Opaque) => semverOf(a).numbers[1]);
add('semver.patch():int', (a: Opaque) => semverOf(a).numbers[2]);
add('semver.isLessThan(semver):bool', (a: Opaque, b: Opaque) => compareSemver(semverOf(a), semverOf(b)) < 0);
add('semver.isGreaterThan(semver):bool', (a: Opaque, b: Opaque) => compareSemver(semverOf(a), semverOf(b)) > 0);
add('semver.compareTo(semver):int', (a: Opaque, b: Opaque) => BigInt(compareSemver(semverOf(a), semverOf(b))));

// Named formats.
const LABEL_1123 = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,62})?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/;
const NAMED: Readonly<Record<string, (text: string) => boolean>> = {
  dns1123Label: (text) => text.length <= 63 && LABEL_1123.test(text),
  dns1123Subdomain: (text) => text.length <= 253 && SUBDOMAIN.test(text),
  dns1035Label: (text) => text.length <= 63 && LABEL_1035.test(text),
  qualifiedName: (text) => QUALIFIED.test(text),
  dns1123LabelPrefix: (text) => text.length <= 63 && LABEL_1123.test(text.replace(/-$/, '')),
  dns1123SubdomainPrefix: (text) => text.length <= 253 && SUBDOMAIN.test(text.replace(/-$/, '')),
  dns1035LabelPrefix: (text) => text.length <= 63 && LABEL_1035.test(text.replace(/-$/, '')),
  labelValue: (text) => LABEL_VALUE.test(text),
  uri: (text) => parseUrl(text) !== undefined,
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  byte: (text) => text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  datetime: (text) => /^\d{4}-\d{2}-\d{2}[Tt]/.test(text) && !Number.isNaN(Date.parse(text)),
};
const namedFormat = (name: string): Opaque => new Opaque({ kind: 'format', data: NAMED[name], text: name });
for (const name of Object.keys(NAMED)) add(`format::${name}():format`, () => namedFormat(name));
add('format::named(string):optional<format>', (a: string) => new Optional(a in NAMED ? namedFormat(a) : undefined));
add('format.validate(string):optional<list<string>>', (a: Opaque, text: string) => {
  const good = (a.data as (text: string) => boolean)(text);
  return new Optional(good ? undefined : List.of([`must be a valid ${a.text}`]));
});
