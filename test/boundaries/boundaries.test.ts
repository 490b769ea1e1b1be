import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { BOUNDARIES, besideOf, folderOf, importsOf, sourceFiles, targetOf } from '../../scripts/boundaries.ts';
import { root } from '../../scripts/command.ts';

/** Folders that only tests, exported fakes, the demo and the benchmarks may import. */
const testOnly = ['packages/model', 'packages/sandbox'];
const folders = Object.keys(BOUNDARIES);

test('each folder imports only what the table allows', () => {
  const files = sourceFiles().filter((file) => !file.startsWith('test/') && !file.endsWith('.test.ts'));
  const wrong: string[] = [];
  for (const file of files) {
    const from = folderOf(file);
    assert.ok(from !== undefined, `${file} lies in a folder that the table does not name`);
    const rules = BOUNDARIES[from] ?? [];
    for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const to = targetOf(file, specifier);
      if (to === undefined || to === from || to === 'api') continue;
      if (rules.includes('*') || rules.includes(to)) continue;
      if (testOnly.includes(to) && file.includes('/testing/')) continue;
      wrong.push(`${file} imports ${specifier}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(files.length >= 80, `only ${files.length} modules were seen: the patterns no longer match the sources`);
});

test('ARCHITECTURE.md shows the table that is enforced', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const shown = new Map(
    [...page.matchAll(/^\| `((?:packages|apps)\/[a-z-]+)` .*\| ([^|]*?) *\|$/gm)].map(([, folder = '', may = '']) => [
      folder,
      may,
    ]),
  );
  for (const [folder, may] of Object.entries(BOUNDARIES)) {
    if (!/^(?:packages|apps)\//.test(folder)) continue;
    const names = may.map((one) => (one === '*' ? 'all' : one.replace('packages/', '')));
    assert.equal(shown.get(folder), names.join(', ') || '–', folder);
  }
});

/** The rooms of a package: folders directly in its `src`. What lies in `src` itself ties them together, fakes and tests may use all. */
function roomOf(file: string): string | undefined {
  const [, room] = /^[^/]+\/[^/]+\/src\/([^/]+)\/[^/]/.exec(file) ?? [];
  return room === 'testing' ? undefined : room;
}

/** A way from a room or file back to itself by what each imports; undefined where there is none. */
function circle(imports: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const clear = new Set<string>();
  const walk = (room: string, way: readonly string[]): readonly string[] | undefined => {
    if (way.includes(room)) return [...way.slice(way.indexOf(room)), room];
    if (clear.has(room)) return undefined;
    for (const next of imports.get(room) ?? []) {
      const found = walk(next, [...way, room]);
      if (found !== undefined) return found;
    }
    clear.add(room);
    return undefined;
  };
  for (const room of imports.keys()) {
    const found = walk(room, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

test('the rooms of a package import one way only', () => {
  let rooms = 0;
  for (const folder of folders) {
    const imports = new Map<string, Set<string>>();
    for (const file of globSync(`${folder}/src/**/*.ts`, { cwd: root }).filter((one) => !one.endsWith('.test.ts'))) {
      const from = roomOf(file);
      if (from === undefined) continue;
      const others = imports.get(from) ?? new Set<string>();
      imports.set(from, others);
      for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
        const beside = besideOf(file, specifier);
        const to = beside === undefined ? undefined : roomOf(beside);
        if (to !== undefined && to !== from) others.add(to);
      }
    }
    rooms += imports.size;
    assert.equal(circle(imports)?.join(' → '), undefined, `a circle of rooms in ${folder}`);
  }
  assert.ok(rooms >= 30, `only ${rooms} rooms were seen`);
  const back = new Map([
    ['a', new Set(['b'])],
    ['b', new Set(['c'])],
    ['c', new Set(['b'])],
  ]);
  assert.deepEqual(circle(back), ['b', 'c', 'b']);
});

/** Who writes and judges schemas for the product: what it uses must not be what it is judged by. */
const JUDGED = ['packages/crd', '@marcbachmann/cel-js', 're2js'];

test('the embedded API server shares no code with packages/crd', () => {
  const files = globSync('packages/{sandbox/src/embedded,kube/src/testing/cluster}/**/*.ts', { cwd: root });
  const seen = new Set<string>();
  const shared: string[] = [];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
      if (JUDGED.includes(specifier) || JUDGED.includes(targetOf(file, specifier) ?? ''))
        shared.push(`${file} imports ${specifier}`);
      else if (specifier.startsWith('.')) visit(relative(root, join(root, dirname(file), specifier)));
    }
  };
  for (const file of files.filter((one) => !one.endsWith('.test.ts'))) visit(file);
  assert.deepEqual(shared, []);
  assert.ok(seen.size >= 40, `only ${seen.size} modules were seen`);
  assert.ok(
    JUDGED.includes(targetOf('packages/sandbox/src/x.ts', '@drydock/crd') ?? ''),
    'a forbidden import would be seen',
  );
});

test('the sandbox uses of other packages only what they have for tests', () => {
  const files = globSync('packages/sandbox/src/**/*.ts', { cwd: root }).filter((one) => !one.endsWith('.test.ts'));
  const others = files.flatMap((file) =>
    importsOf(readFileSync(join(root, file), 'utf8'))
      .filter((specifier) => specifier.startsWith('@drydock/') && !/\/testing(\/|$)/.test(specifier))
      .map((specifier) => `${file} imports ${specifier}`),
  );
  assert.deepEqual(others, []);
});

test('no file imports what imports it', () => {
  const files = new Set(sourceFiles());
  const imports = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    const beside = importsOf(readFileSync(join(root, file), 'utf8')).map((specifier) => besideOf(file, specifier));
    imports.set(file, new Set(beside.filter((other) => other !== undefined && files.has(other)) as string[]));
  }
  assert.equal(circle(imports)?.join(' → '), undefined);
});

test('an import that the table forbids is seen', () => {
  assert.deepEqual(
    importsOf("import { a } from '@drydock/kube';\nexport * from '../x.ts';\nconst y = await import('node:fs');"),
    ['@drydock/kube', '../x.ts', 'node:fs'],
  );
  assert.equal(targetOf('packages/vsphere/src/x.ts', '../../kube/src/index.ts'), 'packages/kube');
  assert.equal(targetOf('packages/vsphere/src/x.ts', '@drydock/kube'), 'packages/kube');
});

test('TRUTH-10 one place knows where the cache of the sandbox is', () => {
  const knows = /env\['DRYDOCK_SANDBOX_CACHE'\]|sandbox\/\.cache/;
  const files = sourceFiles().filter((file) => file.endsWith('.ts'));
  const others = files.filter((file) => knows.test(readFileSync(join(root, file), 'utf8')));
  // The place, and the test that moves it.
  assert.deepEqual(others.sort(), ['packages/sandbox/src/build.test.ts', 'packages/sandbox/src/paths.ts']);
});
