import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage } from '@drydock/api';
import { capiCluster } from '../testing/capi-world.ts';
import { keepPin } from './keeper.ts';

const namespace = 'ns';
const key = { namespace, name: 'ms-a' };
const now = Date.UTC(2026, 7, 2);
const at = (hours: number): string => new Date(now + hours * 3_600_000).toISOString();
const owner = { apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', name: 'a', uid: 'u' };
const ours = { 'app.kubernetes.io/managed-by': 'drydock' };

/** A BootImage that the keeper sees, and what it does about it, `meanwhile` somebody else writes. */
async function kept(
  image: BootImage,
  { gone = false, known = true, meanwhile }: { gone?: boolean; known?: boolean; meanwhile?: BootImage } = {},
) {
  const client = capiCluster().client();
  const seen = await client.create(BootImage, { ...image, metadata: { ...key, ...image.metadata } });
  const { status } = image;
  const live = status === undefined ? seen : await client.replaceStatus(BootImage, { ...seen, status });
  if (meanwhile !== undefined) await client.replace(BootImage, { ...live, ...meanwhile, metadata: live.metadata });
  const events: string[] = [];
  const set = { text: 'ms/a', ownerReferences: [owner], event: (reason: string) => void events.push(reason) };
  await keepPin(live, { client, now, known, set: gone ? undefined : set });
  const found = await Array.fromAsync(client.list(BootImage));
  return { events, image: found[0] };
}

const image = (spec: BootImage['spec'], more: Partial<BootImage['metadata']> = { labels: ours }): BootImage => ({
  metadata: { name: key.name, ...more },
  ...(spec === undefined ? {} : { spec }),
});

test('OWN-18 a pin that somebody has written since it lapsed stays, and nobody is told that it lapsed', async () => {
  const lapsed = image({ pin: { release: '1', until: at(-1) } });
  const alone = await kept(lapsed);
  assert.deepEqual([alone.image?.spec?.pin, alone.events], [undefined, ['PinLapsed']]);
  const longer = { release: '1', until: at(9) };
  const prolonged = await kept(lapsed, { meanwhile: image({ pin: longer }) });
  assert.deepEqual([prolonged.image?.spec?.pin, prolonged.events], [longer, []]);
});

test('OWN-18 the BootImage of a set that nobody sees stays as long as not all sets are known, and one that a person made always', async () => {
  assert.notEqual((await kept(image({}), { gone: true, known: false })).image, undefined);
  assert.equal((await kept(image({}), { gone: true })).image, undefined);
  assert.notEqual((await kept(image({}, {}), { gone: true })).image, undefined);
  const own = image({ pin: { release: '1' } }, { ownerReferences: [owner] });
  assert.equal((await kept(own)).image?.metadata.ownerReferences?.length, 1);
});

test('KEEP-C: a pin that comes, or is lifted, while a BootImage is seen to counts: the BootImage stays, and keeps its owner', async () => {
  const pinned = image({ pin: { release: '1' } });
  const came = await kept(image({}), { gone: true, meanwhile: pinned });
  assert.deepEqual(came.image?.spec?.pin, { release: '1' });
  const owned = image({ pin: { release: '1' } }, { labels: ours, ownerReferences: [owner] });
  assert.equal((await kept(owned)).image?.metadata.ownerReferences, undefined);
  const lifted = await kept(owned, { meanwhile: image({}) });
  assert.equal(lifted.image?.metadata.ownerReferences?.length, 1);
});

test('OWN-18 that a pin will lapse is an event once, and not again once the status says so', async () => {
  const soon = image({ pin: { release: '1', since: at(-100), until: at(1) } });
  assert.deepEqual((await kept(soon)).events, ['PinLapsesSoon']);
  const said = { type: 'Pinned', status: 'True', reason: 'PinLapsesSoon', message: '', lastTransitionTime: at(0) };
  assert.deepEqual((await kept({ ...soon, status: { conditions: [said] } })).events, []);
});

test('a pin that is said to begin after its end says in time that it lapses', async () => {
  assert.deepEqual((await kept(image({ pin: { release: '1', since: at(40), until: at(23) } }))).events, [
    'PinLapsesSoon',
  ]);
});
