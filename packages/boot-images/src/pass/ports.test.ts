import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '@drydock/kube';
import { Registry } from 'prom-client';
import { bootImageMetrics } from '../metrics.ts';
import { fakeClient } from '../testing/fake-client.ts';
import { machineSet } from '../testing/fake-cluster.ts';
import { createPassPorts } from './ports.ts';

test('a status that the schema refuses is counted; another failure is not', async () => {
  const registry = new Registry();
  const client = fakeClient();
  const none = { get: () => undefined, all: () => [], subscribe: () => ({ [Symbol.dispose]: () => undefined }) };
  const ports = createPassPorts({
    client,
    caches: {
      bootImages: none,
      machineSets: none,
      policies: none,
      machineConfigurations: none,
      infrastructures: none,
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
