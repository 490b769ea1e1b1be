import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { memoryInventory } from '@drydock/vsphere/testing';
import { CONTENT_KEY } from './mark/birth-mark.ts';
import { keysOfText, type MarkKeys, NO_KEYS } from './mark/keys.ts';
import { OWNERSHIP } from './mark/ownership-record.ts';
import { type TemplateStoreOptions, templateStore } from './store-vsphere.ts';
import { TEST_KEYS } from './testing/keys.ts';
import { memoryLedger, testUptime } from './testing/memory-ledger.ts';
import { memoryOva, testPlacement, testWish } from './testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const OWNER = 'cluster-uid';
const DAY = 86_400_000;
const placement = testPlacement();
const OLD_AND_NEW = keysOfText(`new:${'n'.repeat(64)}\ntest:${'0123456789abcdef'.repeat(4)}`).keys;
const NEW = keysOfText(`new:${'n'.repeat(64)}`).keys;
/** The command of the documentation, run again after the key was lost, under the name of the lost key. */
const REPLACED = keysOfText(`test:${'r'.repeat(64)}`).keys;

/** What a process knows besides what is in vCenter. */
interface Setting {
  readonly keys?: MarkKeys;
  readonly ledger?: NonNullable<TemplateStoreOptions['ledger']>;
  readonly cluster?: NonNullable<TemplateStoreOptions['cluster']>;
}

/** A vCenter, and processes with different witnesses on it. */
function rig() {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: clock.now });
  const processWith = ({ keys = NO_KEYS, ...more }: Setting) =>
    templateStore({
      vcenters: async () => inventory.client(),
      cacheDir: '/nonexistent',
      ...{ clock, uptime: testUptime(clock), ovas: memoryOva() },
      markKeys: async () => keys,
      ...more,
    });
  const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
  const publish = (setting: Setting, release: string, swap?: string) =>
    processWith(setting).publish(
      testWish({
        image: image(release),
        ...(swap === undefined ? {} : { publication: { kind: 'swap', name: swap, unmarked: 'retire' } }),
      }),
      { holderIsLive: () => false },
    );
  const collect = (setting: Setting) =>
    processWith(setting).collect(placement, OWNER, {
      referenced: () => undefined,
      holderIsLive: () => false,
      ...{ keep: 0, graceMs: 0 },
    });
  const machines = () => inventory.snapshot().machines.filter(({ folder }) => folder === FOLDER);
  const named = (name: string) => machines().find((one) => one.name === name) ?? assert.fail(name);
  const verified = async (setting: Setting, name: string) =>
    (await processWith(setting).verify(placement, name)).checks.find((check) => check.name === 'mark');
  return { inventory, clock, processWith, publish, collect, machines, named, verified };
}

/** A neighbour puts every readable byte of a VM onto one of their own, which vCenter gives another moref and creation date. */
function replay(
  { inventory, clock }: Pick<ReturnType<typeof rig>, 'inventory' | 'clock'>,
  { name, instanceUuid, extraConfig, customValues }: ReturnType<ReturnType<typeof rig>['named']>,
  template: boolean,
) {
  clock.advance(1000);
  return inventory.add(inventory.at(FOLDER), {
    ...{ name, instanceUuid, template, extraConfig, customValues },
    createDate: new Date(clock.now()).toISOString(),
  });
}

const SETTINGS: readonly (readonly [what: string, make: () => Setting])[] = [
  ['key and cluster', () => ({ keys: TEST_KEYS, ledger: memoryLedger('cluster') })],
  ['key alone', () => ({ keys: TEST_KEYS, ledger: memoryLedger('file') })],
  ['cluster alone', () => ({ ledger: memoryLedger('cluster') })],
  ['neither', () => ({ ledger: memoryLedger('file') })],
];

for (const [what, make] of SETTINGS) {
  for (const template of [true, false])
    test(`KEEP-1 ${what}: a published template that went and was replayed as a ${template ? 'template' : 'machine'} is neither used nor destroyed`, async () => {
      const made = rig();
      const setting = make();
      const { name } = await made.publish(setting, '9.6');
      const original = made.named(name);
      made.inventory.remove(made.inventory.at(`${FOLDER}/${name}`));
      const foreign = replay(made, original, template);
      const before = made.named(name);
      const again = await made.publish(setting, '9.6');
      assert.equal(again.uploads, 1, 'the release is what was uploaded');
      assert.notEqual(again.name, name);
      await made.collect(setting);
      assert.deepEqual(made.named(name), before);
      const mark = await made.verified(setting, name);
      assert.ok(setting.keys === undefined || mark?.ok === false, mark?.detail ?? '');
      assert.doesNotMatch(mark?.detail ?? '', /proven by/);
      assert.ok(foreign !== undefined);
    });

  test(`KEEP-1 ${what}: an unfinished upload that went and was replayed as a finished template is not used`, async () => {
    const made = rig();
    const setting = make();
    made.inventory.onCall = (method, phase, _args, { client }) => {
      if (method === 'lease.upload' && phase === 'after') client.kill();
    };
    await assert.rejects(made.publish(setting, '9.6'));
    made.inventory.onCall = undefined;
    const [half = assert.fail()] = made.machines();
    made.inventory.remove(made.inventory.at(`${FOLDER}/${half.name}`));
    const extraConfig = { ...half.extraConfig, [CONTENT_KEY]: 'by the public formula' };
    replay(made, { ...half, extraConfig }, true);
    const before = made.named(half.name);
    assert.equal((await made.publish(setting, '9.6')).uploads, 1);
    assert.deepEqual(made.named(half.name), before);
  });

  test(`KEEP-2 ${what}: a swap ends in one pass, and the next process swaps again`, async () => {
    const made = rig();
    const setting = make();
    made.inventory.add(made.inventory.at(FOLDER), { name: 'stable', template: true, productVersion: '9.2' });
    const before = made.inventory.counters.byMethod.get('setCustomValue') ?? 0;
    const first = await made.publish(setting, '9.4', 'stable');
    assert.ok((made.inventory.counters.byMethod.get('setCustomValue') ?? 0) - before <= 3);
    assert.match(first.retired ?? '', /^stable-retired-/);
    const second = await made.publish(setting, '9.6', 'stable');
    assert.equal(second.name, 'stable');
    assert.equal(made.machines().filter(({ name }) => name.startsWith('stable-retired-')).length, 2);
  });

  test(`KEEP-4 ${what}: emptied attributes free nothing`, async () => {
    const made = rig();
    const setting = make();
    const held = await made.publish(setting, '9.6');
    await made.processWith(setting).hold(placement, held.name, 'image.tfvars on ci-3');
    const { state } = made.inventory;
    for (const machine of state.machines.values())
      for (const at of machine.customValues.keys()) machine.customValues.set(at, '');
    await made.collect(setting);
    assert.equal(made.named(held.name).isTemplate, true);
    made.inventory.convert(made.inventory.at(`${FOLDER}/${held.name}`), 'machine');
    made.clock.advance(2 * DAY);
    await made.collect(setting);
    assert.equal(made.named(held.name).isTemplate, false, 'it is not made a template again, and stays');
  });

  test(`KEEP-5 ${what}: a template that an administrator renamed is kept`, async () => {
    const made = rig();
    const setting = make();
    const { name } = await made.publish(setting, '9.6');
    await made.inventory.client().rename(made.inventory.at(`${FOLDER}/${name}`), 'golden');
    made.clock.advance(2 * DAY);
    const collected = await made.collect(setting);
    assert.equal(made.named('golden').isTemplate, true, JSON.stringify(collected));
  });

  test(`KEEP-6 ${what}: a forward step of vCenter's clock neither ends a live upload nor a grace period`, async () => {
    const made = rig();
    const setting = make();
    made.inventory.onCall = (method, phase, _args, { client }) => {
      if (method === 'lease.upload' && phase === 'after') client.kill();
    };
    await assert.rejects(made.publish(setting, '9.6'));
    made.inventory.onCall = undefined;
    const store = made.processWith(setting);
    const unknown = { referenced: () => undefined, holderIsLive: () => undefined, keep: 0 };
    const client = made.inventory.client();
    // vCenter dates everything two days later from one moment to the next; this machine's boot goes on.
    Object.assign(client, { currentTime: async () => new Date(made.clock.now() + 2 * DAY) });
    await store.collect(placement, OWNER, unknown);
    assert.equal(made.machines().length, 1);
    made.clock.advance(2 * 600_000);
    await store.collect(placement, OWNER, unknown);
    const swept = setting.keys !== undefined || setting.ledger?.kind === 'cluster';
    assert.equal(made.machines().length, swept ? 0 : 1, 'what a dead importer left goes within twice the silence');
  });
}

test('KEEP-3 a lost key that the documented command replaced: the cluster has its identity, and everything works as before', async () => {
  const made = rig();
  const ledger = memoryLedger('cluster');
  const first = await made.publish({ keys: TEST_KEYS, ledger }, '9.6');
  const replaced = { keys: REPLACED, ledger };
  assert.equal((await made.publish(replaced, '9.6')).uploads, 0);
  assert.match((await made.verified(replaced, first.name))?.detail ?? '', /proven by/);
  await made.collect({ ...replaced });
  assert.equal(made.machines().length, 0, 'it is collected as before');
});

test('KEEP-3 a lost key without a ledger: the template is kept, not used, and named with what to do', async () => {
  const made = rig();
  const { name } = await made.publish({ keys: TEST_KEYS, ledger: memoryLedger('file') }, '9.6');
  const lost = { keys: REPLACED, ledger: memoryLedger('file') };
  assert.match((await made.verified(lost, name))?.detail ?? '', /made with a key that is gone/);
  assert.equal((await made.publish(lost, '9.6')).uploads, 1);
  await made.collect(lost);
  assert.equal(made.named(name).isTemplate, true);
  await made.processWith(lost).adopt({ placement, owner: OWNER, reference: name, holder: 'h' });
  assert.match((await made.verified(lost, name))?.detail ?? '', /proven by its ownership record/);
});

test('KEEP-3 an exchanged key: all is signed by the new one before the old goes, and afterwards counts without it', async () => {
  const made = rig();
  const { name } = await made.publish({ keys: TEST_KEYS, ledger: memoryLedger('file') }, '9.6');
  await made.processWith({ keys: OLD_AND_NEW }).collect(placement, OWNER, {
    ...{ referenced: () => 'MachineSet a', holderIsLive: () => false },
  });
  assert.match((await made.verified({ keys: NEW }, name))?.detail ?? '', /proven by its ownership record/);
});

test('a template that another machine published is used with the key, and removed only where it was published', async () => {
  const made = rig();
  const there = { keys: TEST_KEYS, ledger: memoryLedger('file') };
  const here = { keys: TEST_KEYS, ledger: memoryLedger('file') };
  const { name } = await made.publish(there, '9.6');
  assert.equal((await made.publish(here, '9.6')).uploads, 0);
  const [kept] = await made.collect(here);
  assert.match(kept?.reason ?? '', /not in the ledger here.*template adopt/);
  assert.deepEqual(made.named(name).name, name);
  const [removed] = await made.collect(there);
  assert.equal(removed?.removed, true, removed?.reason ?? '');
});

test('without a key and a cluster a later process removes nothing and uses nothing that it cannot prove', async () => {
  const made = rig();
  const { name } = await made.publish({ ledger: memoryLedger('file') }, '9.6');
  const later = { ledger: memoryLedger('file') };
  await made.collect(later);
  assert.equal(made.named(name).isTemplate, true);
  assert.equal((await made.publish(later, '9.6')).uploads, 1);
});

test('without a key and a cluster a later process with the same notes removes nothing either', async () => {
  const made = rig();
  const setting = { ledger: memoryLedger('file') };
  const { name } = await made.publish(setting, '9.6');
  const [kept] = await made.collect(setting);
  assert.equal(kept?.removed, false);
  assert.equal(made.named(name).isTemplate, true);
});

test('KEEP-4 a holder that the ledger has seen once is remembered when the attribute is emptied', async () => {
  const made = rig();
  const owner = { keys: TEST_KEYS, ledger: memoryLedger('cluster') };
  const { name } = await made.publish(owner, '9.6');
  await made.processWith({ keys: TEST_KEYS, ledger: memoryLedger('file') }).hold(placement, name, 'file on ci-3');
  const [seen] = await made.collect(owner);
  assert.match(seen?.reason ?? '', /file on ci-3/);
  for (const machine of made.inventory.state.machines.values())
    for (const at of machine.customValues.keys()) machine.customValues.set(at, '');
  assert.match((await made.collect(owner))[0]?.reason ?? '', /file on ci-3/);
  await made.processWith(owner).release(placement, 'file on ci-3');
  assert.equal((await made.collect(owner))[0]?.removed, true);
});

test('KEEP-4 a template that an administrator converted right after a crash in MarkAsTemplate is not made one again', async () => {
  const made = rig();
  const setting = { keys: TEST_KEYS, ledger: memoryLedger('cluster') };
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'markAsTemplate' && phase === 'after') client.kill();
  };
  await assert.rejects(made.publish(setting, '9.6'));
  made.inventory.onCall = undefined;
  const [{ name } = assert.fail()] = made.machines();
  made.inventory.convert(made.inventory.at(`${FOLDER}/${name}`), 'machine');
  assert.equal((await made.publish(setting, '9.6')).uploads, 1);
  assert.equal(made.named(name).isTemplate, false);
});

test('KEEP-1 an upload whose disk was exchanged before it was finished is kept and not used', async () => {
  const made = rig();
  const setting = { keys: TEST_KEYS, ledger: memoryLedger('cluster') };
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'reconfigure' && phase === 'before') client.kill();
  };
  await assert.rejects(made.publish(setting, '9.6'));
  made.inventory.onCall = undefined;
  const [half = assert.fail()] = made.inventory.state.machines.values();
  half.disks = half.disks.map((disk) => ({ ...disk, uuid: 'another' }));
  const { name, uploads } = await made.publish(setting, '9.6');
  assert.deepEqual([uploads, name === half.name], [1, false]);
  assert.equal(made.named(half.name).isTemplate, false);
});

test('negative control: a neighbour whose VM had the identity itself would be taken', async () => {
  const made = rig();
  const setting = { keys: TEST_KEYS, ledger: memoryLedger('file') };
  const { name } = await made.publish(setting, '9.6');
  const original = made.named(name);
  const { state } = made.inventory;
  const before = [...state.machines.values()].find((machine) => machine.name === name) ?? assert.fail();
  made.inventory.remove(before.ref);
  const foreign = replay(made, original, true);
  const machine = state.machines.get(`VirtualMachine:${foreign.value}`) ?? assert.fail();
  state.machines.delete(`VirtualMachine:${foreign.value}`);
  const { ref, createDate, disks, hardware, changes, productVersion, secureBoot } = before;
  state.machines.set(`VirtualMachine:${ref.value}`, {
    ...machine,
    ...{ ref, createDate, disks, hardware, changes, productVersion, secureBoot },
  });
  assert.equal((await made.publish(setting, '9.6')).uploads, 0);
});

test('OWN-3 a template that calls itself another version than its image did is not pointed at', async () => {
  const made = rig();
  const setting = { keys: TEST_KEYS, ledger: memoryLedger('file') };
  const { name } = await made.publish(setting, '9.6');
  const machine = [...made.inventory.state.machines.values()].find((one) => one.name === name) ?? assert.fail();
  machine.productVersion = '9.9';
  const again = await made.publish(setting, '9.6');
  assert.equal(again.uploads, 1);
  assert.notEqual(again.name, name);
});

test('OWN-3 a clone of an owned template, its extraConfig, code and attributes copied, is not owned', async () => {
  const made = rig();
  const setting = { keys: TEST_KEYS, ledger: memoryLedger('cluster') };
  const { name } = await made.publish(setting, '9.6');
  made.inventory.clone(made.inventory.at(`${FOLDER}/${name}`), {
    name: 'copy',
    template: true,
    copyCustomValues: true,
  });
  await made.collect(setting);
  assert.deepEqual(
    made.machines().map((machine) => machine.name),
    ['copy'],
  );
});

test('OWN-3 no key is in any record', async () => {
  const made = rig();
  const { name } = await made.publish({ keys: TEST_KEYS, ledger: memoryLedger('file') }, '9.6');
  const text = made.named(name).customValues[OWNERSHIP] ?? '';
  assert.ok(text.length <= 255, `${text.length} characters`);
  assert.doesNotMatch(JSON.stringify(made.named(name)), /0123456789abcdef0123/);
});
