import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Namespace, Secret } from '@drydock/api';
import type { Resource } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { capiKind, capiObject } from '../testing/capi-world.ts';
import { type IdentitySources, identityOf, serverWithLogin } from './identity.ts';
import { type ClusterApiObject, INFRASTRUCTURE } from './kinds.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const identities: Resource<ClusterApiObject> = {
  ...capiKind('VSphereMachineTemplate'),
  ...{ kind: 'VSphereClusterIdentity', plural: 'vsphereclusteridentities', scope: 'Cluster' },
};

/** A cluster with the login of a tenant, one for another namespace, and a Secret that is nobody's login. Which Secrets were asked for is told. */
async function rig(): Promise<{ readonly sources: IdentitySources; readonly read: string[] }> {
  const cluster = memoryCluster({ resources: [identities] });
  const client = cluster.client();
  const secret = async (namespace: string, name: string): Promise<unknown> =>
    client.create(Secret, {
      metadata: { namespace, name },
      data: { username: base64(`${namespace}/${name}`), password: base64('p') },
    });
  for (const name of ['team-a', 'team-b', 'capv-system'])
    await client.create(Namespace, { metadata: { name, labels: { team: name } } });
  for (const [namespace, name] of [
    ['team-a', 'login'],
    ['capv-system', 'prod'],
    ['kube-system', 'root'],
  ] as const)
    await secret(namespace, name);
  for (const [name, team] of [
    ['prod', 'team-b'],
    ['shared', 'team-a'],
  ] as const)
    cluster.put(identities, { name }, {
      spec: { secretName: 'prod', allowedNamespaces: { selector: { matchLabels: { team } } } },
    } as never);
  const read: string[] = [];
  const served: IdentitySources['served'] = {
    of: (group, kind) => (group === INFRASTRUCTURE && kind === 'VSphereClusterIdentity' ? identities : undefined),
  };
  const watching: IdentitySources['client'] = {
    get: (resource, key, options) => {
      if (resource.kind === 'Secret') read.push(`${key.namespace}/${key.name}`);
      return client.get(resource, key, options);
    },
  };
  return { sources: { client: watching, served, providerNamespace: 'capv-system' }, read };
}

const provider = (kind: string, name: string) => ({
  ...capiObject('VSphereCluster', 'c1', { identityRef: { kind, name } }),
  metadata: { namespace: 'team-a', name: 'c1' },
});

test('a vCenter is spoken to with the login of the cluster, or the one that its namespace may use', async () => {
  const { sources, read } = await rig();
  for (const [server, kind, name, secret] of [
    ['vc1', 'Secret', 'login', 'team-a/login'],
    ['vc1.example.com:8443', 'Secret', 'login', 'team-a/login'],
    ['[fd00::1]:443', 'Secret', 'login', 'team-a/login'],
    ['vc1', 'VSphereClusterIdentity', 'shared', 'capv-system/prod'],
  ] as const) {
    const word = await serverWithLogin(server, provider(kind, name), sources);
    assert.equal((await identityOf(word, sources))?.user, secret);
    assert.equal(read.pop(), secret);
  }
  await assert.rejects(serverWithLogin('vc1', provider('VSphereClusterIdentity', 'prod'), sources), {
    message: 'vsphereclusteridentity prod does not allow namespace team-a, in which vspherecluster team-a/c1 is',
  });
});

test('SAFE-9 who writes the name of a vCenter, or of a login, chooses no login of others with it, and has none sent to a host of his', async () => {
  const { sources, read } = await rig();
  for (const server of [
    'evil.example#Secret/kube-system/root',
    'vc1#VSphereClusterIdentity/prod',
    'vc1#',
    'vc1/sdk?',
    'a:b@evil.example',
    '',
    'x'.repeat(300),
  ])
    await assert.rejects(
      serverWithLogin(server, provider('Secret', 'login'), sources).then((word) => identityOf(word, sources)),
      { code: 'CredentialsMissing', message: /is no host of a vCenter/ },
      server,
    );
  for (const name of ['login#Secret/kube-system/root', '../kube-system/root', 'a/b', 'Login'])
    await assert.rejects(
      serverWithLogin('vc1', provider('Secret', name), sources).then((word) => identityOf(word, sources)),
      { code: 'CredentialsMissing', message: /no name that a Secret can have/ },
      name,
    );
  await assert.rejects(identityOf('evil.example#Secret/kube-system/root#Secret/team-a/login', sources), {
    code: 'CredentialsMissing',
  });
  assert.deepEqual(read, []);
});
