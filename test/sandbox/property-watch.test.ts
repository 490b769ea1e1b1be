import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import { quickest } from '@drydock/vm-watch/testing';
import {
  connectVCenter,
  isVimError,
  type MoRef,
  type PropertyWatch,
  type UpdateSink,
  type VCenterConnection,
} from '@drydock/vsphere';
import { answeredBySimulator, SimulatorDeadlock } from './support/simulator-watchdog.ts';

const PATHS = ['name', 'summary.runtime.powerState', 'config.template'];
/** Short, so that a lost update would show as an empty answer. */
const WAIT = { maxWaitSeconds: 1 };

let sandbox: VCenterSandbox;
let switchboard: Switchboard;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, kubernetes: false });
  switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createFolder('/DC0/vm/watched');
  await switchboard.createFolder('/DC0/vm/other');
  for (let n = 0; n < 3; n += 1) await switchboard.createVm({ folder: '/DC0/vm/watched', name: `vm-${n}` });
  await switchboard.createVm({ folder: '/DC0/vm/other', name: 'stranger' });
});

after(() => sandbox?.[Symbol.asyncDispose]());

async function connect(): Promise<VCenterConnection> {
  const { url, user, password, ca } = sandbox.vcenter;
  return connectVCenter({
    url,
    tls: { ca: await readFile(ca, 'utf8') },
    credentials: async () => ({ user, password }),
    env: {},
  });
}

async function folder(path: string): Promise<MoRef> {
  const { type, moref } = await switchboard.find(path);
  return { type, value: moref };
}

/** What a watch said: `enter vm-12 name` and so on. */
function recorder(): UpdateSink & { readonly seen: string[] } {
  const seen: string[] = [];
  let object = '';
  return {
    seen,
    object(kind, type, value) {
      object = `${kind} ${type}:${value}`;
      if (kind !== 'modify') seen.push(object);
    },
    change(path, _op, value, decode) {
      if (object.startsWith('modify')) {
        const text = value === undefined ? 'unset' : JSON.stringify(decode(value).children);
        seen.push(`${object} ${path}=${text}`);
      }
    },
    missing: (path) => seen.push(`${object} missing ${path}`),
    objectEnd: () => undefined,
  };
}

/** Reads until nothing more is ready; returns the version from which to go on. */
async function drain(watch: PropertyWatch, from: string, sink: UpdateSink): Promise<string> {
  let version = from;
  for (;;) {
    const answer = await answeredBySimulator(watch.next(version, sink));
    if (answer.version === undefined) return version;
    version = answer.version;
  }
}

test('machines enter, their changes arrive, an idle wait says nothing, and disposal takes everything off the server', async () => {
  await using vcenter = await connect();
  const watch = await vcenter.updates.watch({ paths: PATHS, containers: [await folder('/DC0/vm/watched')] }, WAIT);
  const first = recorder();
  const version = await drain(watch, '', first);
  assert.equal(first.seen.length, 3);
  assert.ok(
    first.seen.every((line) => line.startsWith('enter VirtualMachine:vm-')),
    first.seen.join(),
  );

  const second = recorder();
  const waiting = watch.next(version, second);
  await switchboard.powerVm('/DC0/vm/watched/vm-1', true);
  let answer = await waiting;
  for (let again = 0; again < 20 && answer.version === undefined; again += 1)
    answer = await watch.next(version, second);
  assert.notEqual(answer.version, undefined);
  assert.match(second.seen.join('\n'), /modify VirtualMachine:vm-\d+ summary\.runtime\.powerState=.*poweredOn/);

  await watch[Symbol.asyncDispose]();
  await watch[Symbol.asyncDispose]();
  const calls = (await switchboard.calls()).methods;
  assert.equal(calls['DestroyView'], (calls['CreateContainerView'] ?? 0) + (calls['CreateListView'] ?? 0));
  assert.equal(calls['DestroyPropertyCollector'], calls['CreatePropertyCollector']);
  await assert.rejects(watch.next(version, second), (error) => isVimError(error, 'VIM_GONE'), 'VS-W41');
});

test('a container is added and removed in mid-wait, and the wait goes on', async () => {
  await using vcenter = await connect();
  await using watch = await vcenter.updates.watch({ paths: PATHS, containers: [] }, WAIT);
  const seen = recorder();
  let version = await drain(watch, '', seen);
  assert.deepEqual(seen.seen, [], 'an empty list is allowed');
  const waiting = watch.next(version, seen);
  const other = await folder('/DC0/vm/other');
  await Promise.all([watch.add(other), watch.add(await folder('/DC0/vm/watched')), watch.add(other)]);
  version = (await waiting).version ?? version;
  version = await drain(watch, version, seen);
  assert.equal(new Set(seen.seen).size, 4, seen.seen.join());
  const silent = recorder();
  await watch.remove(other);
  await watch.remove(other);
  version = await drain(watch, version, silent);
  const later = recorder();
  await switchboard.powerVm('/DC0/vm/other/stranger', true);
  await switchboard.powerVm('/DC0/vm/watched/vm-2', true);
  await drain(watch, version, later);
  assert.ok(later.seen.some((line) => line.includes('poweredOn')));
  assert.equal(new Set(later.seen.map((line) => line.split(' ')[1])).size, 1, 'only the watched one');
  await assert.rejects(watch.add({ type: 'Folder', value: 'group-v999' }), (error) => isVimError(error, 'VIM_GONE'));
});

test('a simulator that never answers a wait is named, and the list is changed so that it answers', async () => {
  await using vcenter = await connect();
  const containers = [await folder('/DC0/vm/watched')];
  {
    await using watch = await vcenter.updates.watch({ paths: PATHS, containers }, WAIT);
    const version = await drain(watch, '', recorder());
    await using held = await switchboard.rule({ on: 'WaitForUpdatesEx', do: 'hold', times: 1 });
    const stop = new AbortController();
    const waiting = watch.next(version, recorder(), { signal: stop.signal });
    await assert.rejects(
      answeredBySimulator(waiting, 300),
      (error) => error instanceof SimulatorDeadlock && /pull request 4109/.test(error.message),
    );
    stop.abort();
    await assert.rejects(waiting);
    await held.release();
  }
  await switchboard.resetCalls();
  const other = await folder('/DC0/vm/other');
  await using watch = await vcenter.updates.watch({ paths: PATHS, containers }, WAIT);
  let version = await drain(watch, '', recorder());
  let loading = true;
  const load = (async () => {
    for (let n = 0; loading; n += 1)
      await switchboard.editVm('/DC0/vm/watched/vm-2', { extraConfig: { load: String(n) } });
  })();
  for (let round = 0; round < 20; round += 1) {
    const waiting = answeredBySimulator(watch.next(version, recorder()));
    await (round % 2 === 0 ? watch.add(other) : watch.remove(other));
    version = (await waiting).version ?? version;
  }
  loading = false;
  await load;
  const waits: string[] = [];
  for (const { method } of await switchboard.callLog())
    if (method === 'ModifyListView' || method === 'CancelWaitForUpdates') waits.push(method);
  assert.equal(waits.filter((method) => method === 'ModifyListView').length, 20);
  assert.ok(waits.includes('CancelWaitForUpdates'));
});

test('VS-W33 a cut wait: the same version again brings what happened meanwhile, on the same collector and session', async () => {
  await using vcenter = await connect();
  await using watch = await vcenter.updates.watch(
    { paths: PATHS, containers: [await folder('/DC0/vm/watched')] },
    WAIT,
  );
  const version = await drain(watch, '', recorder());
  const { logins } = await switchboard.sessions();
  const before = (await switchboard.calls()).methods;
  for (const action of ['drop-before', 'drop-after'] as const) {
    await using rule = await switchboard.rule({ on: 'WaitForUpdatesEx', do: action, times: 1 });
    const cut = assert.rejects(
      watch.next(version, recorder()),
      (error) => isVimError(error) && error.kind === 'transport' && error.retriable,
    );
    await switchboard.editVm('/DC0/vm/watched/vm-0', { extraConfig: { touched: action } });
    await cut;
    await rule.taken();
  }
  await switchboard.powerVm('/DC0/vm/watched/vm-0', true);
  const seen = recorder();
  // The first answer may be the empty one that was cut off.
  for (let round = 0; round < 2 && seen.seen.length === 0; round += 1) await drain(watch, version, seen);
  assert.match(seen.seen.join('\n'), /powerState=.*poweredOn/);
  const calls = (await switchboard.calls()).methods;
  assert.equal((await switchboard.sessions()).logins, logins);
  for (const method of ['CreatePropertyCollector', 'CreateContainerView', 'CreateListView'])
    assert.equal(calls[method], before[method], method);
});

test('a killed session ends the wait as such, and nothing is left that a new watch would stumble over', async () => {
  await using vcenter = await connect();
  await using watch = await vcenter.updates.watch(
    { paths: PATHS, containers: [await folder('/DC0/vm/watched')] },
    WAIT,
  );
  const version = await drain(watch, '', recorder());
  // A busy machine kills it only after some waits have ended empty.
  const wait = async (): Promise<never> => {
    for (;;) await watch.next(version, recorder());
  };
  const waiting = assert.rejects(wait(), (error) => isVimError(error, 'VIM_NOT_AUTHENTICATED'));
  await switchboard.killSessions();
  await waiting;
  await assert.rejects(watch.next(version, recorder()), (error) => isVimError(error, 'VIM_NOT_AUTHENTICATED'));
  await using again = await vcenter.updates.watch(
    { paths: PATHS, containers: [await folder('/DC0/vm/watched')] },
    WAIT,
  );
  const seen = recorder();
  await drain(again, '', seen);
  assert.equal(seen.seen.length, 3);
});

test('VS-W82 an abort during a wait rejects within 50 ms', async () => {
  await using vcenter = await connect();
  await using watch = await vcenter.updates.watch({ paths: PATHS, containers: [] }, WAIT);
  const version = await drain(watch, '', recorder());
  await quickest(50, async () => {
    const controller = new AbortController();
    const waiting = watch.next(version, recorder(), { signal: controller.signal });
    waiting.catch(() => undefined);
    await switchboard.calls();
    const at = performance.now();
    controller.abort();
    const error = await waiting.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const took = performance.now() - at;
    if (error === undefined) return Number.POSITIVE_INFINITY;
    assert.ok(isVimError(error, 'VIM_ABORTED'));
    return took;
  });
});

test('VS-W39 a path that an older server does not know is dropped, and the rest is watched', async () => {
  await using vcenter = await connect();
  const fault = { name: 'InvalidProperty', fields: { name: 'config.numaInfo' } };
  await using _rule = await switchboard.rule({ on: 'CreateFilter', match: 'config.numaInfo', do: 'fault', fault });
  const containers = [await folder('/DC0/vm/watched')];
  await using watch = await vcenter.updates.watch({ paths: [...PATHS, 'config.numaInfo'], containers }, WAIT);
  assert.deepEqual(watch.unknownPaths, ['config.numaInfo']);
  const seen = recorder();
  await drain(watch, '', seen);
  assert.equal(seen.seen.length, 3);
});

test('VS-W42 a filter that cannot be made leaves no view and no collector behind', async () => {
  await using vcenter = await connect();
  const before = (await switchboard.calls()).methods;
  await using _rule = await switchboard.rule({ on: 'CreateFilter', do: 'fault', fault: { name: 'InvalidArgument' } });
  await assert.rejects(vcenter.updates.watch({ paths: PATHS, containers: [await folder('/DC0/vm/watched')] }, WAIT));
  const made = (await switchboard.calls()).methods;
  const grown = (method: string): number => (made[method] ?? 0) - (before[method] ?? 0);
  assert.equal(grown('DestroyView'), 2);
  assert.equal(grown('DestroyPropertyCollector'), 1);
});

test('VS-W44 a view that cannot be destroyed does not keep its container from being watched again', async () => {
  await using vcenter = await connect();
  const other = await folder('/DC0/vm/other');
  await using watch = await vcenter.updates.watch({ paths: PATHS, containers: [other] }, WAIT);
  let version = await drain(watch, '', recorder());
  {
    await using _rule = await switchboard.rule({ on: 'DestroyView', do: 'fault', fault: { name: 'SystemError' } });
    await watch.remove(other);
  }
  await watch.add(other);
  version = await drain(watch, version, recorder());
  const seen = recorder();
  await switchboard.powerVm('/DC0/vm/other/stranger', false);
  await drain(watch, version, seen);
  assert.match(seen.seen.join('\n'), /powerState=.*poweredOff/);
});

test('what a feed reads apart from any watch: one property, existence, a survey', async () => {
  await using vcenter = await connect();
  const containers = [await folder('/DC0/vm/watched')];
  const { moref } = await switchboard.find('/DC0/vm/watched/vm-0');
  const vm = { type: 'VirtualMachine', value: moref };
  await switchboard.editVm('/DC0/vm/watched/vm-0', { extraConfig: { 'vmservice.namespacedName': 'ns1/n1' } });
  const keyed = await vcenter.updates.property(vm, 'config.extraConfig["vmservice.namespacedName"]');
  assert.match(JSON.stringify(keyed), /ns1\/n1/);
  assert.equal(await vcenter.updates.property(vm, 'config.extraConfig["absent"]'), undefined);
  const gone = { type: 'Folder', value: 'group-v999' };
  assert.deepEqual(await vcenter.updates.existing([...containers, gone]), containers);
  const survey = await vcenter.updates.survey([...containers, gone], 'name');
  assert.deepEqual([...survey.values()].toSorted(), ['vm-0', 'vm-1', 'vm-2']);
});
