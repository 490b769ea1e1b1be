import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAuthority } from '@drydock/sandbox';
import { connectVCenter, isVimError, type MoRef, type PropertyWatch, type UpdateSink } from '../../index.ts';
import { FULL, SMALL } from './machine-profiles.ts';
import { type SyntheticVCenter, startSyntheticVCenter } from './synthetic-vcenter.ts';
import { textVal } from './vim-values.ts';

const POWER = 'summary.runtime.powerState';
let server: SyntheticVCenter;
let folder: MoRef;
let ca: string;

before(async () => {
  const authority = createAuthority('synthetic');
  ca = authority.certificate;
  server = await startSyntheticVCenter({ identity: authority.issueServer(['127.0.0.1']), secondMs: 20 });
  folder = server.inventory.container('Folder', 'group-v1');
});
after(() => server?.[Symbol.asyncDispose]());

/** `enter vm-100001 name,config.template` and so on. */
function recorder(): UpdateSink & { readonly seen: string[] } {
  const seen: string[] = [];
  let paths: string[] = [];
  let object = '';
  return {
    seen,
    object(kind, _type, value) {
      object = `${kind} ${value}`;
      paths = [];
    },
    change: (path) => void paths.push(path),
    missing: (path) => void paths.push(`!${path}`),
    objectEnd: () => void seen.push(`${object} ${paths.join()}`.trim()),
  };
}

/** A watch of one property below some containers; everything is read once. */
async function open(
  containers: readonly MoRef[] = [folder],
): Promise<
  AsyncDisposable & { readonly watch: PropertyWatch; readonly version: string; readonly seen: readonly string[] }
> {
  await using stack = new AsyncDisposableStack();
  const vcenter = stack.use(
    connectVCenter({ url: server.url, tls: { ca }, credentials: async () => server.credentials, env: {} }),
  );
  const watch = stack.use(await vcenter.updates.watch({ paths: [POWER, 'name'], containers }, { maxWaitSeconds: 1 }));
  const sink = recorder();
  const versions: string[] = [];
  for (let version = ''; ; ) {
    const answer = await watch.next(version, sink);
    version = answer.version ?? version;
    versions.push(version);
    if (!answer.truncated) break;
  }
  const resources = stack.move();
  return {
    watch,
    version: versions.at(-1) ?? '',
    seen: [...sink.seen, versions.join(' ')],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

test('pages of 100 with the versions of a real vCenter: a complete one can be asked for again, a truncated one is good once, others for nothing', async () => {
  server.inventory.add(250, folder);
  await using opened = await open();
  assert.equal(opened.seen.length, 251);
  assert.equal(opened.seen.at(-1), '0_1 0_2 1');
  const [moid = ''] = server.inventory.machines.keys();
  server.inventory.set(moid, POWER, textVal('poweredOn'));
  for (const _ of [1, 2]) {
    const again = recorder();
    const answer = await opened.watch.next('1', again);
    assert.deepEqual(again.seen, [`modify ${moid} ${POWER}`]);
    assert.match(answer.version ?? '', /^2$/);
  }
  assert.equal((await opened.watch.next('2', recorder())).version, undefined, 'nothing happened since');
  const invalid = (error: unknown): boolean => isVimError(error) && error.fault?.is('InvalidCollectorVersion') === true;
  await assert.rejects(opened.watch.next('1', recorder()), invalid, 'a later one was asked for');
  await assert.rejects(opened.watch.next('0_1', recorder()), invalid, 'it was used');
  await assert.rejects(opened.watch.next('7', recorder()), invalid);
  for (const each of server.inventory.machines.keys()) server.inventory.set(each, POWER, textVal('poweredOff'));
  const first = await opened.watch.next('2', recorder());
  assert.deepEqual([first.version, first.truncated], ['2_1', true]);
  const second = await opened.watch.next('2_1', recorder());
  assert.equal(second.version, '2_2');
  await assert.rejects(opened.watch.next('2_1', recorder()), invalid, 'its page may be lost, then all is read anew');
  const whole = recorder();
  await opened.watch.next('2', whole);
  assert.equal(whole.seen.length, 100, 'the complete one before is still good');
});

test('containers that come and go report what enters and leaves with them, and so do moves', async () => {
  const one = server.inventory.container('Folder', 'group-v21');
  const inner = server.inventory.container('Folder', 'group-v22', one);
  const two = server.inventory.container('ResourcePool', 'resgroup-2');
  const [a = '', b = ''] = server.inventory.add(2, inner);
  const [c = ''] = server.inventory.add(1, [two, one]);
  await using opened = await open([one]);
  const { watch } = opened;
  let { version } = opened;
  const step = async (): Promise<readonly string[]> => {
    const sink = recorder();
    version = (await watch.next(version, sink)).version ?? version;
    return sink.seen;
  };
  assert.deepEqual(
    opened.seen.slice(0, 3).map((line) => line.split(' ')[1]),
    [a, b, c],
  );
  server.inventory.move(a, folder);
  server.inventory.destroy(b);
  assert.deepEqual(await step(), [`leave ${a}`, `leave ${b}`]);
  server.inventory.move(a, inner);
  assert.deepEqual(await step(), [`enter ${a} ${POWER},name`]);
  server.inventory.move(a, folder);
  server.inventory.move(a, inner);
  assert.deepEqual(await step(), [`leave ${a}`, `enter ${a} ${POWER},name`]);
  await watch.add(two);
  assert.deepEqual(await step(), [], 'it is in another one already');
  await watch.remove(one);
  assert.deepEqual(await step(), [`leave ${a}`]);
  const [d = ''] = server.inventory.add(1, two);
  server.inventory.set(d, 'name', undefined);
  assert.deepEqual(await step(), [`enter ${d} ${POWER}`], 'what is unset is not said');
  server.inventory.set(d, POWER, undefined);
  assert.deepEqual(await step(), [`modify ${d} ${POWER}`]);
  server.inventory.set(d, 'config.keyId', undefined);
  assert.deepEqual(await step(), [], 'nobody asked for that one');
});

test('a session takes everything with it, and its waits end at once', async () => {
  await using opened = await open();
  const waiting = opened.watch.next(opened.version, recorder(), { signal: AbortSignal.timeout(10_000) });
  const ended = assert.rejects(waiting, (error) => isVimError(error, 'VIM_NOT_AUTHENTICATED'));
  while (server.objects().waits === 0) await new Promise((resolve) => setImmediate(resolve));
  server.endSessions();
  await ended;
  assert.deepEqual(server.objects(), { sessions: 0, views: 0, lists: 0, collectors: 0, filters: 0, waits: 0 });
});

test('a real machine has 17.7 kB in 32 properties, and what was not changed is the same byte for byte however it is made', async () => {
  const place = server.inventory.container('Datacenter', 'datacenter-9');
  const [copied = '', made = ''] = server.inventory.add(2, place, FULL);
  server.inventory.set(made, 'config.annotation', FULL.get('config.annotation'));
  await using vcenter = connectVCenter({
    url: server.url,
    tls: { ca },
    credentials: async () => server.credentials,
    env: {},
  });
  await using watch = await vcenter.updates.watch({ paths: [...FULL.keys()], containers: [place] });
  const sizes: number[] = [];
  const said = new Map<string, string>();
  let at = '';
  await watch.next('', {
    object: (_kind, _type, value) => {
      at = value;
      sizes.push(0);
    },
    change: (path, _op, value) => {
      const text = Buffer.from(value ?? []).toString();
      sizes.push(
        (sizes.pop() ?? 0) + text.length + path.length + '<changeSet><name></name><op>assign</op></changeSet>'.length,
      );
      said.set(`${at} ${path}`, text.replaceAll(at.slice(3), 'N'));
    },
    missing: () => assert.fail('nothing is denied'),
    objectEnd: () => undefined,
  });
  assert.ok(
    sizes.every((size) => Math.abs(size - 17_600) < 300),
    sizes.join(),
  );
  for (const path of FULL.keys()) assert.equal(said.get(`${copied} ${path}`), said.get(`${made} ${path}`), path);
  assert.equal(SMALL.has(POWER), true);
});
