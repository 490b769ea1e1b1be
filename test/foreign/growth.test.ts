import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOSTILE } from './formats.ts';

for (const { name, assert: costs } of HOSTILE)
  test(`SAFE-1 it costs what it weighs: ${name}`, async () => void (await costs()));

test('SAFE-1 every reader of foreign bytes is held to what its input weighs', () => {
  const readers = new Set(HOSTILE.map(({ name }) => name.split(':')[0]));
  for (const reader of [
    ...[
      'an object of 1.5 MiB',
      'an event',
      'YAML of 1 MiB',
      'XML as it arrives',
      'OVF at once',
      'tar',
      'pax',
      'a manifest',
      'a stream',
    ],
    ...[
      'user data',
      'a kubeconfig',
      'a definition',
      'a plan',
      'a record of the ledger',
      'a pod',
      'a pointer file',
      'a mark',
    ],
  ])
    assert.ok(readers.has(reader), reader);
});
