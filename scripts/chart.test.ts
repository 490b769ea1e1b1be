import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { chartBundles } from './chart.ts';
import { root } from './command.ts';

test('the chart has the documents of deploy as they are (npm run generate)', () => {
  const bundles = chartBundles();
  for (const [file, text] of bundles) assert.equal(readFileSync(join(root, file), 'utf8'), text, file);
  assert.deepEqual(globSync('deploy/chart/manifests/*', { cwd: root }).sort(), [...bundles.keys()].sort());
});

test('each kustomization of rights and of the operator is in the chart, or this says why not', () => {
  const apart = [
    // Applied by templates one by one.
    'deploy/rbac',
    // Bundles have them with what needs them.
    'deploy/rbac/release',
    'deploy/rbac/page',
    // Parts of the operator's bundle, and what the templates make of it.
    'deploy/operator/base',
    'deploy/cluster-api',
    // A component of the bundle of releases, whose patch the templates make.
    'deploy/release/cluster-version',
    // What they add is an argument or a Secret of people.
    ...globSync('deploy/clouds/*', { cwd: root }),
  ];
  const text = readFileSync(join(import.meta.dirname, 'chart.ts'), 'utf8');
  const missing = globSync('deploy/**/kustomization.yaml', { cwd: root })
    .map((file) => file.replace(/\/kustomization\.yaml$/, ''))
    .filter((folder) => !apart.includes(folder) && !text.includes(`'${folder}'`));
  assert.deepEqual(missing, []);
});

test('the chart is of the version of the program', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const chart = parse(readFileSync(join(root, 'deploy/chart/Chart.yaml'), 'utf8')) as Readonly<Record<string, unknown>>;
  assert.deepEqual([chart['version'], chart['appVersion']], [version, version]);
});
