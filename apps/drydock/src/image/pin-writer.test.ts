import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BootImage } from '@drydock/api';
import { memoryCluster } from '@drydock/kube/testing';
import { parse } from 'yaml';
import { pinsObeyed } from './pin-wait.ts';
import { liftPin, writePin } from './pin-writer.ts';

const namespace = 'openshift-machine-api';
const { signal } = new AbortController();
const key = { namespace, name: 'ms-a' };
const machineSet = { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name: 'a' };
const fresh: BootImage = { metadata: key, spec: { machineSet } };
const crd: unknown = parse(
  readFileSync(fileURLToPath(import.meta.resolve('@drydock/api/crds/drydock.dev_bootimages.yaml')), 'utf8'),
);

const start = () => memoryCluster({ namespaces: [namespace], crds: [crd] }).client();

test('OWN-18 two people who go back at once: one of them is told, and nothing of the other pin stays', async () => {
  const client = start();
  const seen = await client.create(BootImage, fresh);
  const theirs = { release: '1', image: 'one', digest: 'd'.repeat(64), until: '2030-01-01T00:00:00Z', by: 'bob' };
  const first = await writePin(client, { seen, fresh }, theirs, { signal });
  assert.ok(typeof first === 'object');
  assert.equal(await writePin(client, { seen, fresh }, { release: '2' }, { signal }), 'moved');
  assert.deepEqual((await client.get(BootImage, key)).spec, { machineSet, pin: theirs });
  // A status that was written in between is no news.
  await client.replaceStatus(BootImage, { ...first, status: { phase: 'Current' } });
  const ours = { release: '2', by: 'alice' };
  assert.ok(typeof (await writePin(client, { seen: first, fresh }, ours, { signal })) === 'object');
  assert.deepEqual((await client.get(BootImage, key)).spec, { machineSet, pin: ours });
  const outcome = await pinsObeyed(client, [first], { waitMs: 0, signal });
  assert.deepEqual(outcome, { kind: 'replaced', set: 'ms-a', pin: ours });
});

test('OWN-18 whoever goes back is told at once that his pin contradicts another one under the same name', async () => {
  const client = start();
  const seen = await client.create(BootImage, fresh);
  const mine = await writePin(client, { seen, fresh }, { release: '1' }, { signal });
  assert.ok(typeof mine === 'object');
  const outcome = async (reason: string, observedGeneration: number): Promise<string> => {
    const live = await client.get(BootImage, key);
    await client.replaceStatus(BootImage, { ...live, status: { phase: 'Blocked', reason, observedGeneration } });
    return (await pinsObeyed(client, [mine], { waitMs: 0, signal })).kind;
  };
  const generation = mine.metadata.generation ?? 0;
  assert.equal(await outcome('PinConflict', generation - 1), 'underway', 'that was said of another spec');
  assert.equal(await outcome('CanaryFailed', generation), 'underway', 'that was said before the pin was seen');
  for (const reason of ['PinConflict', 'PinInvalid']) assert.equal(await outcome(reason, generation), 'stuck', reason);
});

test('OWN-18 a pin of a set whose BootImage is not there yet, or is made or goes in between; tried without being stored', async () => {
  const client = start();
  const pin = { release: '1' };
  assert.ok(typeof (await writePin(client, { seen: undefined, fresh }, pin, { signal, dryRun: true })) === 'object');
  const made = await writePin(client, { seen: undefined, fresh }, pin, { signal });
  assert.ok(typeof made === 'object');
  assert.equal(await writePin(client, { seen: undefined, fresh }, pin, { signal }), 'moved');
  await client.delete(BootImage, key);
  assert.equal(await writePin(client, { seen: made, fresh }, pin, { signal }), 'moved');
});

test('FIND-18 who lifts a pin, when and why is written with the removal, never before the pin; a pin that changed stays', async () => {
  const client = start();
  const pin = { release: '1', by: 'alice', since: '2026-01-01T00:00:10Z' };
  const pinned = await writePin(client, { seen: undefined, fresh }, pin, { signal });
  assert.ok(typeof pinned === 'object');
  const lifted = { by: 'bob', since: '2026-01-01T00:00:05Z', reason: 'fixed' };
  assert.equal(await liftPin(client, pinned, { pin: { ...pin, by: 'carol' }, lifted }, signal), 'moved');
  assert.deepEqual((await client.get(BootImage, key)).spec, { machineSet, pin });
  assert.equal(await liftPin(client, pinned, { pin, lifted }, signal), 'lifted');
  const { spec } = await client.get(BootImage, key);
  assert.deepEqual(spec, { machineSet, lifted: { ...lifted, since: pin.since } }, 'the clock of alice was ahead');
});
