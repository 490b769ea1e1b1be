import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TemplateProgress } from '@drydock/templates';
import { uploadMeter } from './upload-meter.ts';

/** What is said after this progress, each at its time (ms). */
function after(seen: readonly (readonly [number, TemplateProgress])[], end = 9_000): readonly [string, object] {
  let now = 0;
  const meter = uploadMeter(() => now);
  for (const [at, progress] of seen) {
    now = at;
    meter.see(progress);
  }
  now = end;
  return [meter.text(), meter.event()];
}

test('OWN-20 an upload takes as long as it took, also one that is over before it says how far it is', () => {
  const small = [
    [1_000, { step: 'Uploading', bytes: 0, total: 4_096 }],
    [1_040, { step: 'Uploading', bytes: 4_096, total: 4_096 }],
    [1_050, { step: 'Publishing' }],
    [4_000, { step: 'Publishing' }],
  ] as const;
  assert.deepEqual(after(small), ['4.0 KiB uploaded in 50 ms', { uploadedBytes: 4_096, uploadMs: 50 }]);
  assert.deepEqual(after(small.slice(1, 3))[0], '4.0 KiB uploaded in 10 ms');
  assert.deepEqual(after([[1_000, { step: 'Uploading', bytes: 5 }]], 1_000)[0], '5 B uploaded in 1 ms');
  assert.deepEqual(after([[1_000, { step: 'Publishing' }]]), ['uploaded', {}]);
});

test('OWN-20 an upload that begins anew counts to the end of the last one', () => {
  const twice = [
    [0, { step: 'Uploading', bytes: 10 }],
    [500, { step: 'Publishing' }],
    [600, { step: 'Uploading', bytes: 20 }],
    [900, { step: 'Publishing' }],
  ] as const;
  assert.deepEqual(after(twice)[0], '20 B uploaded in 900 ms');
});
