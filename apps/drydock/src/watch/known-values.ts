import type { MoRef, PropertyWatch, UpdateFeed, UpdateSink, XmlElement } from '@drydock/vsphere';

/** Longer values are not kept: lists, device trees, annotations of a page. */
const SMALL = 200;
/** Texts that are kept once for all; the first ones of a watch are those that repeat. */
const SHARED = 4096;

/** Text of a value; null: it is unset; undefined: it is not small. */
export type SmallValue = string | null | undefined;

/** What a watch passes on is looked at on the way: names and small values of all machines, so that a change can be shown with what was before. */
export interface KnownValues {
  /** The same feed, looked at. */
  readonly feed: UpdateFeed;
  value(machine: MoRef, path: string): SmallValue;
  forget(machine: MoRef): void;
}

/** Looks at a feed. A value is known as `before` until its change was handed to the one who watches. */
export function knownValues(feed: UpdateFeed): KnownValues {
  // Of each machine a list of values by the number of their path; a hole is unset.
  const machines = new Map<string, SmallValue[]>();
  const numbers = new Map<string, number>();
  const texts = shared();
  const numberOf = (path: string): number => {
    const number = numbers.get(path) ?? numbers.size;
    numbers.set(path, number);
    return number;
  };
  const looking = (sink: UpdateSink): UpdateSink => {
    let values: SmallValue[] | undefined;
    return {
      object(kind, type, value) {
        sink.object(kind, type, value);
        values = undefined;
        if (type !== 'VirtualMachine' || kind === 'leave') return;
        values = machines.get(value) ?? [];
        machines.set(value, values);
      },
      change(path, op, value, decode) {
        sink.change(path, op, value, decode);
        if (values === undefined) return;
        if (value === undefined) values[numberOf(path)] = null;
        else {
          const plain = value.length > SMALL ? undefined : plainText(value);
          const text = plain === PARSE ? smallText(decode(value)) : plain;
          values[numberOf(path)] = text === undefined ? undefined : texts(text);
        }
      },
      missing: (path, fault, decode) => sink.missing(path, fault, decode),
      objectEnd: () => sink.objectEnd(),
    };
  };
  return {
    feed: {
      server: feed.server,
      instanceUuid: (options) => feed.instanceUuid(options),
      property: (ref, path, options) => feed.property(ref, path, options),
      existing: (refs, options) => feed.existing(refs, options),
      survey: (containers, path, options) => feed.survey(containers, path, options),
      watch: async (spec, options): Promise<PropertyWatch> => {
        const watch = await feed.watch(spec, options);
        return {
          unknownPaths: watch.unknownPaths,
          refused: watch.refused,
          next: (version, sink, how) => watch.next(version, looking(sink), how),
          add: (container, how) => watch.add(container, how),
          remove: (container, how) => watch.remove(container, how),
          [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
        };
      },
    },
    value: ({ value }, path) => {
      const number = numbers.get(path);
      const values = number === undefined ? undefined : machines.get(value);
      return values !== undefined && number !== undefined && number in values ? values[number] : null;
    },
    forget: ({ value }) => void machines.delete(value),
  };
}

/** Text of an element without elements in it, if it is short. */
export function smallText(value: XmlElement): string | undefined {
  let text = '';
  for (const node of value.children) {
    if (typeof node !== 'string') return undefined;
    text += node;
  }
  return text.length > SMALL ? undefined : text;
}

const HEAD = /^<val(?: [\w:]+="[\w:]*")*>$/;
const TAIL = '</val>';
const PARSE: unique symbol = Symbol('parse');
const [MARKED, AMPERSAND, LESS, RETURN, ASCII] = [0x21, 0x26, 0x3c, 0x0d, 0x80];

/** What nearly all values are, without a parser: text of ASCII in one element, or elements. `parse`: only a parser can tell. */
function plainText(bytes: Uint8Array): string | undefined | typeof PARSE {
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const from = value.indexOf('>') + 1;
  const to = value.length - TAIL.length;
  if (to < from || value.toString('latin1', to) !== TAIL || !HEAD.test(value.toString('latin1', 0, from))) return PARSE;
  for (let at = from; at < to; at += 1) {
    const byte = value[at] ?? 0;
    // An element begins: that is no text. A comment or CDATA section may be.
    if (byte === LESS && value[at + 1] !== MARKED) return undefined;
    if (byte === AMPERSAND || byte === LESS || byte === RETURN || byte >= ASCII) return PARSE;
  }
  return value.toString('latin1', from, to);
}

/** Ten thousand machines are `poweredOn` with one string. */
function shared(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size < SHARED) known.set(text, text);
    return text;
  };
}
