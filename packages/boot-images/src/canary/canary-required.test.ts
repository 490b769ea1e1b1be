import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, MachineSet } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { platformWith } from '../gcp/platform.ts';
import { imageOf } from '../status/boot-image-store.ts';
import { type CanaryRig, canaryRig, creationsIn, saidOf, workers } from '../testing/canary-rig.ts';
import { computed, oldRelease, published } from '../testing/fake-cluster.ts';
import { gcpImage, gcpInfrastructure, gcpSet, gcpStream, oldGcpImage, rhcosCloud } from '../testing/fake-gcp.ts';

const hour = 3_600_000;
const key = { namespace: 'openshift-machine-api', name: 'wk-a' };

/** Images of the boot disks that new machines of wk-a start from. */
function bootImages({ cluster }: CanaryRig): readonly unknown[] {
  const disks = cluster.client.peek(MachineSet, key)?.spec?.template?.spec?.providerSpec?.value?.['disks'];
  return (disks as readonly { readonly boot: boolean; readonly image: string }[])
    .filter(({ boot }) => boot)
    .map(({ image }) => image);
}

test('KEEP-C: on a cloud, where no image is imported, a move waits for its canary too, and a canary that fails stops it', async () => {
  const { template } = gcpSet('wk-a').spec ?? {};
  // The played controllers clone by the name of a template, and vSphere's is still in the spec.
  const sets = [workers('wk-a', template?.spec?.providerSpec?.value ?? {})];
  const platform = platformWith({ look: async () => ({ kind: 'available' }) });
  for (const fate of ['boots', 'invalid'] as const) {
    const c = canaryRig(() => fate, { platform, infrastructure: gcpInfrastructure, stream: gcpStream, sets });
    await c.turn();
    assert.deepEqual([saidOf(c), c.machines().length], ['Publishing Canary', 1]);
    assert.deepEqual(bootImages(c), [rhcosCloud(oldGcpImage)]);
    for (let turns = 0; turns < 4; turns += 1) await c.turn();
    const moved = fate === 'boots';
    assert.equal(saidOf(c), moved ? 'Current UpToDate' : 'Blocked CanaryFailed');
    assert.deepEqual(bootImages(c), [rhcosCloud(moved ? gcpImage : oldGcpImage)]);
  }
});

test('KEEP-C: a revert does not wait for a canary: the image that a person pins a machine set to was in use before', async () => {
  const c = canaryRig();
  for (let turns = 0; turns < 4; turns += 1) await c.turn();
  assert.equal(c.cluster.template('wk-a'), published);
  const image = c.cluster.client.peek(BootImage, keyOf(imageOf(workers('wk-a')))) ?? assert.fail('it is written');
  c.cluster.client.put(BootImage, { ...image, spec: { ...image.spec, pin: { release: oldRelease, image: computed } } });
  await c.pass();
  assert.deepEqual([saidOf(c), c.cluster.template('wk-a')], ['Current Pinned', computed]);
  assert.deepEqual([c.machines(), creationsIn(c).length], [[], 1], 'no machine was made for the revert');
});

test('KEEP-C: an image that failed its canary is kept while its window is closed: it is not imported again only to fail again', async () => {
  const c = canaryRig(() => 'invalid');
  c.policy({ windows: [{ schedule: '0 0 * * *', duration: '1h' }] }, 2);
  for (let turns = 0; turns < 3; turns += 1) await c.turn();
  assert.equal(saidOf(c), 'Blocked CanaryFailed');
  for (const [hours, said] of [
    [12, 'Pending WaitsForWindow'],
    [12, 'Blocked CanaryFailed'],
  ] as const) {
    c.cluster.clock += hours * hour;
    c.restart();
    await c.turn();
    assert.equal(saidOf(c), said);
  }
  assert.deepEqual([c.cluster.store.removed, c.cluster.store.uploads, creationsIn(c).length], [[], 1, 1]);
});

test('KEEP-C: a machine that is kept for a look stays also while something else stops its machine set', async () => {
  const c = canaryRig(() => 'invalid', { canary: { keepOnFailure: true } });
  for (let turns = 0; turns < 3; turns += 1) await c.turn();
  assert.deepEqual([saidOf(c), c.machines().length], ['Blocked CanaryFailed', 1]);
  c.cluster.store.templates.delete(published);
  c.cluster.store.fail = Object.assign(new Error('no such folder'), { code: 'NOT_FOUND', retriable: false });
  c.cluster.clock += hour;
  for (let turns = 0; turns < 2; turns += 1) await c.turn();
  assert.deepEqual([saidOf(c), c.machines().length], ['Blocked NotFound', 1]);
});

for (const [fate, verdict] of [
  ['boots', 'Passed'],
  ['invalid', 'Failed'],
] as const)
  test(`KEEP-C: a verdict that could not be written counts only once it is: ${verdict}`, async () => {
    const c = canaryRig(() => fate);
    await c.turn();
    let refused = 0;
    c.cluster.client.refuse = (write) => {
      if (!write.startsWith('status bootimages') || refused > 0) return undefined;
      refused += 1;
      return new Error('the API server is overloaded');
    };
    await c.turn();
    c.cluster.client.refuse = undefined;
    assert.deepEqual([refused, c.machines().length, c.cluster.template('wk-a')], [1, 1, computed]);
    for (let turns = 0; turns < 3; turns += 1) await c.turn();
    assert.equal(c.image()?.status?.canary?.verdict, verdict);
    c.restart();
    await c.turn();
    const end = fate === 'boots' ? 'Current UpToDate' : 'Blocked CanaryFailed';
    assert.deepEqual([saidOf(c), c.machines(), creationsIn(c).length], [end, [], 1]);
  });
