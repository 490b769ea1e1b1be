import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { BootImage, bootImageName, CustomResourceDefinition, MachineSet } from '@drydock/api';
import { flaws, runImage } from './support/image-cli.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
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

test('drydock image revert by swap: the other sets on the name are named and nothing is written, with --all-on-name all go back without an upload', async () => {
  const sets = ['shared-a', 'shared-b'] as const;
  const folder = await voyage.folder('shared');
  for (const name of sets) await voyage.createSet({ name, folder });
  const image = await voyage.image('9.10.20261004-0');
  await voyage.release(image);
  for (const name of sets) await voyage.current(name, image.release);
  const { count } = await voyage.switchboard.uploads();
  const pinOf = async (name: string) =>
    (await voyage.client.get(BootImage, { namespace: machineApi, name: bootImageName('ms', name) })).spec?.pin;

  const refused = await runImage(voyage.sandbox, 'revert', 'shared-a', '--yes', '-o', 'json');
  assert.equal(refused.code, 3, refused.errors);
  assert.match(refused.errors, /ms\/shared-b has the same template name as ms\/shared-a, and would go back with it/);
  assert.match(refused.errors, /Next: drydock image revert ms\/shared-a --all-on-name/);
  assert.deepEqual([await pinOf('shared-a'), await pinOf('shared-b')], [undefined, undefined]);

  const all = ['revert', 'shared-a', '--all-on-name', '--yes', '-o', 'json'];
  const reverted = await runImage(voyage.sandbox, ...all);
  // Here the passes run without a Lease, and nobody who asks the Lease can know that.
  assert.equal(reverted.code, 3, reverted.errors);
  assert.match(reverted.errors, /the pin is written, and nothing moves yet: nobody has led boot images yet/);
  assert.deepEqual(flaws('image-revert', reverted.out), []);
  assert.deepEqual((JSON.parse(reverted.out) as { readonly sets: unknown }).sets, ['ms/shared-a', 'ms/shared-b']);
  for (const name of sets)
    await voyage.status(name, 'pinned', ({ reason, current }) => reason === 'Pinned' && current === oldRelease);
  assert.equal((await voyage.inventory(folder)).get(installerTemplate)?.productVersion, oldRelease);
  for (const name of sets)
    assert.equal((await runImage(voyage.sandbox, 'release', name, '--yes')).code, 3, 'no leader');
  for (const name of sets) await voyage.current(name, image.release);
  assert.equal((await voyage.switchboard.uploads()).count, count);
});

test('drydock image revert under a definition without spec.pin: nothing is written, and what to do is said', async () => {
  const { client } = voyage;
  const definition = { name: 'bootimages.drydock.dev' };
  const pinPath = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/pin';
  const { spec } = await client.get(CustomResourceDefinition, definition);
  const schema = spec.versions[0]?.schema?.openAPIV3Schema as { properties: { spec: { properties: { pin: object } } } };
  const key = { namespace: machineApi, name: bootImageName('ms', 'shared-a') };
  const keeps = async (): Promise<boolean> => {
    const pin = { release: oldRelease };
    const stored = await client.mergePatch(BootImage, key, { spec: { pin } }, { dryRun: true });
    return stored.spec?.pin !== undefined;
  };
  await client.patch(CustomResourceDefinition, definition, [{ op: 'remove', path: pinPath }]);
  try {
    await eventually('an API server that prunes pins', async () => ((await keeps()) ? undefined : true));
    const before = await client.get(BootImage, key);
    const refused = await runImage(voyage.sandbox, 'revert', 'shared-a', '--all-on-name', '--yes', '-o', 'json');
    assert.equal(refused.code, 3, refused.errors);
    assert.match(
      refused.errors,
      /has no place for a pin, which the server would drop: nothing was written, and nothing moves. Next: kubectl apply -f api\/crds/,
    );
    assert.deepEqual((await client.get(BootImage, key)).spec, before.spec);
    assert.equal(await voyage.template('shared-a'), installerTemplate);
  } finally {
    const { pin } = schema.properties.spec.properties;
    await client.patch(CustomResourceDefinition, definition, [{ op: 'add', path: pinPath, value: pin }]);
    await eventually('an API server that keeps pins', async () => (await keeps()) || undefined);
  }
});
