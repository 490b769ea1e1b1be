import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { virtualClock } from '@drydock/model';
import { createWatcher } from '../delivery/watcher.ts';
import { memoryFeed } from '../testing/memory-feed.ts';

test('a machine that the watch was never told of is found by the comparison with the inventory, and everything is read again', async () => {
  const clock = virtualClock();
  const feed = memoryFeed(clock);
  feed.create('f1', 'vm-1', { name: 'a' });
  const states: string[] = [];
  const warnings: string[] = [];
  let hidden = true;
  const watcher = await createWatcher({
    // A server that forgot to tell of one machine.
    feed: {
      ...feed,
      survey: async (...args) => {
        const survey = await feed.survey(...args);
        return hidden ? new Map([...survey, ['vm-2', 'b']]) : survey;
      },
    },
    clock,
    log: { info: () => undefined, warn: (_fields, message) => warnings.push(message) },
    lookup: { named: () => undefined, byUniqueId: () => [] },
    deliver: () => undefined,
    selfCheckMs: 60_000,
    onState: ({ name }) => {
      states.push(name);
      // Read again, it is there.
      if (name === 'syncing' && states.length > 3) {
        hidden = false;
        feed.create('f1', 'vm-2', { name: 'b' });
      }
    },
  });
  const stop = new AbortController();
  const running = watcher.run(stop.signal);
  void watcher.supervisor.add(feed.container('f1'), 'test');
  for (let round = 0; round < 40; round += 1) {
    for (let turn = 0; turn < 6; turn += 1) await tick();
    clock.advance(10_000);
  }
  assert.deepEqual(states, ['connecting', 'syncing', 'live', 'syncing', 'live']);
  assert.deepEqual(warnings, [
    'The watch and the inventory differ; Drydock reads everything again. No action is needed.',
  ]);
  assert.deepEqual(
    watcher.ledger.refs().map(({ value }) => value),
    ['vm-1', 'vm-2'],
  );
  stop.abort();
  await running;
});

test('a change that the watch was never told of is found by the comparison with the inventory; one that it was told of is none', async () => {
  const clock = virtualClock();
  const feed = memoryFeed(clock);
  for (const name of ['vm-1', 'vm-2']) feed.create('f1', name, { name });
  const warnings: string[] = [];
  const told: string[] = [];
  let silent = false;
  const watcher = await createWatcher({
    feed: {
      ...feed,
      survey: async (...args) => {
        const survey = await feed.survey(...args);
        return silent ? new Map([...survey, ['vm-1', 'renamed']]) : survey;
      },
    },
    clock,
    log: {
      info: () => undefined,
      warn: (fields, message) =>
        warnings.push('difference' in fields ? `${message} ${String(fields.difference)}` : message),
    },
    lookup: {
      named: () => undefined,
      byUniqueId: (id) => [{ namespace: 'ns', name: id, uniqueId: id, deleting: false }],
    },
    deliver: ({ ref, paths }) => void told.push(`${ref.value} ${[...paths].join()}`),
    selfCheckMs: 60_000,
    onState: ({ name }) => {
      if (name === 'syncing' && silent) feed.set('vm-1', 'name', 'renamed');
    },
  });
  const stop = new AbortController();
  const running = watcher.run(stop.signal);
  void watcher.supervisor.add(feed.container('f1'), 'test');
  const minutes = async (count: number): Promise<void> => {
    for (let round = 0; round < count * 6; round += 1) {
      for (let turn = 0; turn < 6; turn += 1) await tick();
      clock.advance(10_000);
    }
  };
  await minutes(3);
  feed.set('vm-2', 'name', 'heard of');
  await minutes(3);
  assert.deepEqual([warnings, told.splice(0)], [[], ['vm-2 name']]);
  silent = true;
  await minutes(5);
  assert.deepEqual(warnings, [
    'The watch and the inventory differ; Drydock reads everything again. No action is needed. + - ~vm-1',
  ]);
  assert.ok(told.includes('vm-1 name'), told.join());
  stop.abort();
  await running;
});
