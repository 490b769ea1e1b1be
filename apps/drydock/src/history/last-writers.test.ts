import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BootImage, MachineSet } from '@drydock/api';
import { runVerbs } from '../testing/run-verbs.ts';
import { smallCluster } from '../testing/small-cluster.ts';
import { lastWriters } from './last-writers.ts';

const namespace = 'openshift-machine-api';
const owned = (leaf: string) => ({
  'f:spec': { 'f:template': { 'f:spec': { 'f:providerSpec': { 'f:value': { [`f:${leaf}`]: {} } } } } },
});
const managedFields = [
  { manager: 'installer', time: '2026-01-01T00:00:00Z', fieldsV1: owned('template') },
  { manager: 'night-shift', time: '2026-01-03T02:55:00Z', fieldsV1: owned('template') },
  { manager: 'autoscaler', time: '2026-01-04T00:00:00Z', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
];

test('OWN-20 history names who wrote the image of a set that is left alone, which no status and no Event knows', async () => {
  await using served = await smallCluster(['a', 'b', 'c']);
  const key = { namespace, name: 'c' };
  const set = served.cluster.peek(MachineSet, key) ?? assert.fail('a set');
  const value = { ...(set.spec?.template?.spec?.providerSpec?.value as object), template: 'by-hand' };
  served.cluster.put(MachineSet, key, {
    ...set,
    metadata: { ...set.metadata, managedFields },
    spec: { ...set.spec, template: { ...set.spec?.template, spec: { providerSpec: { value } } } },
  } as MachineSet);
  const [named, all] = await runVerbs([
    { args: ['history', 'c', ...served.flags] },
    { args: ['history', ...served.flags] },
  ]);
  assert.match(named?.out ?? '', /\n2026-01-03T02:55:00Z +ms\/c +night-shift +- +wrote its image last: by-hand\n/);
  assert.equal(named?.errors, '');
  assert.ok(!named?.out.includes('autoscaler') && !named?.out.includes('installer'));
  // Of all sets nobody asks one by one.
  assert.ok(!all?.out.includes('night-shift'));
});

test('OWN-20 an image that the status knows is not told twice, and a set that may not be read is named', async () => {
  const image = (name: string): BootImage => ({
    metadata: { name: `ms-${name}`, namespace },
    spec: { machineSet: { kind: 'MachineSet', name } },
    status: { set: `ms/${name}`, history: [{ id: '1', image: 'known' }] },
  });
  const provider = { template: { spec: { providerSpec: { value: { template: 'known' } } } } };
  const raw = async ({ path }: { readonly path: string }): Promise<unknown> => {
    if (path.endsWith('/machinesets/secret')) throw new Error('machinesets is forbidden');
    return { metadata: { managedFields }, spec: provider };
  };
  const { signal } = new AbortController();
  assert.deepEqual(await lastWriters({ raw }, [image('known'), image('secret')], signal), {
    writers: [],
    unread: ['machinesets is forbidden'],
  });
});
