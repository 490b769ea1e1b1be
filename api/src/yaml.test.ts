import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readYaml, readYamlDocument, YamlFlaw } from './yaml.ts';

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
    'password: !hunter2^x',
    '%TAG !hunter2! a\n%TAG !hunter2! b\n---\na: 1',
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
