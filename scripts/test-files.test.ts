import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { root } from './command.ts';
import { closureOf, importGraph } from './import-graph.ts';
import { SOAK_PARTS } from './soak/parts.ts';
import { filesOf, testFiles, testsAt, testsOf } from './test-files.ts';

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

test('a path means a test file, the one beside a source file, or those in a folder', () => {
  const [source, beside] = ['packages/durable/src/file.ts', 'packages/durable/src/file.test.ts'];
  assert.deepEqual(testsAt(join(root, source)), [beside]);
  assert.deepEqual(testsAt(join(root, beside)), [beside]);
  const inFolder = testsAt(join(root, 'packages/kube'));
  assert.ok(inFolder.length > 10 && inFolder.every((file) => file.startsWith('packages/kube/')), inFolder.join(' '));
  assert.throws(() => testsAt(join(root, 'packages/cube')), {
    name: 'RangeError',
    message: /does not exist; expected a test file/,
  });
  assert.throws(() => testsAt(join(root, 'packages/kube/package.json')), { message: /has no test beside it or in it/ });
});

test('a change concerns the tests that import it, through packages too, and those that name a changed manifest', () => {
  const all = testFiles(false);
  const ofDurable = testsOf(['packages/durable/src/file.ts'], all);
  assert.ok(ofDurable.includes('packages/durable/src/file.test.ts'));
  assert.ok(
    ofDurable.some((file) => file.startsWith('packages/templates/')),
    'templates imports durable by its name',
  );
  assert.ok(!ofDurable.some((file) => file.startsWith('packages/crd/')), 'crd does not import durable');
  assert.ok(testsOf(['package-lock.json'], all).includes('scripts/supply.test.ts'));
});

test('the import graph knows each import of the repository', () => {
  const graph = importGraph();
  const lost = [...graph].flatMap(([file, imports]) =>
    [...imports].filter((to) => /\.tsx?$/.test(to) && !graph.has(to)).map((to) => `${file} imports ${to}`),
  );
  // A test of mutations has an import in a text.
  assert.deepEqual(lost, ['scripts/mutation/mutation.test.ts imports scripts/src/age.ts']);
  assert.ok(closureOf(graph, 'apps/drydock/src/main.ts').has('packages/kube/src/client/rest.ts'));
});
