import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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

test('integers of 64 bits are read digit by digit where they are to be exact, however they are written, and as the nearest number elsewhere', () => {
  const [least, most] = [-(2n ** 63n), 2n ** 64n - 1n];
  const written = fc.oneof(
    fc.constant((value: bigint) => `${value}`),
    fc.constant(
      (value: bigint) =>
        `${value < 0n ? '-' : '+'}${(value < 0n ? -value : value).toString().replace(/(\d)(\d)$/, '$1_$2')}`,
    ),
    fc.constant((value: bigint) => `${value < 0n ? '-' : ''}0x${(value < 0n ? -value : value).toString(16)}`),
    fc.constant((value: bigint) => `${value < 0n ? '-' : ''}0${(value < 0n ? -value : value).toString(8)}`),
  );
  const integer = fc.oneof(
    fc.bigInt({ min: least - 10n, max: most + 10n }),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }),
  );
  fc.assert(
    fc.property(integer, written, (value, write) => {
      const text = `a: [${write(value)}]`;
      const isKept = value < BigInt(Number.MIN_SAFE_INTEGER) || value > BigInt(Number.MAX_SAFE_INTEGER);
      const wanted = isKept && value >= least && value <= most ? value : Number(value);
      assert.deepEqual(readYaml(text, { exact: true }), [{ a: [wanted] }]);
      assert.deepEqual(readYaml(text), [{ a: [Number(value)] }]);
    }),
  );
  assert.deepEqual(readYaml('9007199254740993: x', { exact: true }), [{ '9007199254740993': 'x' }]);
});
