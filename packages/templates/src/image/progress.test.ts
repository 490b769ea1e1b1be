import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TemplateProgress } from '../store.ts';
import { byteMeter } from './progress.ts';

test('TRUTH-20 what was sent to its last byte is said to wait for the server; what was read to its last byte is there', () => {
  const clock = { now: () => 0 } as unknown as Parameters<typeof byteMeter>[2];
  const lastOf = (step: 'Downloading' | 'Uploading', bytes: number): true | undefined => {
    const told: TemplateProgress[] = [];
    byteMeter(step, 4_096, clock, (progress) => told.push(progress))(bytes);
    return told.at(-1)?.sent;
  };
  assert.deepEqual(
    [lastOf('Uploading', 4_095), lastOf('Uploading', 4_096), lastOf('Downloading', 4_096)],
    [undefined, true, undefined],
  );
});
