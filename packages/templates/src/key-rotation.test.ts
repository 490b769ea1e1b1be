import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { memoryInventory } from '@drydock/vsphere/testing';
import { codeOf } from './mark/code.ts';
import { keysOfText, type MarkKeys } from './mark/keys.ts';
import { birthSubject } from './mark/subject.ts';
import type { ClusterRecords } from './mark/witness.ts';
import { MARK_KEYS, PROOF } from './mark.ts';
import { templateStore } from './store-vsphere.ts';
import { memoryOva, testPlacement, testWish } from './testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const OWNER = 'cluster-uid';
const DAY = 86_400_000;
const placement = testPlacement();
const OLD = '0'.repeat(64);
const NEW = 'f'.repeat(64);
const keysOf = (text: string): MarkKeys => keysOfText(text).keys;
const idOf = (text: string): string => keysOf(text).current?.id ?? assert.fail();
const nothing: ClusterRecords = { recorded: () => false, refers: () => false, retired: () => false };

/** One vCenter, and processes on it that share nothing else. The keys of each may change while it runs. */
function harbour() {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: () => clock.now() });
  const machines = () => inventory.snapshot().machines.filter(({ folder }) => folder === FOLDER);
  /** Gives a template the code that a version wrote which took the name of a key for its id. */
  const asWrittenBefore = (name: string, id: string): void => {
    for (const machine of inventory.state.machines.values()) {
      if (machine.name === name)
        machine.extraConfig.set(PROOF, (machine.extraConfig.get(PROOF) ?? '').replace(/^[^:]*/, id));
    }
  };
  const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
  const start = (keys: string, cluster?: ClusterRecords) => {
    const lines: string[] = [];
    const log = { info: (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`) };
    const now = { keys };
    const store = templateStore({
      ...{ vcenters: async () => inventory.client(), cacheDir: '/nonexistent', clock, ovas: memoryOva(), log },
      markKeys: async () => keysOf(now.keys),
      ...(cluster === undefined ? {} : { cluster }),
    });
    const publish = (release: string) =>
      store.publish(testWish({ image: image(release) }), { holderIsLive: () => true });
    const collect = (used: (name: string) => boolean = () => true) =>
      store.collect(placement, OWNER, {
        referenced: (name) => (used(name) ? 'MachineSet a' : undefined),
        ...{ holderIsLive: () => false, keep: 0 },
      });
    /** Name, proof (or role, where nothing proves it) and ids of codes. */
    const look = async () =>
      Object.fromEntries(
        (await store.list(placement, OWNER)).map(({ name, proof, role, keyIds }) => [
          name,
          `${proof ?? role} ${keyIds?.toSorted().join(' ') ?? ''}`.trim(),
        ]),
      );
    return { now, lines, store, publish, collect, look };
  };
  return { wait: () => clock.advance(2 * DAY), inventory, machines, asWrittenBefore, image, start };
}

test('KEEP-3: a lost key that another one replaced under its name leaves nothing for good: what the cluster recorded is signed by the new one, the rest is kept and said honestly', async () => {
  const { start, asWrittenBefore, wait, machines } = harbour();
  const before = start(`k1:${OLD}`);
  const { name: used } = await before.publish('9.4');
  const { name: unused } = await before.publish('9.6');
  for (const name of [used, unused]) asWrittenBefore(name, 'k1');
  wait();
  const cluster = { ...nothing, refers: (name: string) => name === used };
  const after = start(`k1:${NEW}`, cluster);
  assert.deepEqual(await after.look(), { [used]: 'recorded k1', [unused]: 'unproven k1' });
  const kept = await after.collect(() => false);
  const { reason = '' } = (await after.store.list(placement, OWNER)).find(({ name }) => name === unused) ?? {};
  assert.match(reason, /^its code was made with a key that is gone or is not known here, or is forged; /);
  assert.equal(kept.find(({ name }) => name === unused)?.removed, false);
  assert.equal(machines().length, kept.filter(({ removed }) => !removed).length);
});

test('KEEP-3: what the cluster uses is signed by the key that replaced a lost one, and then counts without the cluster', async () => {
  const { start, asWrittenBefore } = harbour();
  const { name } = await start(`k1:${OLD}`).publish('9.4');
  asWrittenBefore(name, 'k1');
  await start(`k1:${NEW}`, { ...nothing, refers: () => true }).collect();
  assert.deepEqual(await start(`k1:${NEW}`).look(), { [name]: `keyed ${[idOf(NEW), 'k1'].toSorted().join(' ')}` });
});

test('KEEP-3: codes under earlier ids count, are signed again once by the same key, and then its name may change', async () => {
  const { start, asWrittenBefore, inventory } = harbour();
  const { name } = await start(`k1:${OLD}`).publish('9.4');
  asWrittenBefore(name, 'k1');
  const { store, collect, look } = start(`k1:${OLD}`);
  assert.equal((await store.list(placement, OWNER))[0]?.proof, 'keyed');
  await collect();
  assert.equal((await look())[name], `keyed ${[idOf(OLD), 'k1'].toSorted().join(' ')}`);
  const writes = inventory.counters.byMethod.get('setCustomValue');
  await collect();
  assert.equal(inventory.counters.byMethod.get('setCustomValue'), writes, 'once is enough');
  assert.match((await start(`renamed:${OLD}`).look())[name] ?? '', /^keyed /);
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
    await running.collect();
    assert.match((await start(NEW).look())[name] ?? '', /^keyed /, text);
  }
});

test('KEEP-3: a key that is exchanged in mid-upload signs what the rest of the publication writes, once another call of the process has read it', async () => {
  const { start, inventory, machines, image } = harbour();
  inventory.add(inventory.at(FOLDER), { name: 'stable', template: true, productVersion: '8.10' });
  const running = start(OLD);
  let looked: Promise<unknown> | undefined;
  inventory.onCall = (method, phase) => {
    if (method !== 'lease.upload.half' || phase !== 'before' || looked !== undefined) return;
    running.now.keys = NEW;
    looked = running.store.list(placement, OWNER);
  };
  const publication = { kind: 'swap', name: 'stable', unmarked: 'retire' } as const;
  const { retired } = await running.store.publish(testWish({ image: image('9.4'), publication }), {
    holderIsLive: () => true,
  });
  await looked;
  assert.equal(machines().length, 2);
  assert.equal((await start(NEW).look())[retired ?? ''], `keyed ${idOf(NEW)}`);
});

test('KEEP-3: an old key that is removed before everything is signed again costs nothing: what is left is kept, named, and counts again with the key back under any name', async () => {
  const { start, wait, machines } = harbour();
  const { name: signed } = await start(OLD).publish('9.4');
  await start(`${NEW}\n${OLD}`).collect();
  const { name: left } = await start(OLD).publish('9.6');
  wait();
  const early = start(NEW);
  assert.match((await early.look())[signed] ?? '', /^keyed /);
  assert.equal((await early.look())[left], `unproven ${idOf(OLD)}`);
  const kept = await early.collect((name) => name === signed);
  assert.deepEqual(
    kept.filter(({ removed }) => removed),
    [],
  );
  assert.equal(machines().length, 2);
  await start(`${NEW}\nfound-again:${OLD}`).collect();
  assert.match((await start(NEW).look())[left] ?? '', /^keyed /);
});

test('KEEP-3: codes of a leaked key stop counting with it: what its thief signed is never pointed at, signed again or removed; what the cluster recorded or the new key signed counts', async () => {
  const { start, inventory, machines, image, wait } = harbour();
  const ours = start(OLD);
  const { name: recorded } = await ours.publish('9.4');
  const { name: alone } = await ours.publish('9.6');
  // The thief makes a template that bears all that one of ours would.
  const born = machines().find(({ name }) => name === alone)?.extraConfig ?? assert.fail();
  const instanceUuid = '42000000-0000-4000-8000-00000000000f';
  const digest = image('9.8').sha256;
  const mark = { owner: OWNER, operation: 'stolen', digest, instanceUuid };
  const stolen = codeOf(keysOf(OLD), birthSubject(mark)) ?? '';
  inventory.add(inventory.at(FOLDER), {
    ...{ name: 'stolen', instanceUuid, template: true, createDate: '2025-01-01T00:00:00Z' },
    extraConfig: {
      ...born,
      [MARK_KEYS.operation]: 'stolen',
      [MARK_KEYS.digest]: digest,
      [MARK_KEYS.release]: '9.8',
      [MARK_KEYS.instanceUuid]: instanceUuid,
      'drydock.verified': digest,
      [PROOF]: stolen,
    },
  });
  wait();
  assert.match((await ours.look())['stolen'] ?? '', /^keyed /, 'as long as its key counts nobody can tell');
  const after = start(NEW, { ...nothing, refers: (name) => name === recorded });
  await after.collect((name) => name === recorded);
  assert.deepEqual(await after.look(), {
    [recorded]: `keyed ${[idOf(NEW), idOf(OLD)].toSorted().join(' ')}`,
    [alone]: `unproven ${idOf(OLD)}`,
    stolen: `unproven ${idOf(OLD)}`,
  });
  const { name, uploads } = await after.publish('9.8');
  assert.deepEqual([name === 'stolen', uploads], [false, 1]);
  assert.deepEqual(
    machines()
      .map((machine) => machine.name)
      .toSorted(),
    [recorded, alone, 'stolen', name].toSorted(),
  );
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
  assert.match(said[0] ?? '', /^the key k1 is another one than the codes under this name were made with/);
  assert.ok(said[0]?.includes(name));
  // Nothing is changed under a name of its own, and what a code of another key proves is no matter.
  for (const text of [`${NEW}\nk1:${OLD}`, `fresh:${NEW}`]) {
    const other = start(text);
    await other.collect();
    assert.deepEqual(
      other.lines.filter((line) => /another one than/.test(line)),
      [],
    );
  }
});
