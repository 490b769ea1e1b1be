import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Json, readManifests } from '@drydock/crd';
import * as fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { yamlText } from './yaml.ts';

/** What YAML 1.1 makes something else of, and what looks like it. */
const WORDS = [
  ...['on', 'On', 'OFF', 'off', 'yes', 'Yes', 'NO', 'no', 'y', 'Y', 'n', 'N', 'true', 'False', 'null', 'Null', '~', ''],
  ...[
    '1_000',
    '0b11',
    '-0b1',
    '0o17',
    '0777',
    '08',
    '0x1F',
    '0x_1',
    '1:30',
    '190:20:30',
    '1:30:30.5',
    '+1',
    '1.',
    '.5',
  ],
  ...[
    '1e3',
    '1.5e+3',
    '1_0.5',
    '.inf',
    '-.INF',
    '.nan',
    '2026-01-01',
    '2026-01-01T00:00:00Z',
    '<<',
    '=',
    '-',
    '?',
    ': ',
  ],
  ...[
    'a: b',
    '#x',
    '@x',
    '`x',
    '%x',
    '!x',
    '&x',
    '*x',
    'on\n',
    ' on',
    '\ton',
    '\u2028',
    '\u{1f4a5}',
    '__',
    '1.2.3',
    '|',
    '>',
  ],
];

const word = fc.oneof(fc.constantFrom(...WORDS), fc.string(), fc.stringMatching(/^[-+.:_0-9a-fxobenyYN]{1,8}$/));
const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    { weight: 4, arbitrary: word },
    fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 1e21, 1e-7, 2 ** 53),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(word, tie('tree'), { maxKeys: 4 }).map((value) => ({ ...value })),
  ),
}));

/** As manifests are read: integers that a number may not tell from their neighbours, digit by digit. */
function exactly(value: Json): unknown {
  if (value === 2 ** 53) return 2n ** 53n;
  if (Array.isArray(value)) return value.map(exactly);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, exactly(one)]));
}

test('TRUTH-13 what is printed as YAML reads the same for readers of YAML 1.1, of YAML 1.2, and as kubectl reads it', () => {
  fc.assert(
    fc.property(tree, (value) => {
      const text = yamlText({ value });
      assert.deepEqual(parse(text, { version: '1.1' }), { value }, text);
      assert.deepEqual(parse(text, { version: '1.2' }), { value }, text);
      assert.deepEqual(readManifests(text, 'printed'), [{ value: exactly(value) }], text);
    }),
    { numRuns: 1000, seed: 11 },
  );
});

test('TRUTH-13 words that YAML 1.1 takes for something else are quoted, as values and as keys', () => {
  const text = yamlText({ values: WORDS, ...Object.fromEntries(WORDS.map((key) => [key, key])) });
  for (const bare of ['on', 'off', 'yes', 'y', '1_000', '0b11', '1:30', '=', '<<', '2026-01-01']) {
    assert.match(text, new RegExp(`^ {2}- "${bare}"$`, 'm'));
    assert.match(text, new RegExp(`^"${bare}": `, 'm'));
  }
});

test('TRUTH-13 the property can fail: the library alone prints for YAML 1.2', () => {
  assert.notDeepEqual(parse(stringify({ value: ['on', '1_000'] }), { version: '1.1' }), { value: ['on', '1_000'] });
});

test('TRUTH-13 no command prints YAML by anything else', () => {
  const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.test.ts'));
  const printers = files.filter((file) =>
    /import \{[^}]*\b(?:stringify|Document)\b[^}]*\} from 'yaml'/.test(
      readFileSync(join(import.meta.dirname, file), 'utf8'),
    ),
  );
  assert.ok(files.length > 100, `only ${files.length} files were looked at`);
  assert.deepEqual(printers, ['yaml.ts']);
});
