import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IMAGE_GONE } from '@drydock/boot-images';
import { wayBackCell, wayBackRefusals } from './way-back-text.ts';

test('OWN-18 a history says in a word whether a set can go back, and below the table why it cannot, with the command that says what it takes', () => {
  const until = '2026-10-04T08:00:00Z';
  const why = 'nothing proves that it is the template that the set had';
  const entries = [
    { id: 'a1', release: '9.9' },
    { id: 'b2', release: '9.8', until, revertable: true },
    { id: 'c3', release: '9.7', until, revertable: false, why: IMAGE_GONE },
    { id: 'd4', release: '9.6', until, revertable: false, why },
    { id: 'e5', release: '9.5', until },
  ];
  assert.deepEqual(
    entries.map((entry) => wayBackCell(entry, IMAGE_GONE)),
    ['in use', 'yes', 'no, the image is gone', 'no, see below', 'not looked at'],
  );
  assert.deepEqual(wayBackRefusals('ms/worker-a', entries, IMAGE_GONE), [
    `No way back to 9.6: ${why}. What it takes: drydock image revert ms/worker-a --to d4`,
  ]);
});
