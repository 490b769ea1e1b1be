import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualMachine } from '@drydock/api';
import { keyOf, run } from '@drydock/kube';
import { memoryCluster, until } from '@drydock/kube/testing';
import { pino } from 'pino';
import { candidates as noCandidates } from './candidates.ts';
import { ownWrites } from './own-writes.ts';
import { virtualMachineMirror } from './virtual-machine-controller.ts';

const key = { namespace: 'ns', name: 'a' };
const version = (resourceVersion: string, uid = 'u'): VirtualMachine => ({
  metadata: { ...key, uid, resourceVersion },
});

test('the newer of what a cache shows and what was written counts, and nothing is kept that the cache has', () => {
  let shown: VirtualMachine | undefined = version('5');
  const own = ownWrites<VirtualMachine>({ get: () => shown }, keyOf);
  const latest = (): string | undefined => own.latest(key)?.metadata.resourceVersion;
  assert.equal(latest(), '5');
  own.wrote(version('7'));
  assert.equal(latest(), '7');
  shown = version('10');
  assert.equal(latest(), '10');
  own.wrote(version('9'));
  assert.equal(latest(), '10', 'the cache was faster');
  own.wrote(version('12'));
  shown = version('11', 'another');
  assert.equal(latest(), '11', 'another object of the name');
  own.wrote({ metadata: { ...key, uid: 'another', resourceVersion: 'opaque' } });
  assert.equal(latest(), '11', 'versions that cannot be compared');
  shown = undefined;
  assert.equal(latest(), undefined);
});

test('a machine that is switched on and off faster than the cache learns of it is shown as it is, and a machine that was found is not lost', async () => {
  const cluster = memoryCluster({ resources: [VirtualMachine], namespaces: ['ns'] });
  await using client = cluster.client();
  cluster.put(VirtualMachine, key, { metadata: key });
  const stale = cluster.peek(VirtualMachine, key);
  let powerState = 'poweredOff';
  let looks = 0;
  const candidates = noCandidates();
  const ref = { type: 'VirtualMachine', value: 'vm-1' };
  candidates.add('ns/a', 'vc1', ref);
  const mirror = virtualMachineMirror({
    client,
    // It never learns of anything.
    vms: { get: () => stale, synced: Promise.resolve(), subscribe: () => ({ [Symbol.dispose]: () => undefined }) },
    where: { zone: () => 'vc1', vm: () => 'vc1', zoneOf: () => undefined },
    candidates,
    reader: () => ({
      state: async () => {
        looks += 1;
        return {
          ref,
          powerState,
          ipAddress: '',
          hostName: '',
          instanceUuid: 'i',
          biosUuid: 'b',
          host: 'h',
          cluster: 'c',
        };
      },
      carries: async () => 'ns/a',
    }),
    looked: () => undefined,
    seen: () => 'yes',
    refusal: () => undefined,
  });
  const log = pino({ level: 'silent' });
  await using _ = await run({
    client,
    caches: {},
    controllers: [mirror.controller],
    log,
    signal: new AbortController().signal,
  });
  const shows = async (state: string): Promise<void> => {
    const before = looks;
    mirror.wake(key, 'generic');
    await until('it is looked at', () => looks > before);
    await until(state, () => cluster.peek(VirtualMachine, key)?.status?.powerState === state);
  };
  await shows('PoweredOff');
  powerState = 'poweredOn';
  await shows('PoweredOn');
  powerState = 'poweredOff';
  await shows('PoweredOff');
  assert.equal(cluster.peek(VirtualMachine, key)?.status?.uniqueID, 'vm-1');
  assert.equal(cluster.counters.get('replaceStatus'), 3, 'none of them was refused first');
});
