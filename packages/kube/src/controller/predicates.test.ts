import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectMeta } from '../resource.ts';
import {
  and,
  annotationsChanged,
  deleting,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
} from './predicates.ts';

const base: ObjectMeta = { name: 'a', uid: 'u', generation: 1, labels: { a: '1' }, annotations: { b: '1' } };

function ask(predicate: Predicate, more: Partial<ObjectMeta>): boolean {
  return predicate({
    key: { name: 'a' },
    old: { metadata: base },
    now: { metadata: { ...base, ...more } },
    initial: false,
  });
}

test('each predicate sees its own part of the metadata and no other', () => {
  const changes: readonly Partial<ObjectMeta>[] = [
    {},
    { generation: 2 },
    { labels: { a: '2' } },
    { annotations: { c: '1' } },
    { deletionTimestamp: 'now' },
    { uid: 'v' },
  ];
  const table: readonly [Predicate, readonly boolean[]][] = [
    [generationChanged, [false, true, false, false, false, true]],
    [labelsChanged, [false, false, true, false, false, true]],
    [annotationsChanged, [false, false, false, true, false, true]],
    [deleting, [false, false, false, false, true, false]],
    [or(labelsChanged, deleting), [false, false, true, false, true, true]],
    [and(not(labelsChanged), generationChanged), [false, true, false, false, false, false]],
  ];
  for (const [predicate, expected] of table) {
    assert.deepEqual(
      changes.map((more) => ask(predicate, more)),
      expected,
    );
  }
});

test('what appears and what vanishes always counts', () => {
  const metadata = base;
  for (const predicate of [generationChanged, labelsChanged, annotationsChanged]) {
    assert.ok(predicate({ key: { name: 'a' }, now: { metadata }, initial: true }));
    assert.ok(predicate({ key: { name: 'a' }, old: { metadata }, initial: false }));
  }
  assert.ok(deleting({ key: { name: 'a' }, old: { metadata }, initial: false }));
  assert.ok(
    generationChanged({ key: { name: 'a' }, old: { metadata: { name: 'a' } }, initial: false }),
    'kinds without a generation',
  );
});
