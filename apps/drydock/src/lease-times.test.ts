import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type KubeClient } from '@drydock/kube';
import { UsageError } from './exit.ts';
import { type LeaseFlags, leaseTimes } from './lease-times.ts';

const refusal = (code: 'NotFound' | 'Forbidden' | 'Connection'): ApiError =>
  new ApiError({ code, action: 'get', said: code });

interface Cluster {
  readonly group?: 'served' | 'NotFound' | 'Connection';
  /** `controlPlaneTopology`, or why it cannot be read. */
  readonly topology?: string | ApiError;
}

async function times({ group = 'served', topology = 'HighlyAvailable' }: Cluster, flags: LeaseFlags = {}) {
  const warnings: string[] = [];
  const client = {
    raw: async () => {
      if (group !== 'served') throw refusal(group);
      return {};
    },
    get: async () => {
      if (topology instanceof ApiError) throw topology;
      return { metadata: { name: 'cluster' }, status: { controlPlaneTopology: topology } };
    },
  } as unknown as Pick<KubeClient, 'get' | 'raw'>;
  const warn = (_: unknown, text: string): void => void warnings.push(text);
  const { leaseDuration, renewDeadline, retryPeriod } = await leaseTimes(flags, client, { warn } as never);
  return { times: [leaseDuration, renewDeadline, retryPeriod].map((ms) => ms / 1_000).join('/'), warnings };
}

test('FIND-2: Leases last as the cluster needs it: plain Kubernetes, OpenShift, a control plane of one node', async () => {
  assert.deepEqual(await times({ group: 'NotFound' }), { times: '15/10/2', warnings: [] });
  assert.deepEqual(await times({}), { times: '137/107/26', warnings: [] });
  assert.deepEqual(await times({ topology: 'SingleReplica' }), { times: '270/240/60', warnings: [] });
  assert.deepEqual(await times({ topology: refusal('NotFound') }), { times: '137/107/26', warnings: [] });
});

test('FIND-2: what cannot be read is taken for OpenShift of several nodes, with a warning that names the flags', async () => {
  for (const cluster of [{ group: 'Connection' }, { topology: refusal('Forbidden') }] as const) {
    const found = await times(cluster);
    assert.equal(found.times, '137/107/26');
    assert.match(found.warnings.join(), /--lease-duration/);
  }
});

test('FIND-2: flags win one by one, and those that contradict each other are refused with all three', async () => {
  const plain = { group: 'NotFound' } as const;
  assert.equal((await times(plain, { leaseDuration: 60 })).times, '60/10/2');
  assert.equal((await times({}, { leaseDuration: 15, renewDeadline: 10, retryPeriod: 2 })).times, '15/10/2');
  for (const flags of [{ leaseDuration: 20 }, { renewDeadline: 137 }, { retryPeriod: 107 }])
    await assert.rejects(
      times({}, flags),
      (error) =>
        error instanceof UsageError &&
        /--lease-duration \d+ --renew-deadline \d+ --retry-period \d+: /.test(error.message),
    );
});
