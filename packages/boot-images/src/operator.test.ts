import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Infrastructure, MachineConfiguration } from '@drydock/api';
import { optedInAnnotation } from './decide/reflect.ts';
import { createOperatorHalf } from './operator.ts';
import { fakeClient } from './testing/fake-client.ts';
import { infrastructure, managed } from './testing/fake-cluster.ts';

function half(mc: MachineConfiguration | undefined): {
  readonly client: ReturnType<typeof fakeClient>;
  readonly run: () => Promise<void>;
} {
  const client = fakeClient();
  if (mc !== undefined) client.put(MachineConfiguration, mc);
  client.put(Infrastructure, infrastructure());
  const run = createOperatorHalf({
    client,
    world: {
      machineConfiguration: () => client.peek(MachineConfiguration, { name: 'cluster' }),
      infrastructure: () => client.peek(Infrastructure, { name: 'cluster' }),
      upstream: () => undefined,
    },
    cpmsGate: true,
    now: () => new Date(0),
  });
  return { client, run };
}

test('BI-V173 the operator half writes the opt-in annotation before the status', async () => {
  const { client, run } = half({ metadata: { name: 'cluster', generation: 4 } });
  await run();
  assert.deepEqual(client.writes, ['merge machineconfigurations cluster', 'status machineconfigurations cluster']);
  const mc = client.peek(MachineConfiguration, { name: 'cluster' });
  assert.equal(mc?.metadata.annotations?.[optedInAnnotation], '1970-01-01T00:00:00Z');
  assert.deepEqual(mc?.status?.managedBootImagesStatus?.machineManagers, managed('All'));
});

test('BI-V186 a missing MachineConfiguration is created, and nothing else happens in that pass', async () => {
  const { client, run } = half(undefined);
  await run();
  assert.deepEqual(client.writes, ['apply machineconfigurations cluster']);
  assert.deepEqual(client.peek(MachineConfiguration, { name: 'cluster' })?.spec, { managementState: 'Managed' });
});

test('BI-V187 observedGeneration follows when nothing else changes, and other fields of status stay', async () => {
  const { client, run } = half({
    metadata: { name: 'cluster', generation: 7 },
    spec: { managedBootImages: { machineManagers: managed('All') } },
    status: {
      observedGeneration: 6,
      conditions: [{ type: 'X', status: 'True' }],
      managedBootImagesStatus: { machineManagers: managed('All') },
    },
  });
  await run();
  const status = client.peek(MachineConfiguration, { name: 'cluster' })?.status;
  assert.deepEqual([status?.observedGeneration, status?.conditions?.length], [7, 1]);
  client.writes.length = 0;
  await run();
  assert.deepEqual(client.writes, []);
});
