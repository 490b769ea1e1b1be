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
    { id: 'd4', release: '9.6', until, revertable: false, why },
    { id: 'e5', release: '9.5', until, ...lost },
    { id: 'f6', release: '9.4', until, ...lost },
  ];
  assert.deepEqual(
    entries.map((entry) => wayBackCell(entry, IMAGE_GONE)),
    ['in use', 'yes', 'no, the image is gone', 'no, see below', 'not looked at, see below', 'not looked at, see below'],
  );
  const lines = wayBackRefusals('ms/worker-a', entries, IMAGE_GONE).replaceAll(/ +/g, ' ').split('\n');
  assert.deepEqual(lines, [
    `No way back to 9.6: ${why}. What it takes: drydock image revert ms/worker-a --to d4`,
    'Nobody could look for 9.5, 9.4: vc1 does not answer. Next: drydock explain ms/worker-a',
    '',
  ]);
});
