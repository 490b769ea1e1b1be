import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BootImage, bootImageName, type MachineSet } from '@drydock/api';
import { memoryCluster } from '@drydock/kube/testing';
import { parse } from 'yaml';
import { attemptsIn, createBootImages } from './boot-image-store.ts';

const crd: unknown = parse(
  readFileSync(new URL('../../../../api/crds/drydock.dev_bootimages.yaml', import.meta.url), 'utf8'),
);
const key = { namespace: 'default', name: bootImageName('ms', 'a') };
const set: MachineSet = { metadata: { name: 'a', namespace: 'default', uid: 'u' } } as MachineSet;

test('what was reported last is written again on demand, a later report wins, and what is deleted is made again for as long as its set is there', async () => {
  const cluster = memoryCluster({ crds: [crd] });
  let there = true;
  const images = createBootImages({
    exists: () => there,
    client: cluster.client(),
    cached: (which) => cluster.peek(BootImage, which),
    platform: () => 'vsphere',
    facts: () => ({ reference: undefined, target: undefined }),
    now: () => new Date('2026-01-01T00:00:00Z'),
  });
  const reason = (): string | undefined => cluster.peek(BootImage, key)?.status?.message;
  await images.repeat(key.name);
  assert.equal(cluster.peek(BootImage, key), undefined, 'nothing was reported');
  await images.report(set, { kind: 'failed', blocked: false, reason: 'One', message: 'the first' });
  const said = reason();
  assert.ok(said !== undefined && said !== '');
  const { message: _lost, ...less } = cluster.peek(BootImage, key)?.status ?? {};
  cluster.put(BootImage, key, { ...cluster.peek(BootImage, key), status: less });
  await images.repeat(key.name);
  assert.equal(reason(), said);
  const calls = cluster.counters.get('replaceStatus');
  await images.repeat(key.name);
  assert.equal(cluster.counters.get('replaceStatus'), calls, 'what is there already is not sent');
  // While a repetition is on its way, something else is found out.
  cluster.put(BootImage, key, { ...cluster.peek(BootImage, key), status: less });
  const repetition = images.repeat(key.name);
  await images.report(set, { kind: 'failed', blocked: false, reason: 'Two', message: 'the second' });
  await repetition;
  assert.match(reason() ?? '', /second/);
  cluster.put(BootImage, key, undefined);
  await images.repeat(key.name);
  assert.match(reason() ?? '', /second/);
  there = false;
  cluster.put(BootImage, key, undefined);
  for (const now of [false, true]) {
    there = now;
    await images.repeat(key.name);
    assert.equal(cluster.peek(BootImage, key), undefined, 'what went with its set is forgotten');
  }
});

test('what is counted of the moves of a set is read from the BootImage of that very set, and goes when nothing is counted', async () => {
  const cluster = memoryCluster({ crds: [crd] });
  const images = createBootImages({
    ...{ exists: () => true, client: cluster.client(), cached: (which) => cluster.peek(BootImage, which) },
    ...{ platform: () => 'gcp', facts: () => ({ reference: undefined, target: undefined }), now: () => new Date(0) },
  });
  const attempts = { target: 'x', count: 2, by: 'argocd-controller' };
  const recorded = (of = set): unknown => attemptsIn(cluster.peek(BootImage, key), of);
  await images.report(set, { kind: 'current', attempts });
  assert.deepEqual(recorded(), attempts);
  await images.report(set, { kind: 'step', phase: 'Switching' });
  assert.deepEqual(recorded(), attempts, 'a step says nothing of it');
  assert.equal(recorded({ ...set, metadata: { ...set.metadata, uid: 'another' } }), undefined);
  await images.report(set, { kind: 'current', attempts: { target: '', count: 0 } });
  assert.equal(cluster.peek(BootImage, key)?.status?.attempts, undefined);
  assert.equal(recorded(), undefined);
});
