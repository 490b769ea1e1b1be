import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVimError, VimError } from '../errors.ts';
import type { ObjectContent } from '../soap/call.ts';
import { type ManualClock, manualClock } from '../testing/manual-clock.ts';
import type { MoRef } from '../vcenter.ts';
import { parseXml } from '../xml/xml-tree.ts';
import { TaskWaiter } from './tasks.ts';

const TASK: MoRef = { type: 'Task', value: 'task-1' };

/** A server whose tasks end at a known time, and which counts how often it is asked. */
function rig(endsAt: (task: MoRef) => number, broken: (now: number) => boolean = () => false) {
  const clock: ManualClock = manualClock();
  const seen = { calls: 0 };
  const closing = new AbortController();
  const waiter = new TaskWaiter({
    clock,
    server: 'vcenter.example',
    closing: closing.signal,
    retrieve: async (refs) => {
      seen.calls++;
      if (broken(clock.now())) {
        throw new VimError({
          kind: 'transport',
          code: 'VIM_UNREACHABLE',
          op: 'RetrievePropertiesEx',
          message: 'refused',
          retriable: true,
        });
      }
      return refs.map((ref): ObjectContent => {
        const state = clock.now() >= endsAt(ref) ? 'success' : 'running';
        return { ref, values: new Map([['info', parseXml(`<val><state>${state}</state></val>`)]]), missing: [] };
      });
    },
  });
  return { clock, waiter, seen, closing };
}

/** Moves the clock until the wait is over; resolves to the time at which it was. */
async function ended(clock: ManualClock, work: Promise<unknown>, limit: number): Promise<number> {
  let at: number | undefined;
  work.then(
    () => (at = clock.now()),
    () => (at = clock.now()),
  );
  while (at === undefined && clock.now() < limit) await clock.advance(1);
  assert.ok(at !== undefined, `the wait is not over after ${limit} ms`);
  await work;
  return at;
}

for (const [lasts, maxLate, maxCalls] of [
  [0, 0, 1],
  [3, 5, 2],
  [40, 6, 10],
  [400, 51, 30],
  [5_000, 626, 52],
  [60_000, 2_000, 90],
] as const) {
  test(`a task of ${lasts} ms is seen to end within ${maxLate} ms, by at most ${maxCalls} calls`, async () => {
    const { clock, waiter, seen } = rig(() => lasts);
    const at = await ended(clock, waiter.wait(TASK), lasts + 3_000);
    assert.ok(at >= lasts && at - lasts <= maxLate, `seen ${at - lasts} ms late`);
    assert.ok(seen.calls <= maxCalls, `${seen.calls} calls`);
  });
}

test('a short task beside a long one is seen as soon as alone, and both by the same calls', async () => {
  const short: MoRef = { type: 'Task', value: 'task-2' };
  const { clock, waiter, seen } = rig(({ value }) => (value === 'task-2' ? 10_008 : 30_000));
  const long = waiter.wait(TASK);
  await clock.advance(10_000);
  const before = seen.calls;
  const at = await ended(clock, waiter.wait(short), 11_000);
  assert.ok(at - 10_008 <= 5, `seen ${at - 10_008} ms late`);
  assert.ok(seen.calls - before <= 4, `${seen.calls - before} calls`);
  await ended(clock, long, 33_000);
});

test('a connection that is lost for five seconds loses no task', async () => {
  const { clock, waiter } = rig(
    () => 1_000,
    (now) => now > 20 && now < 5_020,
  );
  const at = await ended(clock, waiter.wait(TASK), 10_000);
  assert.ok(at < 8_000, `seen at ${at}`);
});

test('a connection that stays lost ends the wait with an unknown outcome', async () => {
  const { clock, waiter } = rig(
    () => 1_000,
    (now) => now > 20,
  );
  await assert.rejects(ended(clock, waiter.wait(TASK), 20_000), (error) => isVimError(error, 'VIM_UNKNOWN_OUTCOME'));
});

test('a signal ends one wait, closing ends all', async () => {
  const { clock, waiter, closing } = rig(() => Number.POSITIVE_INFINITY);
  const stop = new AbortController();
  const one = waiter.wait(TASK, { signal: stop.signal });
  const other = waiter.wait({ type: 'Task', value: 'task-2' });
  await clock.advance(100);
  stop.abort();
  await assert.rejects(one, (error) => isVimError(error, 'VIM_ABORTED'));
  closing.abort();
  await assert.rejects(other, (error) => isVimError(error, 'VIM_UNKNOWN_OUTCOME'));
});
