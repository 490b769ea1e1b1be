import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');

/** What the sources of each folder may import of the others; every folder may import `api`. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  api: [],
  'packages/model': [],
  'packages/durable': [],
  'packages/crd': [],
  'packages/kube': [],
  'packages/vsphere': [],
  'packages/templates': ['packages/vsphere', 'packages/durable'],
  'packages/boot-images': ['packages/kube', 'packages/crd', 'packages/templates'],
  'packages/preflight': ['packages/kube', 'packages/crd'],
  'packages/release': ['packages/kube', 'packages/crd', 'packages/preflight', 'packages/durable'],
  'packages/vm-watch': ['packages/kube', 'packages/crd', 'packages/vsphere'],
  'packages/static-pods': ['packages/kube', 'packages/durable'],
  'packages/sandbox': [],
  'apps/node': ['packages/static-pods', 'packages/durable', 'packages/kube'],
  'apps/page': ['packages/kube', 'packages/boot-images'],
  'apps/drydock': ['*'],
  bench: ['*'],
  scripts: ['*'],
};

/** Folders that only tests, exported fakes, the demo and the benchmarks may import. */
const testOnly = ['packages/model', 'packages/sandbox'];
const folders = Object.keys(allowed);
const names = new Map(folders.map((folder) => [packageName(folder), folder]));

function packageName(folder: string): string {
  if (folder === 'scripts') return '(scripts)';
  return (JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as { name: string }).name;
}

function folderOf(file: string): string | undefined {
  return folders.find((folder) => file.startsWith(`${folder}/`));
}

function importsOf(text: string): readonly string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '');
  return [
    ...code.matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^;'"`]*?from\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return folderOf(relative(root, join(root, dirname(file), specifier)));
  for (const [name, folder] of names) if (specifier === name || specifier.startsWith(`${name}/`)) return folder;
  return undefined;
}

test('each folder imports only what the table allows', () => {
  const files = globSync('{api,packages,apps,bench,scripts}/**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/go/**'],
  })
    .filter((file) => !file.endsWith('.test.ts'))
    .sort();
  const wrong: string[] = [];
  for (const file of files) {
    const from = folderOf(file);
    assert.ok(from !== undefined, `${file} lies in a folder that the table does not name`);
    const rules = allowed[from] ?? [];
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
        const to = specifier.startsWith('.') ? roomOf(relative(root, join(root, dirname(file), specifier))) : undefined;
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

test('no file imports what imports it', () => {
  const files = new Set(
    globSync('{api,packages,apps,bench,scripts,test}/**/*.{ts,tsx}', {
      cwd: root,
      exclude: ['**/node_modules/**', '**/go/**'],
    }),
  );
  const imports = new Map<string, ReadonlySet<string>>();
  for (const file of files) {
    const beside = importsOf(readFileSync(join(root, file), 'utf8'))
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => relative(root, join(root, dirname(file), specifier)));
    imports.set(file, new Set(beside.filter((other) => files.has(other))));
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
  const files = globSync('{api,packages,apps,bench,scripts,test}/**/*.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/go/**'],
  });
  const others = files.filter((file) => knows.test(readFileSync(join(root, file), 'utf8')));
  // The place, and the test that moves it.
  assert.deepEqual(others.sort(), ['packages/sandbox/src/build.test.ts', 'packages/sandbox/src/paths.ts']);
});
