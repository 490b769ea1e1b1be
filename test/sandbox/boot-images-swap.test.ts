import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { BootImage, bootImageName, MachineSet } from '@drydock/api';
import { startVoyage, type Voyage } from './support/voyage.ts';
import { installerTemplate, machineApi, oldRelease } from './support/voyage-cluster.ts';

let voyage: Voyage;

before(async () => {
  voyage = await startVoyage({ publication: 'swap' });
});

after(async () => {
  await voyage?.[Symbol.asyncDispose]();
});

test('BI-V133 VS-W104 by swap: the name is kept, the set is not written to, and the gap is what the server saw', async () => {
  const folder = await voyage.folder('swap');
  await voyage.createSet({ name: 'swap-a', folder });
  await voyage.current('swap-a', oldRelease);
  const was = await voyage.inventory(folder);
  const key = { namespace: machineApi, name: 'swap-a' };
  const before = await voyage.client.get(MachineSet, key);
  const image = await voyage.image('9.8.20260802-0');
  await voyage.switchboard.resetNames();
  await voyage.release(image);
  const status = await voyage.current('swap-a', image.release);

  assert.equal(await voyage.template('swap-a'), installerTemplate);
  const after = await voyage.client.get(MachineSet, key);
  assert.equal(after.metadata.generation, before.metadata.generation);
  const is = await voyage.inventory(folder);
  const current = is.get(installerTemplate);
  assert.deepEqual([current?.isTemplate, current?.productVersion], [true, image.release]);
  assert.equal(status.template?.name, installerTemplate);
  const retired = status.template?.retired ?? assert.fail('the status does not say what became of the old one');
  assert.equal(is.get(retired)?.moref, was.get(installerTemplate)?.moref);
  assert.equal(is.size, was.size + 1, [...is.keys()].join());

  const gaps = await voyage.switchboard.nameGaps({ folder, name: installerTemplate });
  assert.equal(gaps.length, 1);
  const seen = status.template?.absentMilliseconds ?? assert.fail('the status does not say how long it was absent');
  assert.ok(seen >= Math.floor((gaps[0]?.micros ?? 0) / 1000) - 1, `${seen} ms reported, ${gaps[0]?.micros} µs seen`);
  assert.ok(seen < 5_000, `${seen} ms`);
  await voyage.event('swap-a', 'Switched', `${oldRelease} → ${image.release}; the name was absent for`);
  await voyage.event('swap-a', 'Retained', retired);
});

test('BI-V137 by swap: the name is absent and a rollback template of the upstream controller is there: it is restored, then replaced', async () => {
  const folder = await voyage.folder('rollback');
  // sha256 of the template's name: what the upstream controller names its rollback template by (BI-V159).
  const old = `mco-old-${createHash('sha256').update(installerTemplate).digest('hex').slice(0, 8)}`;
  await voyage.switchboard.renameVm(`${folder}/${installerTemplate}`, old);
  await voyage.createSet({ name: 'rollback-a', folder });
  const image = await voyage.image('9.8.20260802-0');
  await voyage.release(image);
  const status = await voyage.current('rollback-a', image.release);
  assert.equal(status.template?.name, installerTemplate);
  const is = await voyage.inventory(folder);
  assert.equal(is.get(installerTemplate)?.productVersion, image.release);
  assert.ok(!is.has(old));
});

test("by swap a pin brings the earlier template back under its name, for every set on it, without an upload, and the installer's own as well", async () => {
  const folder = await voyage.folder('pinned');
  for (const name of ['pinned-a', 'pinned-b']) await voyage.createSet({ name, folder });
  const image = await voyage.image('9.9.20260903-0');
  await voyage.release(image);
  for (const name of ['pinned-a', 'pinned-b']) await voyage.current(name, image.release);
  const { count } = await voyage.switchboard.uploads();
  const key = { namespace: machineApi, name: bootImageName('ms', 'pinned-a') };
  await voyage.client.mergePatch(BootImage, key, { spec: { pin: { release: oldRelease, by: 'alice' } } });
  for (const name of ['pinned-a', 'pinned-b']) {
    const status = await voyage.status(
      name,
      'pinned',
      ({ reason, current }) => reason === 'Pinned' && current === oldRelease,
    );
    assert.match(status.message ?? '', /pinned to 9\.6\.20260512-0 by alice/);
  }
  const is = await voyage.inventory(folder);
  assert.equal(is.get(installerTemplate)?.productVersion, oldRelease);
  assert.equal((await voyage.switchboard.uploads()).count, count);
  await voyage.client.mergePatch(BootImage, key, { spec: { pin: null } });
  for (const name of ['pinned-a', 'pinned-b']) await voyage.current(name, image.release);
  assert.equal((await voyage.switchboard.uploads()).count, count, 'it was still there');
});
