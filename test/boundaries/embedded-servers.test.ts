import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { besideOf, importsOf, sourceFiles, targetOf } from '../../scripts/boundaries.ts';
import { root } from '../../scripts/command.ts';

// The embedded servers are what tests are judged by, and what nobody runs in production.

/** All modules of the repository that a module leads to, by static and dynamic imports of files and of the workspace's packages. */
function reachable(from: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const specifier of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const next = besideOf(file, specifier) ?? moduleOf(file, specifier);
      if (next !== undefined && /\.tsx?$/.test(next)) open.push(next);
    }
  }
  return seen;
}

/** The module that an import of a workspace's package leads to, by its exports. */
function moduleOf(file: string, specifier: string): string | undefined {
  const folder = targetOf(file, specifier);
  if (folder === undefined) return undefined;
  const text = readFileSync(join(root, folder, 'package.json'), 'utf8');
  const { name, exports = {} } = JSON.parse(text) as { name: string; exports?: Readonly<Record<string, string>> };
  const path = exports[`.${specifier.slice(name.length)}`];
  return path === undefined ? undefined : join(folder, path);
}

test('no code of the embedded servers is shared with packages/crd, whose tests they judge', () => {
  const main = 'packages/sandbox/src/embedded/apiserver/api-server-main.ts';
  const modules = reachable(main);
  assert.ok(modules.size > 60, `only ${modules.size} modules were followed`);
  assert.deepEqual(
    [...modules].filter((file) => file.startsWith('packages/crd/')),
    [],
  );
  const back = sourceFiles().filter((file) => file.startsWith('packages/crd/src/') && !file.endsWith('.test.ts'));
  for (const file of back) {
    const imports = importsOf(readFileSync(join(root, file), 'utf8')).map((specifier) => targetOf(file, specifier));
    assert.ok(!imports.includes('packages/sandbox') && !imports.includes('packages/kube'), file);
  }
});

test('no code of the embedded servers can be reached from "drydock operator"', () => {
  const modules = reachable('apps/drydock/src/operator.ts');
  assert.ok(modules.size > 100, `only ${modules.size} modules were followed`);
  const reached = [...modules].filter(
    (file) => file.startsWith('packages/sandbox/') || file.startsWith('packages/kube/src/testing/'),
  );
  assert.deepEqual(reached, []);
});
