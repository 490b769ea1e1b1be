import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { type TestRig, testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';
import { POINTERS } from './pointers.ts';

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

test('OWN-4 more pointers than fit are counted and never forgotten, however long their names', async () => {
  const made = await rig();
  const all = Array.from({ length: 12 }, (_, at) => `${at} ${'⚓'.repeat(500)}`);
  for (const what of all) await made.store.hold(placement, made.name, what);
  for (const what of all) await made.store.release(placement, what);
  assert.match((await reason(made, made.name)) ?? '', /^\d+ more, whose names did not fit points at it$/);
  const [machine] = made.in(FOLDER);
  for (const value of Object.values(machine?.customValues ?? {})) assert.ok(value.length <= 255);
});

for (const [what, value] of [
  ['nonsense', 'nonsense'],
  ['another shape', '{"id":1}'],
  ['one pointer that is none', '{"id":"ID","at":[["a","2026"],7]}'],
  ['a count that is none', '{"id":"ID","at":[],"more":-1}'],
  ['half of it', '1/3 00000000 {"id":'],
] as const) {
  test(`OWN-4 a record that cannot be read (${what}) keeps, and is left as it is`, async () => {
    const made = await rig();
    const [machine] = made.inventory.state.machines.values();
    made.inventory.state.customFields.push(POINTERS);
    const text = value.replace('ID', machine?.instanceUuid ?? '');
    machine?.customValues.set(made.inventory.state.customFields.indexOf(POINTERS), text);
    await made.store.hold(placement, made.name, 'x');
    await made.store.release(placement, 'x');
    assert.equal(await reason(made, made.name), 'somebody whose record cannot be read points at it');
    assert.equal(made.in(FOLDER)[0]?.customValues[POINTERS], text);
  });
}
