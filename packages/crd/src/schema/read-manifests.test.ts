import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { crdFolders } from '@drydock/sandbox';
import * as fc from 'fast-check';
import { parseAllDocuments, stringify } from 'yaml';
import type { Json } from './json.ts';
import { readManifests } from './read-manifests.ts';

test('definitions as generators write them are read as the slower library reads them', () => {
  const files = [
    ...crdFolders().flatMap((folder) => globSync(join(folder, '*.yaml'))),
    ...globSync(join(import.meta.dirname, '../../../../api/**/*.yaml')),
  ];
  assert.ok(files.length >= 3);
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    const slower = parseAllDocuments(text, { version: '1.1', schema: 'core' }).map((one) => one.toJS() as unknown);
    assert.deepEqual(readManifests(text, file), slower, file);
  }
});

const word = fc.oneof(
  fc.constantFrom(
    '',
    'true',
    'no',
    '1',
    '-0',
    '1.0',
    '0o7',
    '~',
    'a: b',
    'a #b',
    '- a',
    "it's",
    '"',
    'é💥',
    ' x ',
    '\n',
    '[',
    'x:',
  ),
  fc.string({ maxLength: 90 }),
  fc.lorem({ maxCount: 30 }),
);
const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    word,
    fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 12345678901234, {}, []),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'spec', 'x-kubernetes-validations', 'b.c/d', '$ref'), tie('tree'), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  ),
}));

test('whatever is written is read as it was, in every style', () => {
  fc.assert(
    fc.property(tree, fc.constantFrom(40, 80, 0), fc.boolean(), (top, lineWidth, aliasDuplicateObjects) => {
      const text = stringify({ top }, { version: '1.1', lineWidth, aliasDuplicateObjects });
      assert.deepEqual(readManifests(text, 'x'), [{ top }], text);
    }),
    { numRuns: 2000, seed: 7 },
  );
});

test('aliases are read too', () => {
  assert.deepEqual(readManifests('a: &x {b: 1}\nc: *x\n', 'x'), [{ a: { b: 1 }, c: { b: 1 } }]);
});

test('plain words and numbers are read as kubectl reads them, with aliases and without', () => {
  const list = '[yes, Off, n, "on", 0644, 0x1F, 1_000, -0b11, 08, 1:30, 2020-01-01, 1.0, ~]';
  const read = [true, false, false, 'on', 420, 31, 1000, -3, 8, '1:30', '2020-01-01', 1, null];
  assert.deepEqual(readManifests(`a: ${list}\n`, 'x'), [{ a: read }]);
  assert.deepEqual(readManifests(`a: &x ${list}\nb: *x\n`, 'x'), [{ a: read, b: read }]);
});

test('TRUTH-15 a document that is no object, or that a template has yet to fill in, is told', () => {
  const unread = [
    'hello world',
    '- a\n- b',
    '{{ include "all" . }}',
    'metadata:\n  name: {{ .Release.Name }}',
    '"\u0001"',
  ];
  for (const text of unread) assert.throws(() => readManifests(text, 'x.yaml'), /^CrdError: x\.yaml .*/, text);
  for (const text of ['', '# nothing\n', '---\n---\n', 'null'])
    assert.deepEqual(readManifests(text, 'x.yaml'), [], text);
});

test('TRUTH-15 the limit of size is one for a document, not for all that are in one text', () => {
  const megabyte = 'x'.repeat(1 << 20);
  const document = (name: string): string => `kind: Thing\nname: ${name}\ntext: ${megabyte}\n`;
  const bundle = Array.from({ length: 12 }, (_, at) => document(`n${at}`)).join('---\n');
  assert.equal(readManifests(bundle, 'bundle').length, 12);
  const item = (name: string): object => ({ kind: 'Thing', name, text: megabyte });
  const list = { apiVersion: 'v1', kind: 'List', items: Array.from({ length: 12 }, (_, at) => item(`n${at}`)) };
  assert.equal(readManifests(JSON.stringify(list), 'list').length, 12);
  const large = { ...item('large'), text: megabyte.repeat(9) };
  assert.throws(() => readManifests(JSON.stringify(large), 'large'), /large has a document of more than 8388608 bytes/);
  assert.throws(
    () => readManifests(JSON.stringify({ ...list, items: [large] }), 'list'),
    /list has a document of more/,
  );
  assert.throws(
    () => readManifests(`${document('a')}---\n${JSON.stringify(large)}`, 'both'),
    /both has a document of more/,
  );
});
