import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, Deployment, Payload } from '@drydock/api';
import { memoryCluster } from '@drydock/kube/testing';
import type { ApplyPlan } from '@drydock/release';
import { standsAgainst } from './planned.ts';

const DIGEST = `sha256:${'1'.repeat(64)}`;
const { signal } = new AbortController();

test('beside a Payload that wants another release, or cluster-version-operator, a plan is not carried out; who wants that very release stands against nothing', async () => {
  const cluster = memoryCluster({ resources: [Payload, ClusterVersion] });
  await using client = cluster.client();
  const against = async (owner: string, image: string | undefined): Promise<string> => {
    const plan = { owner, version: '1.1.0' } as ApplyPlan;
    const found = await standsAgainst(plan, { image }, client, { signal });
    return found === undefined ? '' : `${found.why}. ${found.next}`;
  };
  assert.deepEqual([await against('Payload tools', DIGEST), await against('tools', undefined)], ['', '']);
  await client.create(Payload, {
    metadata: { name: 'tools' },
    spec: { image: `registry.example.com/tools@${DIGEST}`, serviceAccount: { namespace: 'drydock', name: 'payloads' } },
  });
  assert.equal(await against('Payload tools', DIGEST), '');
  for (const other of [undefined, `sha256:${'2'.repeat(64)}`])
    assert.equal(
      await against('Payload tools', other),
      `Payload tools wants registry.example.com/tools@${DIGEST}, which whoever leads releases would bring again. kubectl edit payloads.drydock.dev tools`,
    );
  await client.create(ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: '1', desiredUpdate: { version: '1.1.0' } },
  });
  assert.equal(await against('ClusterVersion version', undefined), '');
  const manager = { namespace: 'openshift-cluster-version', name: 'cluster-version-operator' };
  cluster.put(Deployment, manager, { metadata: manager });
  assert.match(
    await against('ClusterVersion version', DIGEST),
    /has a manager: .*Deployment .* manages it\. oc adm upgrade --to 1\.1\.0/,
  );
});
