import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { type MoRef, refKey } from '@drydock/vsphere';
import { OWNERSHIP } from '../mark/ownership-record.ts';
import { templateStore } from '../store-vsphere.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { type TestRig, testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const UUID = 'aaaaaaaa-0000-4000-8000-000000000001';

/** A published template, and a stranger's machine that is off. */
async function rig() {
  const made = testRig(virtualClock({ auto: true }), {}, {}, { markKeys: async () => TEST_KEYS });
  const { name } = await made.publish();
  const { inventory } = made;
  const template = inventory.at(`${FOLDER}/${name}`);
  const stranger = inventory.add(inventory.at(FOLDER), { name: 'stranger', instanceUuid: UUID });
  return { ...made, template, stranger };
}

async function say({ inventory }: TestRig, ref: MoRef, values: Readonly<Record<string, string>>): Promise<void> {
  const client = inventory.client();
  for (const [attribute, value] of Object.entries(values)) await client.setCustomValue(ref, attribute, value);
}

async function listed({ store }: TestRig, ref: MoRef) {
  const all = await store.list(testPlacement(), 'cluster-uid');
  const one = all.find((other) => other.ref.value === ref.value);
  return [one?.role, one?.reason];
}

for (const kind of ['imported', 'adopted', 'claimed'])
  test(`OWN-3 a stranger's machine that is off or on, with a forged record (${kind}), is not listed as a template that was converted`, async () => {
    const made = await rig();
    const [text = ''] = made.in(FOLDER).flatMap(({ customValues }) => customValues[OWNERSHIP] ?? []);
    const forged = { ...(JSON.parse(text) as object), kind, owner: 'cluster-uid', release: '9.6', name: 'x' };
    await say(made, made.stranger, { [OWNERSHIP]: JSON.stringify(forged) });
    const [role] = await listed(made, made.stranger);
    assert.notEqual(role, 'converted');
    made.inventory.power(made.stranger, 'poweredOn');
    assert.notEqual((await listed(made, made.stranger))[0], 'converted');
  });

test('OWN-3 a template of ours that somebody made a machine of is listed as converted, whether it is off or on', async () => {
  const made = await rig();
  made.inventory.convert(made.template, 'machine');
  const [role, reason = ''] = await listed(made, made.template);
  assert.equal(role, 'converted');
  assert.match(reason, /^it was a template and somebody made a machine of it/);
  made.inventory.power(made.template, 'poweredOn');
  assert.equal((await listed(made, made.template))[0], 'converted');
});

test("OWN-3 another cluster's template that was converted is foreign", async () => {
  const made = await rig();
  made.inventory.convert(made.template, 'machine');
  const all = await made.store.list(testPlacement(), 'another-cluster');
  assert.deepEqual(
    all.map(({ role, owner }) => [role, owner]),
    [['foreign', 'cluster-uid']],
  );
});

test('OWN-20 a clone of our template, in its folder and with its mark, code and attributes, is not ours: it is not listed as such, not removed, not published', async () => {
  const made = await rig();
  const { inventory, store } = made;
  const clones = [true, false].map((template) =>
    inventory.clone(made.template, { name: `clone-${template}`, template, copyCustomValues: true }),
  );
  const copied = 'its mark was copied from another machine';
  assert.deepEqual(await listed(made, clones[0] as MoRef), ['unmarked', copied]);
  inventory.remove(made.template);
  assert.match((await made.publish()).name, /^(?!clone-)/);
  const referenced = () => undefined;
  const options = { referenced, holderIsLive: () => false, keep: 0, graceMs: 0 };
  for (const one of await store.collect(testPlacement(), 'cluster-uid', options))
    assert.ok(!one.name.startsWith('clone-') || (!one.removed && one.reason === copied), JSON.stringify(one));
  assert.ok(made.in(FOLDER).filter((one) => one.name.startsWith('clone-')).length === 2);
});

/** Unregisters a VM and registers its files again: vCenter drops its attributes, unless `keeps` says that it restored them. */
function registerAgain({ inventory }: TestRig, vm: MoRef, keeps: boolean): MoRef {
  const { machines } = inventory.state;
  const old = machines.get(refKey(vm)) ?? assert.fail();
  const ref = inventory.add(inventory.at(FOLDER), { name: 'spare' });
  machines.delete(refKey(vm));
  machines.set(refKey(ref), { ...old, ref, customValues: new Map(keeps ? old.customValues : []) });
  return ref;
}

for (const keeps of [true, false])
  test(`KEEP-6 a template that was registered again ${keeps ? 'with' : 'without'} its attributes is kept, and listed as such until it is adopted`, async () => {
    const made = await rig();
    const ref = registerAgain(made, made.template, keeps);
    const again = async () => {
      const all = await made.store.list(testPlacement(), 'cluster-uid');
      return all.find((one) => one.ref.value === ref.value);
    };
    const listed = await again();
    assert.deepEqual([listed?.role, listed?.registeredAgain], ['unproven', true]);
    assert.match(listed?.reason ?? '', /registered again, restored or c.*: adopt it if it is what it should be$/);
    await made.store.adopt({
      ...{ placement: testPlacement(), owner: 'cluster-uid', reference: listed?.name ?? '', holder: 'h' },
    });
    assert.deepEqual([(await again())?.role, (await again())?.registeredAgain], ['current', undefined]);
  });

test('KEEP-6 a template without a record that this ledger never knew is unproven, and nothing says that it was registered again', async () => {
  const made = await rig();
  await say(made, made.template, { [OWNERSHIP]: '' });
  const { inventory } = made;
  const other = templateStore({
    vcenters: async () => inventory.client(),
    cacheDir: '/nonexistent',
    markKeys: async () => TEST_KEYS,
  });
  const [one] = (await other.list(testPlacement(), 'cluster-uid')).filter(({ isTemplate }) => isTemplate);
  assert.deepEqual([one?.role, one?.registeredAgain], ['unproven', undefined]);
});

for (const stage of ['importing', 'of a later version'])
  test(`KEEP-6 a template that lost its record, with an entry of its own in the stage "${stage}", was not registered again`, async () => {
    const ledger = memoryLedger('cluster');
    const made = testRig(virtualClock({ auto: true }), {}, {}, { markKeys: async () => TEST_KEYS, ledger });
    const { name } = await made.publish();
    await say(made, made.inventory.at(`${FOLDER}/${name}`), { [OWNERSHIP]: '' });
    const [[key, text] = ['', '']] = [...ledger.texts].filter(([one]) => one.startsWith('vm.'));
    ledger.texts.set(key, JSON.stringify({ ...(JSON.parse(text) as object), stage }));
    const [one] = await made.store.list(testPlacement(), 'cluster-uid');
    assert.deepEqual([one?.role, one?.registeredAgain], ['unproven', undefined]);
  });
