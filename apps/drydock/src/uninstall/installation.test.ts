import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type Client, type KubeObject } from '@drydock/kube';
import { installationIn } from './installation.ts';
import { leftoversOf } from './leftovers.ts';

test('OWN-18 canaries of Cluster API are ours to take off in every namespace, in the version of the contract that is there; machines that a set has taken are not', async () => {
  const group = '0123456789ab';
  const labels = { 'drydock.dev/canary': group, 'app.kubernetes.io/managed-by': 'drydock' };
  const machine = (name: string, more: object = {}): KubeObject => ({
    metadata: { namespace: 'team-a', name, uid: name, labels, ...more },
  });
  const owner = { apiVersion: 'v1', kind: 'MachineSet', name: 's', uid: 's', controller: true };
  const there = [
    machine(`drydock-canary-${group}`, { ownerReferences: [{ ...owner, kind: 'Cluster', controller: false }] }),
    machine('drydock-canary-ba9876543210'),
    machine('drydock-canary-of-mine'),
  ];
  const taken = machine(`drydock-canary-${group}`, { namespace: 'team-b', ownerReferences: [owner] });
  for (const served of ['v1beta2', 'v1beta1']) {
    const client = {
      get: async () => {
        throw new ApiError({ code: 'NotFound', action: 'get', said: 'there is none' });
      },
      list: async function* (resource: { readonly group: string; readonly version: string; readonly kind: string }) {
        if (resource.group !== 'cluster.x-k8s.io') return;
        if (resource.version !== served)
          throw new ApiError({ code: 'NotFound', action: 'list', said: 'it is not served' });
        yield* [...there, taken];
      },
    } as unknown as Pick<Client, 'list' | 'get'>;
    const { signal } = new AbortController();
    const { canaries } = await installationIn(client, { leaseNamespace: 'drydock', signal });
    assert.deepEqual(
      canaries.map(({ resource, key, uid }) => [resource.version, key.namespace, key.name, uid]),
      [[served, 'team-a', `drydock-canary-${group}`, `drydock-canary-${group}`]],
    );
  }
});

test('OWN-18 the ownership ledger stays, and is named; the other ConfigMaps of the operator go', async () => {
  const metadata = (name: string) => ({ namespace: 'drydock', name, uid: name });
  const client = {
    get: async () => {
      throw new ApiError({ code: 'NotFound', action: 'get', said: 'there is none' });
    },
    list: async function* ({ kind }: { readonly kind: string }, where: { readonly namespace?: string }) {
      if (kind !== 'ConfigMap' || where.namespace !== 'drydock') return;
      for (const name of ['drydock-ownership-0', 'drydock-ownership-3', 'drydock-logins'])
        yield { metadata: metadata(name) };
    },
  } as unknown as Pick<Client, 'list' | 'get'>;
  const { signal } = new AbortController();
  const installation = await installationIn(client, { leaseNamespace: 'drydock', signal });
  assert.deepEqual(
    installation.records.map(({ key }) => key.name),
    ['drydock-logins'],
  );
  const images = { world: { infrastructure: () => undefined } } as unknown as Parameters<typeof leftoversOf>[1];
  const stays = await leftoversOf(installation, images, signal);
  assert.ok(
    stays.includes(
      'ConfigMaps drydock/drydock-ownership-0, drydock/drydock-ownership-3: they record which templates Drydock owns, and the next installation needs them',
    ),
    stays.join('\n'),
  );
});
