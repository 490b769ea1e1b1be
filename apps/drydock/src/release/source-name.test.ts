import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type SourceName, sourceNamed, waysOf } from './source-name.ts';

const scratch = mkdtempSync(join(tmpdir(), 'drydock-source-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const file = join(scratch, 'a.yaml');
writeFileSync(file, '');
const odd = join(scratch, 'a:b');
mkdirSync(odd);

const ALL = ['folder', 'file', 'image', 'cluster'] as const;

test('FIND-19 one rule says what a name of a release or of CRDs stands for', () => {
  const digest = `registry.example/release@sha256:${'a'.repeat(64)}`;
  for (const [name, source] of [
    [scratch, { kind: 'folder', path: scratch }],
    [odd, { kind: 'folder', path: odd }],
    [file, { kind: 'file', path: file }],
    ['cluster:', { kind: 'cluster', context: undefined }],
    ['cluster:prod', { kind: 'cluster', context: 'prod' }],
    ['oci:releases:4.17.9', { kind: 'image', name: 'oci:releases:4.17.9' }],
    ['registry.example/release:4.17.9', { kind: 'image', name: 'registry.example/release:4.17.9' }],
    ['localhost/release', { kind: 'image', name: 'localhost/release' }],
    ['registry:5000/release', { kind: 'image', name: 'registry:5000/release' }],
    [digest, { kind: 'image', name: digest }],
  ] as const satisfies readonly (readonly [string, SourceName])[])
    assert.deepEqual(sourceNamed(name, ALL), source, name);
});

test('FIND-19 a name that stands for nothing is refused with the sources that the verb takes', () => {
  for (const name of ['crds-4.17', './crds', '/nowhere/crds', 'crds/4.17', '~/crds', 'constructor:x'])
    assert.throws(() => sourceNamed(name, ALL), {
      name: 'UsageError',
      message: `there is no file or folder ${name}: name a ${waysOf(ALL)}`,
    });
  assert.throws(() => sourceNamed('cluster:', ['folder', 'image']), {
    message: /^this verb reads no cluster, and cluster: is one: name a folder, or oci:FOLDER\[:TAG\] .* in a registry$/,
  });
});
