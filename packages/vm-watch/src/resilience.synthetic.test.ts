import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { isVimError, type UpdateSink } from '@drydock/vsphere';
import { quickest } from './testing/quickest.ts';
import { liveRig, POWER, type SyntheticRig, startSyntheticRig } from './testing/synthetic-rig.ts';
import type { WatchState } from './watch/state.ts';

const nameOf = (moid: string): string => `ns/machine-${moid.slice(3)}`;
const made = ({ server }: SyntheticRig): readonly number[] =>
  ['Login', 'CreatePropertyCollector', 'CreateListView', 'CreateContainerView', 'CreateFilter'].map(
    (method) => server.calls.get(method) ?? 0,
  );

/** What was told of a machine. After a pass what was delivered shortly before is told again, without paths: that does not count. */
function told({ signals }: SyntheticRig, moid: string): readonly string[] {
  return signals.filter((signal) => signal.startsWith(`${nameOf(moid)} changed summary`));
}

test('VS-W17 the server goes away and comes back: the state says so, containers are still taken, and the change of the meantime is told', async () => {
  await using rig = await liveRig(2);
  const { server, watcher } = rig;
  const [moid = ''] = rig.moids;
  await server.goAway();
  await rig.until('it shows', () => watcher.supervisor.state.name !== 'live');
  assert.match(watcher.supervisor.state.reason ?? '', /broke|no connection|ends too early/);
  const other = server.inventory.container('Folder', 'group-v2');
  const [later = ''] = server.inventory.add(1, other);
  assert.equal(await watcher.supervisor.add(other, 'zone'), 'pending');
  rig.power(moid, true);
  await server.comeBack();
  await rig.live();
  await rig.settled();
  assert.deepEqual(told(rig, moid), [`${nameOf(moid)} changed ${POWER}`]);
  rig.signals.length = 0;
  rig.power(later, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(later)} changed ${POWER}`]);
});

test('VS-W31 250 machines come in pages of 100, 100 and 50, one call after the other, and only then the watch is live', async () => {
  const known: string[] = [];
  const onState = ({ name }: WatchState): void => void known.push(`${name} with ${rig.watcher.ledger.size}`);
  await using rig = await startSyntheticRig({ watcher: { onState } });
  rig.server.inventory.add(249, rig.folder);
  void rig.watcher.supervisor.add(rig.folder, 'zone');
  rig.run();
  await rig.live();
  assert.deepEqual(known, ['connecting with 0', 'syncing with 0', 'live with 250']);
  // The fourth is that which waits for changes.
  assert.ok([3, 4].includes(rig.server.calls.get('WaitForUpdatesEx') ?? 0));
  await rig.settled();
  assert.equal(rig.signals.length, 249);
});

test('VS-W82 a wait that is given up ends within 50 ms, on the server too, and is cancelled there at most once', async () => {
  await using rig = await startSyntheticRig();
  const { server, vcenter } = rig;
  await using watch = await vcenter.updates.watch({ paths: [POWER], containers: [rig.folder] });
  const sink: UpdateSink = {
    object: () => undefined,
    change: () => undefined,
    missing: () => undefined,
    objectEnd: () => undefined,
  };
  const { version = '' } = await watch.next('', sink);
  const cancelled = (): number => server.calls.get('CancelWaitForUpdates') ?? 0;
  let waits = 0;
  await quickest(50, async () => {
    const stop = new AbortController();
    const waiting = watch.next(version, sink, { signal: stop.signal });
    waiting.catch(() => undefined);
    await rig.until('it waits', () => server.objects().waits === 1);
    waits += 1;
    const at = performance.now();
    stop.abort();
    await assert.rejects(waiting, (error) => isVimError(error, 'VIM_ABORTED'));
    const took = performance.now() - at;
    await rig.until('its connection is gone', () => server.objects().waits === 0);
    return took;
  });
  await watch[Symbol.asyncDispose]();
  assert.ok(cancelled() <= waits, `${cancelled()} cancellations of ${waits} waits`);
});

test('VS-W32 three empty answers in a row: the same version again, and nothing is told', async () => {
  await using rig = await liveRig(1, { secondMs: 20, watcher: { maxWaitSeconds: 1 } });
  const before = rig.server.calls.get('WaitForUpdatesEx') ?? 0;
  await rig.until('four waits ended empty', () => (rig.server.calls.get('WaitForUpdatesEx') ?? 0) > before + 4);
  assert.deepEqual(rig.signals, []);
  assert.equal(rig.watcher.supervisor.state.name, 'live');
  const [moid = ''] = rig.moids;
  rig.power(moid, true);
  await rig.settled();
  assert.equal(rig.signals.length, 1);
});

test('VS-W33 the wait is cut while a machine changes: told once, in the same session, collector and views', async () => {
  await using rig = await liveRig(3);
  const [moid = '', other = ''] = rig.moids;
  const before = made(rig);
  await rig.cutWait();
  rig.power(moid, true);
  await rig.settled();
  await rig.cutWait();
  rig.server.faults.add('WaitForUpdatesEx', { act: 'reset-after' }, 2);
  rig.power(other, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(moid)} changed ${POWER}`, `${nameOf(other)} changed ${POWER}`]);
  assert.deepEqual(made(rig), before);
  assert.equal(rig.server.faults.left, 0);
});

test('negative control: whoever opens a new watch after a cut and takes what enters for known loses the change', async () => {
  await using rig = await startSyntheticRig();
  const { inventory } = rig.server;
  const [moid = ''] = inventory.add(1, rig.folder);
  const told: string[] = [];
  let kind = '';
  const sink: UpdateSink = {
    object: (now, _type, value) => {
      kind = now;
      if (now === 'modify') told.push(value);
    },
    change: () => assert.ok(kind !== 'leave'),
    missing: () => undefined,
    objectEnd: () => undefined,
  };
  const spec = { paths: [POWER], containers: [rig.folder] };
  {
    await using watch = await rig.vcenter.updates.watch(spec);
    const { version = '' } = await watch.next('', sink);
    const waiting = watch.next(version, sink);
    await rig.cutWait();
    await assert.rejects(waiting, (error) => isVimError(error) && error.retriable);
    rig.power(moid, true);
  }
  await using again = await rig.vcenter.updates.watch(spec);
  await again.next('', sink);
  assert.deepEqual(told, [], 'the rig can lose a change');
});

test('VS-W34 an answer lost between two pages: the pass starts anew on the same collector, and every machine is told once', async () => {
  await using rig = await startSyntheticRig();
  rig.server.inventory.add(250, rig.folder);
  rig.server.faults.add('WaitForUpdatesEx', { act: 'reset-after' }, 1, 1);
  void rig.watcher.supervisor.add(rig.folder, 'zone');
  rig.run();
  await rig.live();
  await rig.settled();
  assert.equal(rig.signals.length, 250);
  assert.equal(new Set(rig.signals).size, 250);
  assert.deepEqual(made(rig), [1, 1, 1, 1, 1]);
});

test('VS-W23 VS-W36 VS-W51 the session ends: one new login, the containers of now, one signal for what changed and none for the rest', async () => {
  await using rig = await liveRig(99, { verified: true });
  const { server, watcher } = rig;
  const [added, removed] = ['group-v2', 'group-v3'].map((value) => server.inventory.container('Folder', value));
  assert.ok(added !== undefined && removed !== undefined);
  const [inAdded = ''] = server.inventory.add(1, added);
  const [inRemoved = ''] = server.inventory.add(1, removed);
  await rig.watch(added, 'zone');
  await rig.watch(removed, 'zone');
  await watcher.supervisor.remove(removed, 'zone');
  await rig.settled();
  rig.signals.length = 0;
  const [first = ''] = rig.moids;
  server.endSessions();
  rig.power(first, true);
  await rig.until('a second login', () => server.calls.get('Login') === 2);
  await rig.live();
  await rig.settled();
  assert.deepEqual(told(rig, first), [`${nameOf(first)} changed ${POWER} verified`]);
  assert.deepEqual(
    rig.signals.filter((signal) => rig.moids.slice(1).some((moid) => signal.startsWith(`${nameOf(moid)} `))),
    [],
  );
  rig.signals.length = 0;
  rig.power(inAdded, true);
  rig.power(inRemoved, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(inAdded)} changed ${POWER}`]);
  assert.equal(server.calls.get('Login'), 2);
  const { waits: _, ...left } = server.objects();
  assert.deepEqual(left, { sessions: 1, views: 2, lists: 1, collectors: 1, filters: 1 });
});

test('VS-W37 a wait that somebody else cancelled is a hiccup', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.moids;
  const before = made(rig).slice(0, 1);
  await rig.until('a wait is under way', () => rig.server.objects().waits === 1);
  rig.server.endWaits('RequestCanceled');
  rig.power(moid, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(moid)} changed ${POWER}`]);
  assert.deepEqual(made(rig).slice(0, 1), before);
});

test('VS-W41 VS-W42 what cannot be made leaves nothing behind, and neither does a watch that ends, twice', async () => {
  await using rig = await startSyntheticRig();
  const { server } = rig;
  server.faults.add('CreateFilter', { act: 'fault', fault: 'SystemError' }, 3);
  const spec = { paths: [POWER], containers: [rig.folder] };
  for (let n = 0; n < 3; n += 1)
    await assert.rejects(rig.vcenter.updates.watch(spec), (error) => isVimError(error, 'VIM_FAULT'));
  const nothing = { sessions: 1, views: 0, lists: 0, collectors: 0, filters: 0, waits: 0 };
  assert.deepEqual(server.objects(), nothing);
  const watch = await rig.vcenter.updates.watch(spec);
  assert.notDeepEqual(server.objects(), nothing);
  await watch[Symbol.asyncDispose]();
  const { size } = server.calls;
  const calls = [...server.calls.values()];
  await watch[Symbol.asyncDispose]();
  assert.deepEqual([...server.calls.values()], calls);
  assert.equal(server.calls.size, size);
  assert.deepEqual(server.objects(), nothing);
});

test('a server that answers nothing any more holds up the end of a watch for five seconds, however much there is to take off', async () => {
  await using rig = await startSyntheticRig();
  const { server } = rig;
  const containers = Array.from({ length: 6 }, (_, n) => server.inventory.container('Folder', `group-v${n + 1}`));
  const watch = await rig.vcenter.updates.watch({ paths: [POWER], containers });
  for (const method of ['DestroyPropertyCollector', 'DestroyView'])
    server.faults.add(method, { act: 'half-open' }, containers.length + 1);
  const from = performance.now();
  await watch[Symbol.asyncDispose]();
  // One after another they would take 40 s.
  assert.ok(performance.now() - from < 20_000, `${performance.now() - from} ms`);
});

test('VS-W43 VS-W44 a view that the server does not take: nothing is recorded, and it is tried again; one that cannot be destroyed harms nobody', async () => {
  await using rig = await liveRig(1, { speed: 200 });
  const { server, watcher } = rig;
  const other = server.inventory.container('HostSystem', 'host-2');
  const [moid = ''] = server.inventory.add(1, other);
  server.losesViews = true;
  assert.equal(await watcher.supervisor.add(other, 'zone'), 'pending');
  assert.deepEqual(
    watcher.supervisor.containers.map(({ watched }) => watched),
    [true, false],
  );
  assert.equal(server.objects().views, 1);
  server.losesViews = false;
  await rig.until('it is tried again', () => watcher.supervisor.containers.every(({ watched }) => watched));
  await rig.settled();
  rig.signals.length = 0;
  rig.power(moid, true);
  await rig.settled();
  assert.equal(rig.signals.splice(0).length, 1);
  server.faults.add('DestroyView', { act: 'fault', fault: 'SystemError' }, 2);
  await watcher.supervisor.remove(other, 'zone');
  await watcher.supervisor.add(other, 'zone');
  await rig.until('it is watched again', () => watcher.supervisor.containers.every(({ watched }) => watched));
  await rig.settled();
  rig.signals.length = 0;
  rig.power(moid, false);
  await rig.settled();
  assert.equal(rig.signals.length, 1);
});

test('VS-W46 two vCenters have a machine of the same reference: a change of one is none of the other', async () => {
  await using one = await liveRig(1, { instanceUuid: 'one' });
  await using two = await liveRig(1, { instanceUuid: 'two' });
  assert.deepEqual(one.moids, two.moids);
  assert.notEqual(await one.vcenter.updates.instanceUuid(), await two.vcenter.updates.instanceUuid());
  const [moid = ''] = one.moids;
  one.power(moid, true);
  await one.settled();
  await two.settled();
  assert.deepEqual([one.signals.length, two.signals.length], [1, 0]);
});

test('VS-W48 a connection of which the other side is gone without a word is given up after maxWait and 120 s, and the change is told', async () => {
  // From the beginning: a timer of the machine could not be cleared later.
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const rig = await ticking(liveRig(1, { speed: 1, watcher: { maxWaitSeconds: 5 } }));
    const [moid = ''] = rig.moids;
    await ticking(rig.cutWait());
    rig.server.faults.add('WaitForUpdatesEx', { act: 'half-open' });
    await ticking(rig.until('a wait is held', () => rig.server.faults.left === 0));
    rig.power(moid, true);
    mock.timers.tick(124_000);
    await turns(50);
    assert.deepEqual(rig.signals, [], 'it is still waited for');
    mock.timers.tick(2_000);
    await ticking(rig.until('it is told', () => rig.signals.length > 0));
    assert.deepEqual(rig.signals, [`${nameOf(moid)} changed ${POWER}`]);
    assert.ok(rig.states.some(({ name, reason }) => name === 'resuming' && reason?.includes('no complete answer')));
    assert.equal(rig.server.calls.get('Login'), 1);
    await ticking(Promise.resolve(rig[Symbol.asyncDispose]()));
  } finally {
    mock.timers.reset();
  }
});

/** Lets the mocked clock run until something has happened. */
async function ticking<T>(done: Promise<T>): Promise<T> {
  let pending = true;
  const settled = done.finally(() => {
    pending = false;
  });
  settled.catch(() => undefined);
  while (pending) {
    mock.timers.tick(2);
    await turns(1);
  }
  return settled;
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

test('FIND-3: a folder that is removed while the server fails: each warning says what comes next', async () => {
  await using rig = await liveRig(2);
  const { server, watcher, warnings } = rig;
  const { updates } = rig.vcenter;
  const survey = updates.survey.bind(updates);
  let fails = false;
  updates.survey = (...asked) => (fails ? Promise.reject(new Error('the answer was cut')) : survey(...asked));
  const first = server.inventory.container('Folder', 'group-v2');
  const second = server.inventory.container('Folder', 'group-v3');
  await rig.watch(first, 'first');
  const warned = (beginning: string): Promise<void> =>
    rig.until(beginning, () => warnings.some((text) => text.startsWith(beginning)));

  fails = true;
  await watcher.supervisor.remove(first, 'first');
  await warned('A removed container is still watched');
  void watcher.supervisor.add(second, 'second');
  await warned('A container cannot be watched now');
  fails = false;
  const silent = warnings.filter((text) => !/No action is needed\.|If this warning repeats, [a-z]/.test(text));
  assert.deepEqual(silent, []);
});
