import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOf, keyText } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { capiObject, templateRef } from '../testing/capi-world.ts';
import { serverOf } from './identity.ts';
import type { ClusterApiObject } from './kinds.ts';
import { siteReader } from './sites.ts';

test('SAFE-9 a tenant whose cluster names no login that there is keeps nobody from looking at the places of others', async () => {
  const named = (kind: string, spec: object): ClusterApiObject => ({
    ...capiObject('Cluster', 'z', spec as never),
    kind,
    metadata: { name: 'z' },
  });
  const cluster = (name: string, identityRef: object): readonly ClusterApiObject[] => [
    capiObject('Cluster', name, { infrastructureRef: templateRef(name, 'VSphereCluster') }),
    capiObject('VSphereCluster', name, { server: 'vc1', identityRef } as never),
  ];
  const placementConstraint = { resourcePool: 'pool', folder: '/dc1/vm/images' };
  const topology = { datacenter: 'dc1', computeCluster: 'cl', datastore: 'ds', networks: ['net'] };
  const there = [
    named('VSphereDeploymentZone', { server: 'vc1', failureDomain: 'z', placementConstraint }),
    named('VSphereFailureDomain', { topology }),
    ...cluster('bad', {}),
    ...cluster('worse', { kind: 'Secret', name: 'a#Secret/kube-system/root' }),
    ...cluster('good', { kind: 'Secret', name: 'login' }),
  ];
  const sites = siteReader({
    cacheOf: (_group, kind) => {
      const all = there.filter((one) => one.kind === kind);
      return { all: () => all.values(), get: (key) => all.find((one) => keyText(keyOf(one)) === keyText(key)) };
    },
    identities: { client: memoryCluster().client(), served: { of: () => undefined }, providerNamespace: 'capv-system' },
  });
  const faults: string[] = [];
  const places = await sites.all(({ message }) => faults.push(message));
  assert.deepEqual(
    places.map(({ server, folder }) => [server, serverOf(server), folder]),
    [['vc1#Secret/ns/login', 'vc1', '/dc1/vm/images']],
  );
  assert.deepEqual(faults, [
    'vspherecluster ns/bad has no identityRef',
    'the identityRef of vspherecluster ns/worse has a name that is no name that a Secret can have',
  ]);
  assert.equal((await sites.known()).length, 1);
});
