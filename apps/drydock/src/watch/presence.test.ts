import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWatcher } from '@drydock/vm-watch';
import type { MoRef, PropertyWatch, UpdateFeed, UpdateSink, XmlElement } from '@drydock/vsphere';
import { systemClock } from '@drydock/vsphere';
import { presence } from './presence.ts';

const NAME = 'name';
const decode = (): XmlElement => ({ uri: '', name: 'val', attributes: [], children: [] });
const entered = (sink: UpdateSink, vm: string, changes: number): void => {
  sink.object('enter', 'VirtualMachine', vm);
  sink.change(NAME, 'assign', Buffer.from(`<val>${vm}</val>`), decode);
  sink.objectEnd();
  for (let n = 0; n < changes; n += 1) {
    sink.object('modify', 'VirtualMachine', vm);
    sink.change(NAME, 'assign', Buffer.from(`<val>${vm} ${n}</val>`), decode);
    sink.objectEnd();
  }
};

test('TRUTH-3 each of 20 machines that come is told to have come, once and before its changes, also when it changes in the same answer', async () => {
  const told: string[] = [];
  const waits = Promise.withResolvers<never>();
  let answers = 0;
  const watch = {
    unknownPaths: [],
    refused: [],
    next: async (_version: string, sink: UpdateSink) => {
      answers += 1;
      if (answers === 1) entered(sink, 'vm-0', 1);
      else if (answers === 2) for (let n = 1; n <= 20; n += 1) entered(sink, `vm-${n}`, n % 3);
      else await waits.promise;
      return { version: String(answers), truncated: false };
    },
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as PropertyWatch;
  const feed = { server: 'vc', instanceUuid: async () => 'vc', watch: async () => watch } as unknown as UpdateFeed;
  const there = presence(({ value }) => void told.push(`${value} came`));
  const watcher = await createWatcher({
    feed,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    paths: [NAME],
    lookup: {
      named: () => undefined,
      byUniqueId: (uniqueId) => [{ namespace: '', name: uniqueId, uniqueId, deleting: false }],
    },
    onState: ({ name }) => {
      if (name === 'live') there.begin(watcher.ledger.refs());
    },
    onResolved: (ref: MoRef, resolution) => {
      if (resolution.kind === 'drop') there.known(ref);
    },
    onChange: (ref) => {
      there.seen(ref);
      told.push(`${ref.value} changed`);
    },
    deliver: ({ ref }) => there.seen(ref),
  });
  const stop = new AbortController();
  void watcher.supervisor.add({ type: 'Folder', value: 'f' }, 'test');
  const running = watcher.run(stop.signal);
  for (let turn = 0; turn < 1000 && (answers < 3 || watcher.courier.pending > 0); turn += 1)
    await new Promise<void>((resolve) => setImmediate(resolve));
  stop.abort();
  waits.reject(new Error('over'));
  await running;
  assert.equal(told[0], 'vm-0 changed', 'what is there at the beginning did not come');
  for (let n = 1; n <= 20; n += 1) {
    const mine = told.filter((text) => text.startsWith(`vm-${n} `));
    const changes = Array.from({ length: n % 3 }, () => `vm-${n} changed`);
    assert.deepEqual(mine, [`vm-${n} came`, ...changes]);
  }
});
