import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { quickest } from '@drydock/vm-watch/testing';
import type { MoRef } from '@drydock/vsphere';
import { type RawVCenter, rawVCenter } from './support/raw-vcenter.ts';
import { refAt, type SimulatorWatch, simulatorWatch } from './support/simulator-watch.ts';

const POWER = 'summary.runtime.powerState';
const running = new AsyncDisposableStack();

let sandbox: VCenterSandbox;
let board: Switchboard;

before(async () => {
  sandbox = running.use(await startSandbox({ vcenter: true, kubernetes: false }));
  board = connectSwitchboard(sandbox.vcenter.switchboard);
});

after(() => running.disposeAsync());

const named = (name: string): Readonly<Record<string, string>> => ({ 'vmservice.namespacedName': `ns/${name}` });

/** A folder with machines that carry these names. */
async function folderOf(name: string, ...machines: readonly string[]): Promise<{ path: string; ref: MoRef }> {
  const path = `/DC0/vm/${name}`;
  await board.createFolder(path);
  for (const one of machines) await board.createVm({ folder: path, name: one, extraConfig: named(one) });
  return { path, ref: await refAt(board, path) };
}

/** A watch on that folder that is live and quiet. */
async function watching(folder: MoRef): Promise<SimulatorWatch> {
  const watch = await simulatorWatch(sandbox, board);
  void watch.watcher.supervisor.add(folder, 'test');
  await watch.live();
  await watch.settled();
  return watch;
}

test('VS-W1 VS-W2 VS-W3 VS-W4 machines that carry names are told once each and one without is not; power is one more', async () => {
  const { path, ref } = await folderOf('w1', 'w1-a', 'w1-b');
  await board.createVm({ folder: path, name: 'w1-bare' });
  await using watch = await watching(ref);
  assert.deepEqual(watch.signals.splice(0).toSorted(), ['ns/w1-a changed', 'ns/w1-b changed']);
  assert.deepEqual(watch.warnings, []);
  await board.powerVm(`${path}/w1-a`, true);
  await watch.settled();
  assert.equal(watch.signals.length, 1, watch.signals.join());
  assert.match(watch.signals[0] ?? '', new RegExp(`^ns/w1-a changed .*${POWER}`));
});

test('VS-W6 keys that the platform writes together with one that the guest writes are exactly one', async () => {
  const { path, ref } = await folderOf('w6', 'w6-a');
  await using watch = await watching(ref);
  watch.signals.length = 0;
  const ignored = { 'hpet0.present': 'TRUE', 'migrate.hostLog': 'x', 'guestinfo.appInfo': '{}' };
  await board.editVm(`${path}/w6-a`, { extraConfig: ignored });
  await watch.settled();
  assert.deepEqual(watch.signals, []);
  await board.editVm(`${path}/w6-a`, {
    extraConfig: { ...ignored, 'hpet0.present': 'FALSE', 'guestinfo.fromTheGuest': '!' },
  });
  await watch.settled();
  assert.deepEqual(watch.signals, ['ns/w6-a changed config.extraConfig']);
});

test('VS-W7 VS-W8 a snapshot, another, back to the first, and none at all: one signal each', async () => {
  const { path, ref } = await folderOf('w7', 'w7-a');
  const vm = (await refAt(board, `${path}/w7-a`)).value;
  await using admin: RawVCenter = await rawVCenter(sandbox);
  await using watch = await watching(ref);
  watch.signals.length = 0;
  const told = async (what: string): Promise<void> => {
    await watch.settled();
    assert.equal(watch.signals.length, 1, `${what}: ${watch.signals.join('; ')}`);
    assert.match(watch.signals.splice(0)[0] ?? '', /^ns\/w7-a changed .*snapshot/, what);
  };
  await board.snapshotVm(vm, 's1');
  await told('s1');
  const [, first = ''] = />(snapshot-\d+)</.exec(await admin.property('VirtualMachine', vm, 'snapshot')) ?? [];
  await board.snapshotVm(vm, 's2');
  await told('s2');
  await admin.task('RevertToSnapshot_Task', 'VirtualMachineSnapshot', first);
  await told('back to s1');
  await admin.task('RemoveAllSnapshots_Task', 'VirtualMachine', vm);
  await told('none, which upstream does not see');
});

test('VS-W9 a machine that is destroyed is told once, as one that left', async () => {
  const { path, ref } = await folderOf('w9', 'w9-a', 'w9-b');
  await using watch = await watching(ref);
  for (const name of ['w9-a', 'w9-b']) {
    const { value: uniqueId } = await refAt(board, `${path}/${name}`);
    watch.objects.push({ namespace: 'ns', name, uniqueId, deleting: false });
  }
  watch.signals.length = 0;
  await board.destroyVm(`${path}/w9-a`);
  await watch.settled();
  assert.deepEqual(watch.signals, ['ns/w9-a left verified']);
});

test('VS-W11 VS-W12 VS-W22 a container is watched as long as anybody wants it; what the server says again for another one is no news', async () => {
  const first = await folderOf('w11-first', 'w11-a');
  const second = await folderOf('w11-second', 'w11-b');
  await using watch = await watching(first.ref);
  const { supervisor } = watch.watcher;
  watch.signals.length = 0;
  for (const id of ['0', '1', '2']) assert.equal(await supervisor.add(second.ref, id), 'applied');
  await watch.knows((await refAt(board, `${second.path}/w11-b`)).value);
  await watch.settled();
  // The simulator lets everything enter anew, what is in the first folder as well.
  assert.deepEqual(watch.signals.splice(0), ['ns/w11-b changed']);
  let on = false;
  const told = async (): Promise<number> => {
    on = !on;
    await board.powerVm(`${second.path}/w11-b`, on);
    await watch.settled();
    return watch.signals.splice(0).length;
  };
  for (const [id, count] of [
    ['0', 1],
    ['1', 1],
    ['1', 1],
    ['2', 0],
  ] as const) {
    await supervisor.remove(second.ref, id);
    assert.equal(await told(), count, `after ${id}`);
  }
  const { ModifyListView: before } = (await board.calls()).methods;
  await supervisor.remove({ type: 'Folder', value: 'group-v777' }, '7');
  assert.equal((await board.calls()).methods['ModifyListView'], before);
});

test('VS-W13 VS-W14 a second cluster at run time: its objects decide by reference, and whoever has his machine is not told', async () => {
  const { ref } = await folderOf('w13', 'w13-a');
  const cluster = await refAt(board, '/DC0/host/DC0_C1');
  await board.createFolder('/DC0/vm/w13-cluster');
  const machine = async (name: string): Promise<string> =>
    (await board.createVm({ folder: '/DC0/vm/w13-cluster', name, cluster: 'DC0_C1' })).moref;
  const [mine, other] = [await machine('w13-b'), await machine('w13-c')];
  await using watch = await watching(ref);
  watch.signals.length = 0;
  watch.objects.push({ namespace: 'ns4', name: 'known', uniqueId: mine, deleting: false });
  assert.equal(await watch.watcher.supervisor.add(cluster, 'zone'), 'applied');
  await watch.knows(mine, other);
  await watch.settled();
  assert.deepEqual(watch.signals, [], 'whoever knows a machine looks at it when the container is first watched');
  watch.objects.push({ namespace: 'ns4', name: 'n1', uniqueId: other, deleting: false });
  watch.watcher.courier.claimed({ uniqueId: other, namespacedName: 'ns4/n1' });
  await watch.settled();
  assert.deepEqual(watch.signals, ['ns4/n1 changed verified']);
});

test('VS-W16 cancelled at once: no error, no signal, nothing left', async () => {
  const { ref } = await folderOf('w16', 'w16-a');
  await quickest(100, async () => {
    await using watch = await simulatorWatch(sandbox, board);
    void watch.watcher.supervisor.add(ref, 'test');
    const at = performance.now();
    await watch.stop();
    const took = performance.now() - at;
    assert.deepEqual([watch.signals, watch.warnings], [[], []]);
    return took;
  });
  assert.deepEqual((await board.sessions()).sessions, []);
});

test('VS-W17 VS-W23 the vCenter restarts: the state says so, containers are taken, and what changed meanwhile is told once', async () => {
  const { path, ref } = await folderOf('w17', 'w17-a', 'w17-b');
  const later = await folderOf('w17-later', 'w17-c');
  await using watch = await watching(ref);
  for (const name of ['w17-a', 'w17-b']) {
    const { value: uniqueId } = await refAt(board, `${path}/${name}`);
    watch.objects.push({ namespace: 'ns', name, uniqueId, deleting: false });
  }
  // What was delivered within the last minute would be told again.
  watch.signals.length = 0;
  const { supervisor } = watch.watcher;
  const states = new Set<string>();
  await board.restart({ downMs: 1_500 });
  await board.powerVm(`${path}/w17-a`, true);
  const adding = supervisor.add(later.ref, 'late');
  while (supervisor.state.name !== 'live' || supervisor.containers.some(({ watched }) => !watched)) {
    states.add(supervisor.state.name);
    await new Promise((done) => setTimeout(done, 5));
  }
  assert.ok(
    ['resuming', 'backoff', 'rebuilding'].some((state) => states.has(state)),
    [...states].join(),
  );
  // `pending` where it was asked of the watch that was just ending: wanted it is all the same, and watched by now.
  await adding;
  await watch.settled();
  const changes = watch.signals.filter((signal) => signal.includes(POWER));
  assert.equal(changes.length, 1, watch.signals.join('; '));
  assert.match(changes[0] ?? '', /^ns\/w17-a changed .*verified$/);
});
