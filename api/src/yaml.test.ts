import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import { readYaml, readYamlDocument, YamlFlaw } from './yaml.ts';

/** Lines, each with its number, until there are so many characters. */
function lines(size: number, line: (number: string) => string): string {
  const all: string[] = [];
  for (let length = 0; length < size; length += all.at(-1)?.length ?? 0) all.push(line(all.length.toString(36)));
  return all.join('');
}

const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  keys: (size) => lines(size, (n) => `k${n}: 1\n`),
  'keys on one line': (size) => `{${lines(size, (n) => `k${n}: 1,`)}}`,
  lists: (size) => lines(size, () => '- a\n'),
  'a list on one line': (size) => `[${lines(size, () => 'a,')}]`,
  nesting: (size) => '['.repeat(size),
  'nesting by lines': (size) => lines(size, (n) => `${' '.repeat(Number.parseInt(n, 36))}a:\n`),
  'keys of keys': (size) => '? '.repeat(size / 2),
  anchors: (size) => lines(size, (n) => `- &a${n} x\n`),
  aliases: (size) => `a: &x [1]\n${lines(size, () => '- *x\n')}`,
  merges: (size) => `a: &x\n  b: 1\n${lines(size, (n) => `k${n}:\n  <<: *x\n`)}`,
  tags: (size) => lines(size, (n) => `- !t${n} x\n`),
  escapes: (size) => `a: "${'\\n'.repeat(size / 2)}"`,
  blocks: (size) => `a: |\n${' x\n'.repeat(size / 3)}`,
  comments: (size) => `${'#\n'.repeat(size / 2)}a: 1`,
  documents: (size) => lines(size, () => '--- a\n'),
  'mistakes at the end': (size) => `${lines(size, (n) => `k${n}: 1\n`)}a: b: c\n`,
  numbers: (size) => `- ${'1_'.repeat(size / 2)}\n- ${'9'.repeat(size)}\n- ${'.1'.repeat(size / 2)}`,
};

for (const [name, input] of Object.entries(HOSTILE))
  test(`SAFE-1 YAML of 1 MiB, ${name}, costs what it weighs`, async () => {
    await assertLinear({ name, input, limit: 2 ** 20, read: (text) => readYaml(text) });
  });

test('SAFE-1 what costs more than it may is refused by name: bytes, levels, aliases, and what they stand for', () => {
  const said = (text: string): string => {
    try {
      readYaml(text);
      return 'read';
    } catch (error) {
      assert.ok(error instanceof YamlFlaw, String(error));
      return error.message;
    }
  };
  const levels = Array.from({ length: 9 }, (_, level) => `a${level}: &a${level} [${`*a${level - 1},`.repeat(10)}]\n`);
  assert.equal(said(`a: &a-1 x\n${levels.join('')}`), 'with its aliases it stands for more than 1000000 values');
  assert.equal(said('a: &a [*a]'), 'an alias in it stands for itself');
  assert.equal(said(`a: &x 1\nb: [${'*x,'.repeat(200)}]`), 'aliases exceeded maxAliases in line 2');
  assert.equal(said('['.repeat(200)), 'it is nested more than 100 levels deep');
  assert.equal(said('#'.repeat(9 << 20)), 'it has more than 8388608 bytes');
  assert.throws(() => readYamlDocument('a: 1\n---\nb: 2'), /more than one document/);
  assert.deepEqual(
    [readYamlDocument(''), readYamlDocument('~'), readYamlDocument('a: 1')],
    [undefined, undefined, { a: 1 }],
  );
});

test('SAFE-9 not a word of a text that is no YAML is told, neither by the error nor by a warning', async () => {
  const warnings: string[] = [];
  const listen = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', listen);
  const texts = [
    'password: hunter2: x',
    'password: "\\q hunter2"',
    '{password: hunter2',
    'password: *hunter2',
    'password: !hunter2 x\npassword: x',
    'password: @hunter2',
    '\thunter2: 1',
    '? [hunter2]\n: b',
    'a: &hunter2 [*hunter2]',
  ];
  for (const text of texts)
    assert.throws(
      () => readYaml(text),
      (error: Error) => error instanceof YamlFlaw && !/hunter/.test(error.message) && error.cause === undefined,
      text,
    );
  assert.deepEqual(readYaml('password: !secret hunter2'), [{ password: 'hunter2' }]);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
  assert.deepEqual(warnings, []);
});
