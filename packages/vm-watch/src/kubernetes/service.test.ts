import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { watchMetrics } from '../metrics.ts';
import { quickest } from '../testing/quickest.ts';
import { serviceRig } from '../testing/service-rig.ts';
import { asyncSignalEnabled } from './async-signal.ts';

const folder = { type: 'Folder', value: 'f1' };

test('VS-W49 the signal is switched off by the words of Go and by no others, and then no session is opened', async () => {
  for (const word of ['1', 't', 'T', 'TRUE', 'true', 'True'])
    assert.equal(asyncSignalEnabled({ ASYNC_SIGNAL_DISABLED: word }), false, word);
  for (const word of ['yes', '', 'tRUE', '0', 'f', 'on'])
    assert.equal(asyncSignalEnabled({ ASYNC_SIGNAL_DISABLED: word }), true, word);
  for (const word of ['0', 'f', 'F', 'FALSE', 'false', 'False'])
    assert.equal(asyncSignalEnabled({ ASYNC_SIGNAL_ENABLED: word }), false, word);
  assert.equal(asyncSignalEnabled({ ASYNC_SIGNAL_ENABLED: 'no' }), true);
  assert.equal(asyncSignalEnabled({ ASYNC_SIGNAL_ENABLED: 'true', ASYNC_SIGNAL_DISABLED: 'true' }), false);

  await using rig = await serviceRig({ enabled: false });
  rig.run();
  assert.equal(await rig.service.add('vc1', folder, 'ns/z'), 'disabled');
  assert.equal(await rig.service.remove('vc1', folder, 'ns/z'), 'disabled');
  assert.deepEqual(rig.service.check(), { remark: 'disabled' });
  await rig.stop();
  assert.equal(rig.estate.vcenter('vc1').clients, 0);
});

test('VS-W59 VS-W62 a machine that carries no name of an object, and that no object names, is told nobody; its key is read again when it changes', async () => {
  await using rig = await serviceRig();
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1');
  vc1.create('f1', 'vm-2', 'ns/b');
  await rig.vm('b', { uniqueID: 'vm-2' });
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  await rig.live();
  assert.equal(rig.service.reports()[0]?.unresolved, 1);
  vc1.power('vm-1', 'poweredOn');
  vc1.power('vm-2', 'poweredOn');
  assert.deepEqual(await rig.until('verified'), ['vc1 ns/b vm-2 changed verified']);
});

test('VS-W61 a machine whose object is being deleted is told nobody', async () => {
  await using rig = await serviceRig();
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1');
  vc1.create('f1', 'vm-2');
  await rig.vm('a', { uniqueID: 'vm-1' }, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] });
  await rig.vm('b', { uniqueID: 'vm-2' });
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  await rig.live();
  vc1.power('vm-1', 'poweredOn');
  vc1.feed.destroy('vm-1');
  vc1.power('vm-2', 'poweredOn');
  assert.deepEqual(await rig.until('verified'), ['vc1 ns/b vm-2 changed verified']);
});

test('VS-W28 a machine that nobody knows is told within a second once an object names it', async () => {
  await quickest(1_000, async () => {
    await using rig = await serviceRig();
    rig.estate.vcenter('vc1').create('f1', 'vm-1');
    rig.run();
    await rig.service.add('vc1', folder, 'ns/z');
    await rig.live();
    const at = performance.now();
    await rig.vm('a', { uniqueID: 'vm-1' });
    assert.deepEqual(await rig.until('verified'), ['vc1 ns/a vm-1 changed verified']);
    return performance.now() - at;
  });
});

test('VS-W63 VS-W64 a copy is no reason to look at the object whose name it carries; where two objects name one machine, what it carries decides', async () => {
  const warnings: string[] = [];
  const warn = (fields: object, text: string): void => {
    if ('object' in fields) warnings.push(`${JSON.stringify(fields)} ${text}`);
  };
  await using rig = await serviceRig({ log: { info: () => undefined, warn } });
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f1', 'vm-2', 'ns/a');
  vc1.create('f1', 'vm-3', 'ns/c');
  await rig.vm('a', { uniqueID: 'vm-1' });
  await rig.vm('b', { uniqueID: 'vm-3' });
  await rig.vm('c', { uniqueID: 'vm-3' });
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  await rig.live();
  vc1.power('vm-2', 'poweredOn');
  vc1.power('vm-3', 'poweredOn');
  assert.deepEqual(await rig.until('verified'), ['vc1 ns/c vm-3 changed verified']);
  vc1.power('vm-2', 'poweredOff');
  vc1.power('vm-3', 'poweredOff');
  await rig.until('verified');
  assert.equal(warnings.length, 1, warnings.join('\n'));
  assert.match(warnings[0] ?? '', /"vm":"vm-2","object":"ns\/a","machineOfObject":"vm-1"/);
});

test('VS-W46 equal references of two vCenters do not mix, and a vCenter that is down concerns no other', async () => {
  await using rig = await serviceRig();
  const [vc1, vc2] = ['vc1', 'vc2'].map((server) => rig.estate.vcenter(server));
  vc1?.create('f1', 'vm-1', 'ns/a');
  vc2?.create('f1', 'vm-1', 'ns/b');
  rig.run();
  for (const server of ['vc1', 'vc2']) await rig.service.add(server, folder, 'ns/z');
  await rig.live('vc1');
  await rig.live('vc2');
  assert.deepEqual(rig.signals.toSorted(), ['vc1 ns/a vm-1 changed', 'vc2 ns/b vm-1 changed']);
  if (vc1 !== undefined) vc1.down = true;
  vc1?.feed.endSession();
  await rig.until('ns/b vm-1 changed');
  vc2?.power('vm-1', 'poweredOn');
  assert.deepEqual(await rig.until('vm-1 changed'), ['vc2 ns/b vm-1 changed']);
});

for (const [how, take] of [
  ['refuses', () => Promise.reject(new Error('the queue is closed'))],
  ['never takes it', () => new Promise<never>(() => undefined)],
] as const) {
  test(`VS-W67 a consumer that ${how} delays no stop, and what it did not take is there at the next run`, async () => {
    let block = true;
    const offered = Promise.withResolvers<void>();
    await using rig = await serviceRig({
      deliver: async () => {
        if (!block) return;
        offered.resolve();
        await take();
      },
    });
    rig.estate.vcenter('vc1').create('f1', 'vm-1', 'ns/a');
    rig.run();
    await rig.service.add('vc1', folder, 'ns/z');
    await offered.promise;
    const at = performance.now();
    await rig.stop();
    assert.ok(performance.now() - at < 2_000, `${performance.now() - at} ms`);
    assert.deepEqual(rig.signals, []);
    assert.equal(rig.service.reports()[0]?.dirty, 1);
    block = false;
    rig.run();
    // The pass of the new run may tell it once more.
    assert.deepEqual(new Set(await rig.until('ns/a vm-1 changed')), new Set(['vc1 ns/a vm-1 changed']));
  });
}

test('metrics tell state, lag, signals, drops and rebuilds of each vCenter', async () => {
  const registry = new Registry();
  await using rig = await serviceRig({ metrics: watchMetrics(registry) });
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1');
  vc1.create('f1', 'vm-2', 'ns/b');
  await rig.vm('b', { uniqueID: 'vm-2' });
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  await rig.live();
  vc1.power('vm-2', 'poweredOn');
  await rig.until('verified');
  vc1.feed.endSession();
  await rig.live();
  vc1.feed.destroy('vm-2');
  await rig.until('left verified');
  const text = await registry.metrics();
  const at = 'watch="vms",vcenter="vc1"';
  for (const line of [
    `drydock_watch_state{${at},state="live"} 1`,
    `drydock_watch_state{${at},state="backoff"} 0`,
    `drydock_watch_machines{${at}} 1`,
    `drydock_watch_unresolved_machines{${at}} 1`,
    `drydock_watch_containers{${at},watched="true"} 1`,
    `drydock_watch_dropped_total{${at},reason="baseline"} 1`,
    `drydock_watch_dropped_total{${at},reason="unresolved"} 1`,
    `drydock_watch_signals_total{${at},kind="left"} 1`,
    `drydock_watch_rebuilds_total{${at}} 1`,
  ])
    assert.ok(text.includes(line), `${line}\n${text}`);
  assert.match(text, /drydock_watch_lag_seconds\{.*\} [0-9.e-]+/);
  assert.match(text, new RegExp(`drydock_watch_delivery_seconds_count\\{${at}\\} [23]`));
});
