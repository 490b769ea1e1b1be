import assert from 'node:assert/strict';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigMap, Lease, Namespace } from '@drydock/api';
import type { KubeClient } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import type { AccessQuestion } from '../access-review.ts';
import { stageLedger } from './stage-ledger.ts';

const leaseNamespace = 'openshift-machine-config-operator';

/** Records one template; what the user was warned of, and the ConfigMaps that hold the record. */
async function recorded(
  namespaces: readonly string[],
  may: (question: AccessQuestion) => boolean = () => true,
  leadsIn?: string,
) {
  await using scratch = await mkdtempDisposable(join(tmpdir(), 'drydock-'));
  const cluster = memoryCluster({ namespaces });
  for (const name of namespaces) cluster.put(Namespace, { name }, { metadata: { name } });
  const lease = { holderIdentity: 'operator', renewTime: new Date().toISOString(), leaseDurationSeconds: 15 };
  if (leadsIn !== undefined)
    cluster.put(Lease, { namespace: leadsIn, name: 'drydock-boot-images' }, { spec: lease } as Partial<Lease>);
  const raw = async ({ body }: { readonly body?: unknown }): Promise<unknown> => {
    const { spec } = body as { readonly spec: { readonly resourceAttributes: AccessQuestion } };
    return { status: { allowed: may(spec.resourceAttributes) } };
  };
  const client = { ...cluster.client(), raw } as KubeClient;
  const warnings: string[] = [];
  const ledger = await stageLedger(client, {
    ...{ leaseNamespace, stateDir: scratch.path, signal: new AbortController().signal },
    warn: (message) => warnings.push(message.replace(scratch.path, 'STATE')),
  });
  await ledger.change('a', () => 'mine');
  assert.equal((await ledger.read()).get('a'), 'mine');
  const maps = cluster.list(ConfigMap).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return { kind: ledger.kind, warnings, maps };
}

test('what is staged is recorded in the cluster, beside the Lease of the operator that leads', async () => {
  const { kind, warnings, maps } = await recorded([leaseNamespace]);
  assert.deepEqual([kind, warnings, maps.length], ['cluster', [], 1]);
  assert.match(maps[0] ?? '', /^openshift-machine-config-operator\/drydock-ownership-[0-3]$/);
  const elsewhere = await recorded([leaseNamespace, 'drydock'], () => true, 'drydock');
  assert.deepEqual([elsewhere.kind, elsewhere.warnings, elsewhere.maps.length], ['cluster', [], 1]);
  assert.match(elsewhere.maps[0] ?? '', /^drydock\/drydock-ownership-[0-3]$/);
});

test('a user who may not write the ledger of the cluster is warned, and records on this machine', async () => {
  const told = 'so STATE/ownership.json records what is imported, and the operator knows it by the mark key alone';
  for (const [may, why] of [
    [({ verb }) => verb !== 'create', 'you may not create configmaps'],
    [
      ({ verb, name }) => !(verb === 'update' && name === 'drydock-ownership-3'),
      'you may not update configmaps drydock-ownership-3',
    ],
  ] as readonly (readonly [(question: AccessQuestion) => boolean, string])[])
    assert.deepEqual(await recorded([leaseNamespace], may), {
      ...{ kind: 'file', maps: [] },
      warnings: [`${why} in ${leaseNamespace}, ${told}`],
    });
  assert.deepEqual(await recorded([]), {
    ...{ kind: 'file', maps: [] },
    warnings: [`there is no namespace ${leaseNamespace} (--lease-namespace), ${told}`],
  });
});
