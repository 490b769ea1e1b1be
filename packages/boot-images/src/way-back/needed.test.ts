import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImageStatusHistoryItem } from '@drydock/api';
import { neededBy } from './needed.ts';

const entry = (id: string, more: Partial<BootImageStatusHistoryItem> = {}): BootImageStatusHistoryItem => ({
  ...{ id, image: `t-${id}`, release: id, digest: `d-${id}`, until: '2026-01-01T00:00:00Z' },
  ...more,
});
const { until: _, ...inUse } = entry('R5');
const image = (pin?: NonNullable<BootImage['spec']>['pin']): BootImage => ({
  metadata: { name: 'ms-a' },
  spec: pin === undefined ? {} : { pin },
  status: {
    set: 'ms/a',
    history: [inUse, entry('R3'), entry('R2'), entry('R3', { id: 'again' }), entry('R1')],
  },
});

test('the images of a way back are counted, not the entries: one that was used twice counts once', () => {
  const needed = neededBy([image()], 0);
  const kept = (keep: number): readonly string[] =>
    ['R5', 'R3', 'R2', 'R1'].filter((id) => needed({ image: `t-${id}`, release: id, digest: `d-${id}` }, keep));
  assert.deepEqual([kept(0), kept(1), kept(2), kept(3)], [[], ['R3'], ['R3', 'R2'], ['R3', 'R2', 'R1']]);
  assert.equal(needed({ image: 't-R2', release: 'R2' }, 2), 'kept as a way back of ms/a');
});

test('a pinned image is needed under any name, however old, until the pin lapses', () => {
  const pinned = neededBy([image({ release: 'R0', digest: 'd-R0', image: 't', until: '2026-02-01T00:00:00Z' })], 0);
  assert.equal(pinned({ image: 't-retired-1', release: 'R0', stableName: 't' }, 0), 'ms/a is pinned to it');
  assert.equal(pinned({ image: 'elsewhere', release: 'x', digest: 'd-R0' }, 0), 'ms/a is pinned to it');
  assert.equal(pinned({ image: 't', release: 'R9' }, 0), undefined);
  const alone = neededBy([image({ release: 'R0' })], 0);
  assert.equal(alone({ image: 'whatever', release: 'R0' }, 0), 'ms/a is pinned to it');
  const lapsed = neededBy(
    [image({ release: 'R0', until: '2026-02-01T00:00:00Z' })],
    Date.parse('2026-02-01T00:00:00Z'),
  );
  assert.equal(lapsed({ image: 'whatever', release: 'R0' }, 0), undefined);
});
