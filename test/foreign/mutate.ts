import { type Format, SECRET } from './format.ts';

type Random = () => number;

/** What a terminal would obey, what ends a line, what is not seen, and what is no UTF-8. */
const CONTROLS: readonly Buffer[] = [
  '\u0000',
  '\u001b[2J',
  '\r',
  '\n',
  '\u0085',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\u200b',
  '\t',
]
  .map((text) => Buffer.from(text))
  .concat([Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xed, 0xa0, 0x80])]);
const NUMBERS: readonly string[] = [
  ...['-1', '0', '-0', '1e999', '-1e-999', '0.1', '0x10', '0777', '1_000', '9007199254740993', '.inf', 'NaN', '+5'],
  ...['18446744073709551616', '9'.repeat(400), '٣', '1e', '00', '2147483648'],
];
/** Names that mean something to the language that reads them. */
const NAMES: readonly string[] = ['__proto__', 'constructor', 'toString', 'length', '', ' ', '<<', 'kind', 'name'];
const LONG: readonly number[] = [80, 300, 5_000, 70_000];
const DEPTHS: readonly number[] = [2, 9, 99, 101, 250];

const below = (random: Random, most: number): number => Math.floor(random() * most);
const oneOf = <T>(random: Random, all: readonly T[]): T => all[below(random, all.length)] as T;

/** A mutant of one of the format's examples, which follows from the random numbers. */
export function mutant(format: Format, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(oneOf(random, format.examples));
  const many = 1 + below(random, 3);
  for (let count = 0; count < many; count += 1) bytes = oneOf(random, MUTATIONS)(bytes, random, format);
  return format.repair === undefined || random() < 0.1 ? bytes : format.repair(bytes);
}

function put(bytes: Buffer, at: number, remove: number, what: Buffer | string): Buffer {
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(what), bytes.subarray(at + remove)]);
}

/** Somewhere, mostly where something begins or ends: that is where readers decide. */
function place(bytes: Buffer, random: Random): number {
  const at = below(random, bytes.length + 1);
  if (random() < 0.3) return at;
  const near = bytes
    .subarray(at, at + 40)
    .toString('latin1')
    .search(/[\s"'<>=:,{}[\]()/]/);
  return near < 0 ? at : at + near + below(random, 2);
}

/** Bytes of the text, without what is secret: only there may a message name what it has found. */
function some(bytes: Buffer, random: Random, most: number): Buffer {
  const from = place(bytes, random);
  const part = bytes.subarray(from, from + 1 + below(random, most));
  return Buffer.from(part.toString('latin1').replaceAll(SECRET, 'x'), 'latin1');
}

/** Where a word of the text stands, and how long it is: the first one from somewhere on, or from the beginning. */
function word(bytes: Buffer, random: Random, pattern: RegExp): readonly [at: number, length: number] {
  const text = bytes.toString('latin1');
  for (const from of [below(random, text.length), 0]) {
    pattern.lastIndex = from;
    const found = pattern.exec(text);
    if (found !== null && !found[0].includes(SECRET)) return [found.index, found[0].length];
  }
  return [place(bytes, random), 0];
}

type Mutation = (bytes: Buffer, random: Random, format: Format) => Buffer;

const MUTATIONS: readonly Mutation[] = [
  function flip(bytes, random) {
    const changed = Buffer.from(bytes);
    for (let count = 1 + below(random, 4); count > 0; count -= 1) {
      const at = below(random, bytes.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << below(random, 8));
    }
    return changed;
  },
  function remove(bytes, random) {
    return put(bytes, place(bytes, random), 1 + below(random, random() < 0.2 ? 400 : 12), '');
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, place(bytes, random));
  },
  function splice(bytes, random, { examples }) {
    return put(bytes, place(bytes, random), below(random, 4), some(Buffer.from(oneOf(random, examples)), random, 200));
  },
  function piece(bytes, random, { pieces }) {
    return put(bytes, place(bytes, random), below(random, 6), oneOf(random, pieces));
  },
  function exchange(bytes, random, { pieces }) {
    return put(bytes, ...word(bytes, random, /[\w.-]+/g), oneOf(random, pieces));
  },
  function number(bytes, random) {
    return put(bytes, ...word(bytes, random, /-?\d+/g), oneOf(random, NUMBERS));
  },
  function name(bytes, random) {
    return put(bytes, ...word(bytes, random, /\b[A-Za-z_]\w*(?="?\s*[:=])/g), oneOf(random, NAMES));
  },
  function long(bytes, random) {
    const length = random() < 0.9 ? oneOf(random, LONG.slice(0, 3)) : oneOf(random, LONG);
    return put(
      bytes,
      ...word(bytes, random, /[\w.-]+/g),
      oneOf(random, ['x', 'é', '\\n', ' ', '\u202e', '9']).repeat(length),
    );
  },
  function control(bytes, random) {
    return put(bytes, place(bytes, random), 0, oneOf(random, CONTROLS));
  },
  function twice(bytes, random) {
    // A whole field, line or member stands there again: after itself, or somewhere else.
    const [at, length] = word(bytes, random, /[^\n,;{}<>]+[\n,;>]?/g);
    const part = bytes.subarray(at, at + length);
    return put(bytes, random() < 0.7 ? at + length : place(bytes, random), 0, part);
  },
  function nest(bytes, random, { nest: [open, close] }) {
    const depth = random() < 0.02 ? 5_000 : oneOf(random, DEPTHS);
    const [at, length] = word(bytes, random, /[\w.-]+/g);
    const inner = bytes.subarray(at, at + length);
    return put(
      bytes,
      at,
      length,
      Buffer.concat([Buffer.from(open.repeat(depth)), inner, Buffer.from(close.repeat(depth))]),
    );
  },
];
