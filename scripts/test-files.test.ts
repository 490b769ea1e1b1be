import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { root } from './command.ts';
import { SOAK_PARTS } from './soak/parts.ts';
import { filesOf, testFiles } from './test-files.ts';

const SEEDED = /import \{[^}]*\b(?:seeds|repetitions|soaking|firstSeed)\b[^}]*\} from '@drydock\/model'/;

/** Whether a file, or a neighbour that it imports, repeats itself in a soak. */
function repeats(file: string, seen: Set<string> = new Set()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  const text = readFileSync(join(root, file), 'utf8');
  if (SEEDED.test(text)) return true;
  return [...text.matchAll(/from '(\.[^']+)'/g)].some(([, path = '']) => {
    const neighbour = relative(root, join(root, dirname(file), path));
    return neighbour.startsWith(`${dirname(file)}/`) && repeats(neighbour, seen);
  });
}

test('a soak runs each test that plays more in it, and every test of kills and cuts', () => {
  const all = testFiles(false);
  const soak = new Set(testFiles(true));
  const repeating = all.filter((file) => repeats(file));
  assert.ok(repeating.length >= 15, `only ${repeating.length} repeat: the pattern no longer matches the tests`);
  assert.deepEqual(
    repeating.filter((file) => !soak.has(file)),
    [],
  );
  const named = all.filter((file) => /\.model\.test\.ts$|^test\/power\/|-(crash|kill)\.test\.ts$/.test(file));
  assert.ok(named.length >= 15, `only ${named.length} tests of kills and cuts`);
  assert.deepEqual(
    named.filter((file) => !soak.has(file)),
    [],
  );
});

test('each test file is run once, and none is left out', () => {
  const all = testFiles(false);
  assert.equal(new Set(all).size, all.length);
  const there = globSync('**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**', '**/.cache/**', 'dist/**'] });
  assert.deepEqual(
    there.filter((file) => !all.includes(file)),
    [],
  );
});

test('each file of a soak belongs to one part', () => {
  const owners = new Map<string, string[]>();
  for (const { name, files } of SOAK_PARTS)
    for (const file of filesOf(files)) owners.set(file, [...(owners.get(file) ?? []), name]);
  assert.deepEqual(
    [...owners].filter(([, names]) => names.length > 1),
    [],
  );
  assert.deepEqual(
    SOAK_PARTS.filter(({ files }) => filesOf(files).length === 0).map(({ name }) => name),
    [],
  );
});
