import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { memoryInventory } from '@drydock/vsphere/testing';
import { fingerprintOf } from './fingerprint.ts';
import { birthConfig, CONTENT_KEY } from './mark/birth-mark.ts';
import { identityOf } from './mark/identity.ts';
import { keysOfText, type MarkKeys } from './mark/keys.ts';
import { OWNERSHIP, writeOwnership } from './mark/ownership-record.ts';
import { templateStore } from './store-vsphere.ts';
import { memoryLedger, testUptime } from './testing/memory-ledger.ts';
import { memoryOva, testPlacement, testWish } from './testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const OWNER = 'cluster-uid';
const placement = testPlacement();
const OLD = '0'.repeat(64);
const NEW = 'f'.repeat(64);
const keysOf = (text: string): MarkKeys => keysOfText(text).keys;
const idOf = (text: string): string => keysOf(text).current?.id ?? assert.fail();

/** One vCenter, and processes on it that share nothing but what is in it. The keys of each may change while it runs. */
function harbour() {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: () => clock.now() });
  const machines = () => inventory.snapshot().machines.filter(({ folder }) => folder === FOLDER);
  /** Gives a template the code that a version wrote which took the name of a key for its id. */
  const asWrittenBefore = (name: string, id: string): void => {
    const at = inventory.state.customFields.indexOf(OWNERSHIP);
    for (const machine of inventory.state.machines.values())
      if (machine.name === name)
        machine.customValues.set(at, (machine.customValues.get(at) ?? '').replace(/"code":"[^:]*/, `"code":"${id}`));
  };
  const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
  const start = (keys: string) => {
    const lines: string[] = [];
    const log = { info: (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`) };
    const now = { keys };
    const store = templateStore({
      ...{ vcenters: async () => inventory.client(), cacheDir: '/nonexistent', clock, uptime: testUptime(clock) },
      ...{ ovas: memoryOva(), log, ledger: memoryLedger('file'), markKeys: async () => keysOf(now.keys) },
    });
    const publish = (release: string) =>
      store.publish(testWish({ image: image(release) }), { holderIsLive: () => true });
    const collect = () =>
      store.collect(placement, OWNER, { referenced: () => undefined, holderIsLive: () => false, keep: 0, graceMs: 0 });
    /** Proof (or role, where nothing proves it) and ids of codes, by name. */
    const look = async () =>
      Object.fromEntries(
        (await store.list(placement, OWNER)).map(({ name, proof, role, keyIds }) => [
          name,
          `${proof ?? role} ${keyIds?.toSorted().join(' ') ?? ''}`.trim(),
        ]),
      );
    return { now, lines, store, publish, collect, look };
  };
  return { clock, inventory, machines, asWrittenBefore, image, start };
}

test('KEEP-3: codes under earlier ids count, are signed again once by the same key, and then its name may change', async () => {
  const { start, asWrittenBefore, inventory } = harbour();
  const { name } = await start(`k1:${OLD}`).publish('9.4');
  asWrittenBefore(name, 'k1');
  const { collect, look } = start(`k1:${OLD}`);
  assert.match((await look())[name] ?? '', /^keyed .*k1/);
  await collect();
  const writes = inventory.counters.byMethod.get('setCustomValue');
  await collect();
  assert.equal(inventory.counters.byMethod.get('setCustomValue'), writes, 'once is enough');
  assert.match((await start(`renamed:${OLD}`).look())[name] ?? '', new RegExp(`^keyed .*${idOf(OLD)}`));
});

test('KEEP-3: a key that is exchanged in mid-upload: the template is finished, counts, and the same process signs it by the new key', async () => {
  for (const text of [`${NEW}\n${OLD}`, NEW]) {
    const { start, inventory } = harbour();
    const running = start(OLD);
    inventory.onCall = (method, phase) => {
      if (method === 'lease.upload.half' && phase === 'before') running.now.keys = text;
    };
    const { name, uploads } = await running.publish('9.4');
    inventory.onCall = undefined;
    assert.equal(uploads, 1);
    assert.equal((await running.publish('9.4')).uploads, 0, 'nothing is uploaded again');
    assert.match((await start(NEW).look())[name] ?? '', /^keyed /, text);
  }
});

test('KEEP-3: an old key that is removed before everything is signed again costs nothing: what is left is kept, named, and counts again with the key back under any name', async () => {
  const { start, machines } = harbour();
  const { name: signed } = await start(OLD).publish('9.4');
  await start(`${NEW}\n${OLD}`).collect();
  const { name: left } = await start(OLD).publish('9.6');
  const early = start(NEW);
  assert.match((await early.look())[signed] ?? '', /^keyed /);
  assert.equal((await early.look())[left], `unproven ${idOf(OLD)}`);
  assert.deepEqual(
    (await early.collect()).filter(({ removed }) => removed),
    [],
  );
  assert.equal(machines().length, 2);
  await start(`${NEW}\nfound-again:${OLD}`).collect();
  assert.match((await start(NEW).look())[left] ?? '', /^keyed /);
});

test('KEEP-3: codes of a leaked key stop counting with it: what its thief signed is never pointed at, signed again or removed', async () => {
  const { start, inventory, machines, image, clock } = harbour();
  const instanceUuid = '42000000-0000-4000-8000-00000000000f';
  const mark = { owner: OWNER, operation: 'stolen', digest: image('9.8').sha256, release: '9.8' };
  const ref = inventory.add(inventory.at(FOLDER), {
    ...{ name: 'stolen', instanceUuid, template: true, createDate: new Date(clock.now()).toISOString() },
    extraConfig: Object.fromEntries(birthConfig({ ...mark, holder: 'h', instanceUuid }, keysOf(OLD))),
  });
  const client = inventory.client();
  const vm = (await client.vm(ref)) ?? assert.fail();
  const fingerprint = fingerprintOf(vm);
  inventory.state.machines.get(`VirtualMachine:${ref.value}`)?.extraConfig.set(CONTENT_KEY, fingerprint);
  const identity = identityOf(await client.instanceUuid(), vm) ?? assert.fail();
  await writeOwnership(client, vm, identity, { kind: 'imported', mark, fingerprint }, keysOf(OLD), {});
  assert.match((await start(OLD).look())['stolen'] ?? '', /^keyed /, 'as long as its key counts nobody can tell');
  const after = start(NEW);
  await after.collect();
  assert.equal((await after.look())['stolen'], `unproven ${idOf(OLD)}`);
  const { name, uploads } = await after.publish('9.8');
  assert.deepEqual([name === 'stolen', uploads, machines().length], [false, 1, 2]);
});

test('KEEP-3: a key that was changed under its name is reported by that name, once, with the templates', async () => {
  const { start, asWrittenBefore } = harbour();
  const { name } = await start(`k1:${OLD}`).publish('9.4');
  asWrittenBefore(name, 'k1');
  const { collect, lines } = start(`k1:${NEW}`);
  await collect();
  await collect();
  const said = lines.filter((line) => /key k1/.test(line));
  assert.equal(said.length, 1, lines.join('\n'));
  assert.ok(said[0]?.includes(name));
  for (const text of [`${NEW}\nk1:${OLD}`, `fresh:${NEW}`]) {
    const other = start(text);
    await other.collect();
    assert.deepEqual(
      other.lines.filter((line) => /another one than/.test(line)),
      [],
    );
  }
});
