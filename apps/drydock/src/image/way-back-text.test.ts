import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IMAGE_GONE } from '@drydock/boot-images';
import { wayBackCell, wayBackRefusals } from './way-back-text.ts';

test('OWN-18 a history says in a word whether a set can go back, and below the table why it cannot, or why nobody could look, with what to do', () => {
  const until = '2026-10-04T08:00:00Z';
  const why = 'nothing proves that it is the template that the set had';
  const lost = { why: 'vc1 does not answer', next: 'drydock explain ms/worker-a' };
  const entries = [
    { id: 'a1', release: '9.9' },
    { id: 'b2', release: '9.8', until, revertable: true },
    { id: 'c3', release: '9.7', until, revertable: false, why: IMAGE_GONE },
    { id: 'd4', release: '9.6', until, revertable: false, why, next: 'drydock template adopt X' },
    { id: 'e5', release: '9.5', until, ...lost },
    { id: 'f6', release: '9.4', until, ...lost },
  ];
  assert.deepEqual(
    entries.map((entry) => wayBackCell(entry, IMAGE_GONE)),
    ['in use', 'yes', 'gone', 'no', 'unknown', 'unknown'],
  );
  assert.deepEqual(wayBackRefusals(entries, IMAGE_GONE).split('\n'), [
    `No way back to 9.6: ${why}.`,
    '  next: drydock template adopt X',
    'Not known whether there is a way back to 9.5, 9.4: vc1 does not answer.',
    '  next: drydock explain ms/worker-a',
    '',
  ]);
});

test('FIND-25 a note below the history is broken at 100 columns, and its command stays one line', () => {
  const until = '2026-10-04T08:00:00Z';
  const next = `drydock template adopt ${'x'.repeat(150)}`;
  const entry = {
    id: 'a1',
    release: '9.6',
    until,
    revertable: false,
    why: 'nothing proves it '.repeat(20).trim(),
    next,
  };
  const lines = wayBackRefusals([entry], IMAGE_GONE).trimEnd().split('\n');
  assert.equal(lines.at(-1), `  next: ${next}`);
  assert.deepEqual(lines.filter((line) => line.length > 100).length, 1);
  assert.ok(lines.length > 3, 'broken at spaces');
});
