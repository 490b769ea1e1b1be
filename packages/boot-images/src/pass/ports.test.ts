import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage } from '@drydock/api';
import { ApiError, keyOf } from '@drydock/kube';
import { Registry } from 'prom-client';
import { bootImageMetrics } from '../metrics.ts';
import { imageOf } from '../status/boot-image-store.ts';
import type { SetOutcome } from '../status/subject.ts';
import { type FakeClient, fakeClient } from '../testing/fake-client.ts';
import { machineSet } from '../testing/fake-cluster.ts';
import { createPassPorts } from './ports.ts';

/** Ports of a process on a cluster in memory, whose caches have seen nothing yet. */
function portsOn(
  client: FakeClient,
  options: { readonly registry?: Registry; readonly fence?: () => void } = {},
): ReturnType<typeof createPassPorts> {
  const none = { get: () => undefined, all: () => [], subscribe: () => ({ [Symbol.dispose]: () => undefined }) };
  const { registry = new Registry(), fence = () => undefined } = options;
  return createPassPorts({
    ...{ client, fence },
    caches: {
      bootImages: none,
      machineSets: none,
      policies: none,
      machineConfigurations: none,
      infrastructures: none,
      clusterVersions: none,
      upstream: none,
    } as never,
    platforms: new Map(),
    events: { record: () => undefined },
    metrics: bootImageMetrics(registry),
    log: { info: () => undefined, warn: () => undefined } as never,
    now: () => new Date(0),
    architecture: 'x86_64',
    settings: {},
    canaryMissing: () => undefined,
    gates: () => ({ cpms: true, skew: true }),
  });
}

/** What is said of a set before its import begins. */
const announced = (holder: string): SetOutcome => ({
  ...{ kind: 'step', phase: 'Uploading' },
  operation: { id: '0123abcd', name: 'template', holder, instanceUuid: 'u-1' },
});

const operationOf = (client: FakeClient) =>
  client.peek(BootImage, keyOf(imageOf(machineSet('wk-a'))))?.status?.operation;

for (const moment of ['create bootimages', 'status bootimages']) {
  test(`KEEP-8b an answer to "${moment}" that comes after the Lease was lost: the process writes nothing more over what the new holder says`, async () => {
    const client = fakeClient();
    let held = true;
    const ports = portsOn(client, {
      fence: () => {
        if (!held) throw new Error('the lease is not held');
      },
    });
    const next = portsOn({ ...client, ...client.cluster.client() });
    let told: Promise<void> | undefined;
    const plain = client.cluster.onCall;
    client.cluster.onCall = async (call, phase, context) => {
      await plain?.(call, phase, context);
      const is = `${call.verb === 'replaceStatus' ? 'status' : call.verb} ${call.resource.split('.')[0]}`;
      if (is !== moment || phase !== 'before' || !held) return;
      held = false;
      // The next holder says what it does, while the request of this one is on its way.
      told ??= next.report(machineSet('wk-a'), announced('the next holder'));
      await told;
    };
    await assert.rejects(ports.report(machineSet('wk-a'), announced('this one')), /the lease is not held/);
    assert.equal(operationOf(client)?.holder, 'the next holder');
    const { length } = client.writes;
    await assert.rejects(ports.report(machineSet('wk-a'), announced('this one')), /the lease is not held/);
    await assert.rejects(ports.client.delete(BootImage, keyOf(imageOf(machineSet('wk-a')))), /the lease is not held/);
    assert.equal(client.writes.length, length);
    assert.equal(operationOf(client)?.holder, 'the next holder');
  });
}

test('a status that the schema refuses is counted; another failure is not', async () => {
  const registry = new Registry();
  const client = fakeClient();
  const ports = portsOn(client, { registry });
  const report = (code: ApiError['code']): Promise<void> => {
    client.refuse = (write) =>
      write.startsWith('status ') ? new ApiError({ code, action: write, said: 'no' }) : undefined;
    return ports.report(machineSet('wk-a'), { kind: 'current', current: 'R' });
  };
  const rejected = async (): Promise<string | undefined> =>
    (await registry.metrics()).split('\n').find((line) => /^drydock_bootimage_status_write_rejected_total /.test(line));
  await assert.rejects(report('Forbidden'));
  assert.match((await rejected()) ?? '', / 0$/);
  await assert.rejects(report('Invalid'));
  assert.match((await rejected()) ?? '', / 1$/);
});
