import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Key } from '@drydock/kube';
import { CAPI_KINDS, capiCluster, capiKind, capiObject, machineDeployment } from '../testing/capi-world.ts';
import { rotationCanaries } from './canary.ts';
import { type CanaryWatch, canaryWatch } from './canary-watch.ts';
import type { ClusterApiObject } from './kinds.ts';
import { rotatedSet } from './set.ts';

const namespace = 'ns';
const group = '0123456789ab';
const canary: Key = { namespace, name: `drydock-canary-${group}` };

/** A process that has just begun, the canary that was there before it, and the sets whose BootImages name that. */
function begun(sets: readonly string[], more: Partial<ClusterApiObject['metadata']> = {}) {
  const cluster = capiCluster();
  const client = cluster.client();
  const labels = { 'drydock.dev/canary': group };
  const machine = (key: Key): ClusterApiObject | undefined => cluster.peek(capiKind('Machine'), key);
  cluster.put(capiKind('Machine'), canary, capiObject('Machine', canary.name, {}, { labels, ...more }));
  const judged: unknown[] = [];
  const canaries = rotationCanaries({
    ...{ client, served: { of: (_, kind) => CAPI_KINDS[kind] }, now: () => new Date() },
    ...{
      machines: () => [],
      recorded: () => undefined,
      awaited: () => true,
      record: async (_, { canary }) => void judged.push(canary?.verdict),
    },
  });
  const named = (of: Key): readonly string[] => (of.name === canary.name ? sets : []);
  const watch: CanaryWatch = canaryWatch({ machine, canaries, named });
  return {
    client,
    canaries,
    judged,
    machine: () => machine(canary),
    watch,
    there: () => machine(canary) !== undefined,
  };
}

test('OWN-18 a process that has just begun removes no canary before each set whose BootImage names it was looked at', async () => {
  const { watch, there } = begun(['a', 'b']);
  await watch.sweep(canary, {});
  assert.ok(there(), 'neither was looked at');
  await watch.during('a', canary, async () => undefined);
  await watch.sweep(canary, {});
  assert.ok(there(), 'one was not looked at');
  await watch.during('b', canary, async (asks) => asks(canary));
  await watch.sweep(canary, {});
  assert.ok(there(), 'one waits for it');
  await watch.during('b', canary, async () => undefined);
  await watch.sweep(canary, {});
  assert.equal(there(), false, 'neither waits for it');
});

test('OWN-18 a canary for which no set waits goes; one that a machine set took stays with it', async () => {
  const owner = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'MachineSet', name: 's', uid: 's', controller: true };
  const cluster = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', name: 'c1', uid: 'c' };
  for (const [ownerReferences, stays] of [
    [[], false],
    [[cluster], false],
    [[cluster, owner], true],
  ] as const) {
    const { watch, there } = begun([], { ownerReferences });
    await watch.sweep(canary, {});
    assert.equal(there(), stays, JSON.stringify(ownerReferences));
  }
});

test('OWN-18 what a process has removed it does not judge, also before any cache shows that nobody waits for it; what somebody else has removed failed', async () => {
  const set = rotatedSet('MachineDeployment', machineDeployment('a', 'a'));
  const policy = { name: 'gold', uid: 'p', generation: 1 };
  const running = {
    ...{ set, group: { id: group, machine: canary.name, image: 'new', line: '' } },
    wish: { policy, timeoutMs: 60_000, keepOnFailure: true },
  };
  for (const [who, verdicts] of [
    ['ours', []],
    ['theirs', ['Failed']],
  ] as const) {
    const { canaries, judged, machine, client } = begun(['a'], { finalizers: ['machine.cluster.x-k8s.io'] });
    if (who === 'ours') await canaries.remove(machine() ?? assert.fail('it is there'), {});
    else await client.delete(capiKind('Machine'), canary);
    assert.notEqual(machine()?.metadata.deletionTimestamp, undefined);
    await canaries.tend(running, 'vcenter is away', {}).catch(() => undefined);
    assert.deepEqual(judged, verdicts, who);
  }
});
