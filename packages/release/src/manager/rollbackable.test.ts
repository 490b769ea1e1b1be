import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryEntry } from '../state/history.ts';
import { imageOf } from '../testing/manager-world.ts';
import { payloadFiles } from '../testing/payload-files.ts';
import { releaseMemory } from './memory.ts';
import { type RollbackableOptions, rollbackable } from './rollbackable.ts';
import { type JudgedWay, wayBackState } from './way-back-judge.ts';

const CLEAN: JudgedWay = { findings: [], undecided: '' };
const finding = {
  id: 'BLOCK_SPEC:things',
  class: 'BLOCK_SPEC',
  blocking: true,
  message: 'a value is not known there.',
};
const entry = (version: string): HistoryEntry => ({
  ...{ version, image: imageOf(version), state: 'Completed', verified: true, startedTime: '2026-01-01T00:00:00Z' },
  completionTime: '2026-01-01T00:00:00Z',
});

test('REL-13 what a rollback takes out and keeps is told, place by place, and not called fitting', () => {
  const place = { definition: 'things.example.com', path: 'status.phases[]', how: 'cut', objects: 3 } as const;
  const state = wayBackState('1.0.0', { ...CLEAN, healed: Array.from({ length: 7 }, () => place) });
  assert.deepEqual([state.status, state.reason], ['True', 'ValuesKept']);
  assert.match(state.message, /do not hold 7 places: .*status\.phases\[\] of things\.example\.com \(3\).*and 2 more/);
  assert.doesNotMatch(state.message, /fits/);
  assert.match(wayBackState('1.0.0', CLEAN).message, /fits the definitions of 1\.0\.0/);
});

test('RB-R98 what is said of the way back is ten minutes old at most, and another release before is looked at at once', async () => {
  let now = 0;
  let way = CLEAN;
  let looks = 0;
  const options = {
    history: [entry('1.1.0'), entry('1.0.0')],
    ...{ memory: releaseMemory(), name: 'tools', owner: 'Payload tools', signal: new AbortController().signal },
    wish: { account: { namespace: 'default', name: 'deployer' }, featureSet: 'Default', overrides: [] },
    ports: {
      clock: { date: () => new Date(now) },
      retrieve: async () => payloadFiles({}, { version: '1.0.0' }),
      inventory: { open: async () => ({ entries: new Map() }) },
      clientFor: () => ({}),
      metrics: { judged: () => undefined },
      judge: async () => {
        looks += 1;
        return way;
      },
    },
  } as unknown as RollbackableOptions;
  const minutes = async (at: number): Promise<string | undefined> => {
    now = at * 60_000;
    const state = await rollbackable(options);
    return state === undefined ? undefined : `${state.status} ${state.reason}`;
  };
  assert.deepEqual([await minutes(0), await minutes(5), looks], ['True AsExpected', undefined, 1]);
  way = { findings: [finding], undecided: '' };
  assert.deepEqual([await minutes(9.9), looks], [undefined, 1], 'it is young enough');
  assert.deepEqual([await minutes(10), looks], ['False PreflightFindings', 2]);
  way = CLEAN;
  assert.deepEqual([await minutes(19), await minutes(20), looks], [undefined, 'True AsExpected', 3]);
  (options as { history: readonly HistoryEntry[] }).history = [entry('1.2.0'), entry('1.1.0')];
  assert.deepEqual([await minutes(21), looks], ['True AsExpected', 4]);
});
