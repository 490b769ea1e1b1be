import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { Zone } from '@drydock/api';
import { until } from '@drydock/kube/testing';
import type { VmWatchRole } from '../role.ts';
import { type VmWorld, vmWorld } from '../testing/vm-world.ts';
import { LEGACY_FINALIZER, watchedAtStart, ZONE_FINALIZER, zoneStep } from './zone.ts';

const key = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace: 'ns', name });
const deletionTimestamp = '2026-01-01T00:00:00Z';

function zone(folderMoID: string, metadata: Partial<Zone['metadata']> = {}): Zone {
  return { metadata: { ...key('z'), ...metadata }, spec: { managedVMs: { folderMoID } } };
}

const finalizers = (world: VmWorld, name: string): readonly string[] | undefined =>
  world.cluster.peek(Zone, key(name))?.metadata.finalizers;

/** `f1: ns/a ns/b`, by folder. */
const watched = (role: VmWatchRole, ...ids: readonly string[]): readonly string[] =>
  ids.flatMap((id) => role.watch.holdings(id).map(({ server, ref }) => `${id} ${server} ${ref.type}:${ref.value}`));

test('VS-W68 VS-W54 the finalizer comes first, guarded by resourceVersion, and the watch after it', async () => {
  await using world = vmWorld();
  world.estate.vcenter('vc1').create('f1', 'vm-1');
  world.cluster.put(Zone, key('a'), { spec: { managedVMs: { folderMoID: 'f1' } } });
  const story: string[] = [];
  const bodies: unknown[] = [];
  const conflict = { done: false };
  world.cluster.onCall = ({ verb, resource, body }, phase) => {
    if (resource !== 'zones.topology.tanzu.vmware.com' || verb !== 'mergePatch') return;
    if (phase === 'before' && !conflict.done) {
      // Somebody else was faster: their finalizer must survive.
      conflict.done = true;
      world.cluster.put(Zone, key('a'), {
        metadata: { ...key('a'), finalizers: ['theirs/z'] },
        spec: { managedVMs: { folderMoID: 'f1' } },
      });
    } else if (phase === 'after' && finalizers(world, 'a')?.includes(ZONE_FINALIZER) === true) story.push('finalizer');
    if (phase === 'before') bodies.push(body);
  };
  world.estate.vcenter('vc1').feed.onCall = (call, phase) => {
    if (call === 'watch' && phase === 'before') story.push('watch');
  };
  const role = await world.start();
  await world.live();
  assert.deepEqual(story, ['finalizer', 'watch']);
  assert.deepEqual(finalizers(world, 'a'), ['theirs/z', ZONE_FINALIZER]);
  assert.equal(bodies.length, 2);
  for (const body of bodies) assert.match(JSON.stringify(body), /"resourceVersion":"\d+"/);
  assert.deepEqual(watched(role, 'ns/a'), ['ns/a vc1 Folder:f1']);
});

test('VS-W71 VS-W73 VS-W56 VS-W57 what a Zone asks for', () => {
  const ours = { finalizers: [ZONE_FINALIZER] };
  assert.deepEqual(zoneStep(zone('')), { kind: 'guard', finalizers: [ZONE_FINALIZER] });
  assert.deepEqual(zoneStep(zone('', ours)), { kind: 'watch', folder: undefined });
  assert.deepEqual(zoneStep(zone('f1', ours)), { kind: 'watch', folder: { type: 'Folder', value: 'f1' } });

  const both = { finalizers: [LEGACY_FINALIZER, ZONE_FINALIZER] };
  assert.deepEqual(zoneStep(zone('f1', both)), { kind: 'watch', folder: { type: 'Folder', value: 'f1' } });
  assert.deepEqual(zoneStep(zone('f1', { finalizers: [LEGACY_FINALIZER] })), {
    kind: 'guard',
    finalizers: [LEGACY_FINALIZER, ZONE_FINALIZER],
  });
  assert.deepEqual(zoneStep(zone('f1', both), true), { kind: 'guard', finalizers: [ZONE_FINALIZER] });
  assert.deepEqual(zoneStep(zone('f1', { ...both, deletionTimestamp })), {
    kind: 'release',
    finalizers: [LEGACY_FINALIZER],
  });
  assert.deepEqual(zoneStep(zone('f1', { ...both, deletionTimestamp }), true), { kind: 'release', finalizers: [] });
  assert.deepEqual(zoneStep(zone('f1', { finalizers: ['x/y'], deletionTimestamp })), {
    kind: 'release',
    finalizers: undefined,
  });

  assert.deepEqual(watchedAtStart(zone('f1', { ...ours, deletionTimestamp })), { type: 'Folder', value: 'f1' });
  assert.equal(watchedAtStart(zone('f1', { finalizers: ['x/y'], deletionTimestamp })), undefined);
  assert.equal(watchedAtStart(zone('f1')), undefined);
});

test('VS-W56 VS-W57 after a restart a Zone that is being deleted is let go of, and only then its finalizer goes', async () => {
  await using world = vmWorld();
  world.estate.vcenter('vc1').create('f1', 'vm-1');
  world.zone('going', 'f1', { deletionTimestamp });
  world.zone('gone', 'f2', { deletionTimestamp, finalizers: ['x/y'] });
  world.zone('stays', 'f1');
  const role = await world.start();
  await until('the Zone is gone', () => world.cluster.peek(Zone, key('going')) === undefined);
  await world.live();
  assert.deepEqual(watched(role, 'ns/going', 'ns/gone', 'ns/stays'), ['ns/stays vc1 Folder:f1']);
  assert.deepEqual(finalizers(world, 'gone'), ['x/y']);
});

test('VS-W69 VS-W11 VS-W74 Zones share a folder: it is watched until the last of them is deleted, and a Zone that is gone is no error', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f2', 'vm-2', 'ns/b');
  for (const name of ['z1', 'z2']) world.zone(name, 'f1');
  world.zone('other', 'f2');
  world.vm('a', { uniqueID: 'vm-1' });
  world.vm('b', { uniqueID: 'vm-2' });
  const role = await world.start();
  await world.live();
  await world.client.delete(Zone, key('z1'));
  await until('z1 is gone', () => world.cluster.peek(Zone, key('z1')) === undefined);
  vc1.power('vm-1', 'poweredOn');
  await world.shows('a', 'power', ({ powerState }) => powerState === 'PoweredOn');
  // Without its finalizer: somebody took it off by force.
  world.cluster.put(Zone, key('z2'), undefined);
  await until('nothing is watched for z2', () => watched(role, 'ns/z1', 'ns/z2').length === 0);
  await until('the folder is no longer watched', () => role.watch.reports()[0]?.containers.watched === 1);
  vc1.power('vm-1', 'poweredOff');
  vc1.power('vm-2', 'poweredOn');
  await world.shows('b', 'power', ({ powerState }) => powerState === 'PoweredOn');
  assert.equal(world.status('a').powerState, 'PoweredOn', 'nobody looks at it any more');
});

test('VS-W72 another folder is watched in place of the old one, which upstream goes on watching', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f2', 'vm-2', 'ns/b');
  world.zone('z', 'f1');
  world.vm('b', { uniqueID: 'vm-2' });
  const role = await world.start();
  await world.live();
  await world.client.mergePatch(Zone, key('z'), { spec: { managedVMs: { folderMoID: 'f2' } } });
  await until('the new folder alone is watched', () => watched(role, 'ns/z').join() === 'ns/z vc1 Folder:f2');
  await until('and applied', () => role.watch.reports()[0]?.containers.watched === 1);
  vc1.power('vm-2', 'poweredOn');
  await world.shows('b', 'power', ({ powerState }) => powerState === 'PoweredOn');
  await world.client.mergePatch(Zone, key('z'), { metadata: { annotations: { 'drydock.dev/vcenter': 'vc2' } } });
  await until('the other vCenter watches it', () => watched(role, 'ns/z').join() === 'ns/z vc2 Folder:f2');
  await world.client.mergePatch(Zone, key('z'), { spec: { managedVMs: { folderMoID: '' } } });
  await until('nothing is watched', () => watched(role, 'ns/z').length === 0);
  assert.deepEqual(finalizers(world, 'z'), [ZONE_FINALIZER]);
});

test('a Zone can be deleted while its vCenter cannot be reached, and while it hangs', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1');
  world.zone('z1', 'f1');
  world.zone('z2', 'f2');
  await world.start();
  await world.live();
  let hang = true;
  const surveys = Promise.withResolvers<void>();
  const real = vc1.feed.survey.bind(vc1.feed);
  vc1.feed.survey = async (...args) => {
    if (hang) await surveys.promise;
    return real(...args);
  };
  await world.client.delete(Zone, key('z1'));
  await until('z1 is gone', () => world.cluster.peek(Zone, key('z1')) === undefined);
  hang = false;
  surveys.resolve();
  await tick();
  vc1.down = true;
  vc1.feed.endSession();
  await world.client.delete(Zone, key('z2'));
  await until('z2 is gone', () => world.cluster.peek(Zone, key('z2')) === undefined);
});
