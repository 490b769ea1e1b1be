import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Asked, type Made, reckon } from './losses.ts';

const made: readonly Made[] = [
  { machine: 'a', path: 'name', at: 1 },
  { machine: 'b', path: 'name', at: 2 },
  { machine: 'a', path: 'summary.runtime.powerState', at: 3 },
];
const asked = (machine: string, at: number, ...paths: readonly string[]): Asked => ({
  machine,
  at,
  paths: new Set(paths),
});

test('one request may cover all changes of a machine', () => {
  const { changed, lost, reconciled } = reckon(made, [
    asked('a', 4, 'name', 'summary.runtime.powerState'),
    asked('b', 2, 'name'),
  ]);
  assert.deepEqual([...changed], ['a', 'b']);
  assert.deepEqual(reconciled, changed);
  assert.deepEqual(lost, []);
});

test('a change is lost whose request came too early, is about something else, or never came', () => {
  const early = reckon(made, [asked('a', 2, 'name', 'summary.runtime.powerState'), asked('b', 1, 'name')]);
  assert.deepEqual(early.lost, [made[1], made[2]]);
  assert.deepEqual([...early.reconciled], []);
  assert.deepEqual(reckon(made, [asked('a', 9, 'parent')]).lost, made);
});
