import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scheduler, type VirtualClock, virtualClock } from '@drydock/model';
import { templateStore } from '../store-vsphere.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { testUptime } from '../testing/memory-ledger.ts';
import { type TestRig, testRig } from '../testing/rig.ts';
import { memoryOva, testPlacement } from '../testing/wishes.ts';
import { holdAttribute } from './pointers.ts';

const FOLDER = '/DC0/vm/ocp';
const placement = testPlacement();
const owner = 'cluster-uid';

/** Two templates by pointer that nobody refers to, old enough to go. */
async function rig() {
  const clock = virtualClock({ auto: true });
  const made = testRig(clock);
  const image = (release: string) => ({ release, location: 'https://m.test/x', sha256: release.padEnd(64, '0') });
  const { name } = await made.publish({ image: image('9.4') });
  clock.advance(86_400_000);
  return { ...made, name };
}

const reason = async (made: TestRig, name: string): Promise<string | undefined> => {
  const options = { referenced: () => undefined, holderIsLive: () => false, keep: 0, dryRun: true };
  return (await made.store.collect(placement, owner, options)).find((one) => one.name === name)?.reason;
};

test('OWN-4 whoever is recorded keeps a template, by name and time; the last one that lets go lets it go', async () => {
  const made = await rig();
  await made.store.hold(placement, made.name, 'a.tfvars on ci-1');
  await made.store.hold(placement, made.name, 'b.json on ci-2');
  await made.store.hold(placement, made.name, 'b.json on ci-2');
  assert.match(
    (await reason(made, made.name)) ?? '',
    /^a\.tfvars on ci-1 \(since 2.*Z\), b\.json on ci-2 \(since .*\) points at it$/,
  );
  assert.deepEqual(await made.store.release(placement, 'a.tfvars on ci-1'), [made.name]);
  assert.deepEqual(await made.store.release(placement, 'b.json on ci-2', { except: made.name }), []);
  assert.match((await reason(made, made.name)) ?? '', /^b\.json/);
  await made.store.release(placement, 'b.json on ci-2');
  assert.equal(await reason(made, made.name), 'nothing uses it');
});

test('OWN-4 every holder is named and can let go, however long their names', async () => {
  const made = await rig();
  const all = Array.from({ length: 12 }, (_, at) => `${at} ${'⚓'.repeat(500)}`);
  for (const what of all) await made.store.hold(placement, made.name, what);
  assert.equal((await reason(made, made.name))?.split(' (since').length, 13);
  const [machine] = made.in(FOLDER);
  for (const value of Object.values(machine?.customValues ?? {})) assert.ok(value.length <= 255);
  for (const what of all) await made.store.release(placement, what);
  assert.equal(await reason(made, made.name), 'nothing uses it');
});

test('OWN-4 two holders whose names fall on one attribute share it', async () => {
  const made = await rig();
  const first = 'holder 0';
  const other = Array.from({ length: 100_000 }, (_, at) => `other ${at}`).find(
    (what) => holdAttribute(what) === holdAttribute(first),
  );
  assert.ok(other !== undefined);
  await made.store.hold(placement, made.name, first);
  await made.store.hold(placement, made.name, other);
  await made.store.release(placement, first);
  assert.match((await reason(made, made.name)) ?? '', /^other \d+ \(since [^,]*\) points at it$/);
});

/** Sets an attribute by hand. */
function setByHand(made: TestRig, attribute: string, text: string): void {
  const { customFields, machines } = made.inventory.state;
  if (!customFields.includes(attribute)) customFields.push(attribute);
  const [machine] = machines.values();
  machine?.customValues.set(customFields.indexOf(attribute), text.replace('ID', machine.instanceUuid));
}

const UNREADABLE = [
  ['nonsense', 'nonsense'],
  ['another shape', '{"id":1}'],
  ['one pointer that is none', '{"id":"ID","at":[["a","2026"],7]}'],
  ['a count that is none', '{"id":"ID","at":[],"more":-1}'],
  ['half of it', '1/3 00000000 {"id":'],
] as const;

for (const [what, text] of UNREADABLE) {
  test(`OWN-4 a record of version 0.1.0 that cannot be read (${what}) keeps, and is left as it is`, async () => {
    const made = await rig();
    setByHand(made, 'drydock.pointers', text);
    const before = made.in(FOLDER)[0]?.customValues['drydock.pointers'];
    await made.store.hold(placement, made.name, 'x');
    await made.store.release(placement, 'x');
    assert.equal(await reason(made, made.name), 'somebody whose record cannot be read points at it');
    assert.equal(made.in(FOLDER)[0]?.customValues['drydock.pointers'], before);
  });

  test(`OWN-4 a holder's attribute that cannot be read (${what}) keeps until its holder writes it again`, async () => {
    const made = await rig();
    setByHand(made, holdAttribute('x'), text);
    await made.store.release(placement, 'x');
    assert.equal(await reason(made, made.name), 'somebody whose record cannot be read points at it');
    await made.store.hold(placement, made.name, 'x');
    assert.match((await reason(made, made.name)) ?? '', /^x \(since [^,]*\) points at it$/);
    await made.store.release(placement, 'x');
    assert.equal(await reason(made, made.name), 'nothing uses it');
  });
}

test('OWN-4 holders that version 0.1.0 recorded count until they let go; its record is never rewritten', async () => {
  const made = await rig();
  const text = '{"id":"ID","at":[["a","2026-01-01T00:00:00Z"],["b","2026-01-01T00:00:00Z"]]}';
  setByHand(made, 'drydock.pointers', text);
  const before = made.in(FOLDER)[0]?.customValues['drydock.pointers'];
  await made.store.release(placement, 'a');
  assert.equal(await reason(made, made.name), 'b (since 2026-01-01T00:00:00Z) points at it');
  await made.store.hold(placement, made.name, 'a');
  assert.match((await reason(made, made.name)) ?? '', /^b \(since 2026-01-01T00:00:00Z\), a \(since /);
  await made.store.release(placement, 'b');
  await made.store.release(placement, 'a');
  assert.equal(await reason(made, made.name), 'nothing uses it');
  assert.equal(made.in(FOLDER)[0]?.customValues['drydock.pointers'], before);
});

test('OWN-4 a template that version 0.1.0 made is guarded against 0.1.0 when somebody holds it', async () => {
  const made = await rig();
  await made.store.hold(placement, made.name, 'x');
  assert.equal(made.in(FOLDER)[0]?.customValues['drydock.pointers'], undefined);
  made.inventory.state.machines.values().next().value?.extraConfig.delete('drydock.birth');
  await made.store.hold(placement, made.name, 'y');
  assert.equal(made.in(FOLDER)[0]?.customValues['drydock.pointers'], 'see drydock.hold');
});

/** The store of another process, which knows nothing of the rig's. */
function anotherProcess({ inventory }: TestRig, clock: VirtualClock) {
  const vcenters = async () => inventory.client();
  const markKeys = async () => TEST_KEYS;
  return templateStore({
    vcenters,
    markKeys,
    clock,
    ovas: memoryOva({}),
    uptime: testUptime(clock),
    cacheDir: '/none',
  });
}

test('OWN-4 of holders that come at one moment, while another lets go and a swap retires the template, none is lost', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const clock = virtualClock();
    const made = testRig(clock);
    await made.swap('stable');
    await made.store.hold(placement, 'stable', 'leaving');
    const turns = scheduler(seed, clock);
    made.inventory.onCall = (_method, phase) => (phase === 'after' ? undefined : turns.turn());
    const image = { release: '10', location: 'https://m.test/y', sha256: 'b'.repeat(64) };
    const results = await turns.run<unknown>([
      ...['a', 'b', 'c'].map((what) => () => anotherProcess(made, clock).hold(placement, 'stable', what)),
      () => anotherProcess(made, clock).release(placement, 'leaving'),
      () => made.swap('stable', { image }),
    ]);
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['fulfilled']), `seed ${seed}`);
    made.inventory.onCall = undefined;
    const options = { referenced: () => undefined, holderIsLive: () => false, keep: 0, dryRun: true };
    const verdicts = await made.store.collect(placement, owner, options);
    const held = verdicts.flatMap(({ reason }) => reason.match(/\w+(?= \(since )/g) ?? []);
    assert.deepEqual(held.toSorted(), ['a', 'b', 'c'], `seed ${seed}: ${JSON.stringify(verdicts)}`);
  }
});
