import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import type { KubeObject, Resource } from '../resource.ts';
import { parseExact, withExact } from './exact-integers.ts';
import { HeavyJson } from './json-weight.ts';
import { parseObjects } from './managed-fields.ts';
import { decodeEvent, lineFramer } from './watch.ts';

const BIG: Resource<KubeObject> = { group: 'x.org', version: 'v1', kind: 'Big', plural: 'bigs', scope: 'Cluster' };
const LARGE = '9007199254740993';

/** Pieces, each with its number, until there are so many characters. */
function pieces(size: number, piece: (number: string) => string): string {
  const all: string[] = [];
  for (let length = 0; length < size; length += all.at(-1)?.length ?? 0) all.push(piece(all.length.toString(36)));
  return all.join('');
}

const half = (size: number, begin: string, middle: string, end: string): string => {
  const depth = Math.ceil(size / (begin.length + end.length));
  return begin.repeat(depth) + middle + end.repeat(depth);
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
  'nesting without end': (size) => half(size, '[', '', ']'),
  'nesting around a large integer': (size) => half(size, '{"a":[', LARGE, ']}'),
  'names with escapes, a third of it': (size) => `{${pieces(size / 3, (n) => `"\\n${n}":0,`)}"z":0}`,
  'a name of escapes': (size) => `{"${'\\"'.repeat(size / 2)}":0}`,
  'texts of backslashes': (size) => `["${'\\\\'.repeat(size / 2)}"]`,
  'white space between a name and its colon': (size) => `{"a\\n"${' '.repeat(size)}:0}`,
  'field owners in field owners': (size) => half(size, '{"managedFields":[', '', ']}'),
  'field owners that have no end': (size) => '{"managedFields":['.repeat(size / 18),
  'field owners of no object': (size) => `[${'{"managedFields":[]},'.repeat(size / 21)}0]`,
};

/** What etcd takes. */
const STORED = 1.5 * 2 ** 20;

for (const [name, value] of Object.entries(HOSTILE))
  test(`SAFE-1 an object of 1.5 MiB, ${name}, costs what it weighs to read and to write`, async () => {
    const input = (size: number): string => `{"metadata":{"name":"a"},"spec":${value(size)}}`;
    await assertLinear({ name, input, limit: STORED, read: (text) => parseObjects(text, (object) => [object]) });
    const event = (size: number): string => `{"type":"ADDED","object":${input(size)}}`;
    await assertLinear({ name, input: event, limit: 2 ** 18, read: (line) => decodeEvent(line, BIG, 'watch Bigs') });
    const parsed = (size: number): unknown => {
      try {
        return parseExact(input(size));
      } catch {
        return undefined;
      }
    };
    await assertLinear({ name, input: parsed, limit: 2 ** 18, read: (object) => JSON.stringify(withExact(object)) });
  });

test('SAFE-1 what would take too long is refused before it is parsed, and what is only long is not', async () => {
  const heavy = `[${pieces(16 * 2 ** 20, (n) => `{"${n}":0},`)}0]`;
  assert.throws(() => parseObjects(heavy, () => []), HeavyJson);
  assert.throws(() => parseObjects(`[${'[],'.repeat(2 ** 21)}0]`, () => []), HeavyJson);
  const long = JSON.stringify({ metadata: { name: 'a' }, data: { text: ':[{"'.repeat(2 ** 20) } });
  parseObjects(long, (object) => [object]);
  await assertLinear({
    name: 'a list of 16 MiB',
    input: (size) => `[${pieces(size, (n) => `{"${n}":0},`)}0]`,
    limit: 16 * 2 ** 20,
    stretch: 400,
    read: (text) => parseObjects(text, () => []),
  });
});

test('SAFE-2 a stream of lines without end, or without a newline, is cut into lines at no more than linear cost', async () => {
  const chunk = 65_536;
  const read = (text: string): number => {
    const framer = lineFramer('watch Bigs');
    const bytes = Buffer.from(text);
    let lines = 0;
    for (let at = 0; at < bytes.length; at += chunk) lines += framer.push(bytes.subarray(at, at + chunk)).length;
    return lines;
  };
  await assertLinear({ name: 'empty lines', input: (size) => '\n'.repeat(size), limit: 2 ** 22, read });
  await assertLinear({ name: 'a line without end', input: (size) => 'x'.repeat(size), limit: 2 ** 24, read });
  assert.throws(() => read('x'.repeat(2 ** 24 + chunk)), /larger than 16777216 bytes/);
});
