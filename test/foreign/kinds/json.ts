import assert from 'node:assert/strict';
import { readJson } from '@drydock/api';
import { ApiError, type KubeObject, type WatchEvent } from '@drydock/kube';
import { HeavyJson } from '../../../packages/kube/src/client/json-weight.ts';
import { parseObjects } from '../../../packages/kube/src/client/managed-fields.ts';
import { decodeEvent, lineFramer } from '../../../packages/kube/src/client/watch.ts';
import { exactText, parseExact } from '../../../packages/kube/src/json/exact-integers.ts';
import { CONFIG_MAP } from '../../../packages/kube/src/testing/server.ts';
import { type Format, growing, type Hostile, nested, pieces } from '../format.ts';

const LARGE = '9007199254740993';

/** Objects of an API server, with integers of 64 bits. */
export const json: Format = {
  name: 'JSON texts',
  examples: [
    `{"metadata":{"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]},"spec":{"n":${LARGE},"m":[-${LARGE},1.5]}}`,
    '{"a\\n":1,"\\u0061":[true,null,{"":" "}],"é":"\\ud83d\\udca5"}',
  ],
  pieces: [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '\\"',
    '"a\\n":',
    '"\\u0061":',
    LARGE,
    `-${LARGE}`,
    '"managedFields":[',
    'null',
  ],
  nest: ['[', ']'],
  read: (bytes) => {
    try {
      return parseObjects(bytes.toString(), (answer) => [answer]);
    } catch (error) {
      // Who reads says it in other words: the language's own quote the text.
      throw error instanceof SyntaxError ? new SyntaxError('the text is no JSON') : error;
    }
  },
  refuses: (error) => error instanceof SyntaxError || error instanceof HeavyJson,
  check: (value, bytes) => {
    const text = bytes.toString();
    const ours = JSON.stringify(value);
    assert.ok(ours !== undefined);
    // V8 takes names that are written with escapes for others, so it is no second reader of those.
    // Nor is what owners of fields say read at all.
    if (text.includes('managedFields')) return;
    if (!text.includes('\\')) assert.equal(ours, JSON.stringify(JSON.parse(text)));
    // What JSON cannot say, such as -0 and what is beyond all numbers, is written as something else.
    const written = exactText(parseExact(text));
    assert.equal(exactText(parseExact(written)), written);
    assert.equal(JSON.stringify(readJson(written)), JSON.stringify(readJson(JSON.stringify(readJson(text)))));
  },
};

const EVENT = '{"metadata":{"name":"a","resourceVersion":"7"},"data":{"a":"b"}}';

/** Lines of a watch. */
export const events: Format<WatchEvent<KubeObject>> = {
  name: 'events of a watch',
  examples: [
    `{"type":"ADDED","object":${EVENT}}`,
    `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"${LARGE}","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
    '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}',
  ],
  pieces: [
    ...json.pieces,
    '"type":',
    '"DELETED"',
    '"MODIFIED"',
    '"object":',
    '"metadata":{}',
    '"name":7',
    '"resourceVersion":',
  ],
  nest: ['{"object":', '}'],
  spoken: true,
  read: (bytes) => decodeEvent<KubeObject>(bytes.toString(), CONFIG_MAP, 'watch ConfigMaps'),
  refuses: (error) => error instanceof ApiError,
  check: (event) => {
    const version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.name;
    assert.equal(typeof version, 'string');
  },
};

/** Values of about so many characters that cost a reader of JSON more than others. */
const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  'large integers in named fields': (size) => `{${pieces(size, (n) => `"a${n}":${LARGE},`)}"z":0}`,
  'large integers in a list': (size) => `[${pieces(size, () => `${LARGE},`)}0]`,
  'one large integer, and many small ones': (size) => `[${LARGE},${pieces(size, () => '0,')}0]`,
  'one large integer, and names that are all different': (size) =>
    `{"z":${LARGE},${pieces(size, (n) => `"${n}":0,`)}"y":0}`,
  'long digits that are no integers': (size) => `["${pieces(size, () => `:${LARGE}`)}",1.${'9'.repeat(size)}]`,
  'digits without end': (size) => `[${'9'.repeat(size)}]`,
  'objects that are all different': (size) => `[${pieces(size, (n) => `{"${n}":0},`)}0]`,
  'nothing but objects': (size) => `[${'{},'.repeat(size / 3)}0]`,
  'nesting without end': (size) => nested(size, '[', '', ']'),
  'nesting around a large integer': (size) => nested(size, '{"a":[', LARGE, ']}'),
  'nesting beside a large integer': (size) => `{"z":${LARGE},"a":${nested(size, '[', '', ']')}}`,
  'names with escapes, a third of it': (size) => `{${pieces(size / 3, (n) => `"\\n${n}":0,`)}"z":0}`,
  'a name of escapes': (size) => `{"${'\\"'.repeat(size / 2)}":0}`,
  'texts of backslashes': (size) => `["${'\\\\'.repeat(size / 2)}"]`,
  'white space between a name and its colon': (size) => `{"a\\n"${' '.repeat(size)}:0}`,
  'field owners in field owners': (size) => nested(size, '{"managedFields":[', '', ']}'),
  'field owners that have no end': (size) => '{"managedFields":['.repeat(size / 18),
  'field owners of no object': (size) => `[${'{"managedFields":[]},'.repeat(size / 21)}0]`,
};

type Inputs<I> = Readonly<Record<string, (size: number) => I>>;
const each = <I>(made: (value: string) => I): Inputs<I> =>
  Object.fromEntries(Object.entries(HOSTILE).map(([name, value]) => [name, (size: number) => made(value(size))]));
const object = (value: string): string => `{"metadata":{"name":"a"},"spec":${value}}`;
const parsed = (text: string): unknown => {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
};

/** What the stream of a watch costs before its lines are read. */
export function framed(text: string): number {
  const framer = lineFramer('watch Bigs');
  const bytes = Buffer.from(text);
  let lines = 0;
  for (let at = 0; at < bytes.length; at += 65_536) lines += framer.push(bytes.subarray(at, at + 65_536)).length;
  return lines;
}

export const jsonGrowth: readonly Hostile[] = [
  // What etcd takes.
  ...growing('an object of 1.5 MiB', each(object), {
    limit: 1.5 * 2 ** 20,
    read: (text) => parseObjects(text, (answer) => [answer]),
  }),
  ...growing(
    'an event',
    each((value) => `{"type":"ADDED","object":${object(value)}}`),
    {
      limit: 2 ** 18,
      read: (line) => decodeEvent(line, CONFIG_MAP, 'watch ConfigMaps'),
    },
  ),
  ...growing(
    'an object is written',
    each((value) => parsed(object(value))),
    {
      limit: 2 ** 18,
      read: (value) => exactText(value),
    },
  ),
  ...growing(
    'a list of 16 MiB',
    { objects: (size) => `[${pieces(size, (n) => `{"${n}":0},`)}0]` },
    {
      limit: 16 * 2 ** 20,
      stretch: 400,
      read: (text) => parseObjects(text, () => []),
    },
  ),
  ...growing('lines of a watch', { 'empty lines': (size) => '\n'.repeat(size) }, { limit: 2 ** 22, read: framed }),
  ...growing(
    'lines of a watch',
    { 'a line without end': (size) => 'x'.repeat(size) },
    { limit: 2 ** 24, read: framed },
  ),
];
