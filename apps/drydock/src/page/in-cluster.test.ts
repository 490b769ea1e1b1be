import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type KubeClient } from '@drydock/kube';
import { settle, virtualClock } from '@drydock/kube/testing';
import { forwardedPage } from './forwarded-page.ts';
import { inClusterPage } from './in-cluster.ts';
import { pageTokens } from './page-token.ts';

const { signal } = new AbortController();
const config = { credentials: { get: async () => ({ authorization: 'Bearer 0wn' }), reject: () => false } };
const base = '/api/v1/namespaces/drydock/services/https:drydock-page:https/proxy';

/** What a cluster answers; undefined: the caller may not read it. */
interface Cluster {
  binding?: object;
  namespace?: object;
  audience?: string;
}

const binding = (uid: string | undefined, namespace = 'drydock'): object => ({
  metadata: { annotations: uid === undefined ? {} : { 'drydock.dev/namespace-uid': uid } },
  subjects: [{ kind: 'ServiceAccount', name: 'drydock', namespace }],
});

/** A page and the tokens that were sent to it. */
function rig(cluster: Cluster) {
  const sent: (string | undefined)[] = [];
  let requested = 0;
  const refuse = (path: string): never => {
    throw new ApiError({ code: 'Forbidden', action: path, said: 'no', status: 403 });
  };
  const raw: KubeClient['raw'] = async ({ path, headers }) => {
    if (path.startsWith(base)) {
      sent.push(headers?.['drydock-authorization']);
      return '{}';
    }
    if (path.endsWith('/clusterrolebindings/drydock-page')) return cluster.binding ?? refuse(path);
    if (path === '/api/v1/namespaces/drydock') return cluster.namespace ?? refuse(path);
    assert.equal(path, '/api/v1/namespaces/drydock/serviceaccounts/drydock-page-viewer/token');
    const { audience } = cluster;
    if (audience === undefined) return refuse(path);
    requested += 1;
    return { spec: { audiences: [audience] }, status: { token: `f0r-page-${requested}` } };
  };
  const client = { raw, rawStream: () => assert.fail() };
  return { cluster, sent, client, page: inClusterPage(client, config, 'drydock/drydock-page:https') };
}

test('FIND-4 the page is sent a token of its own audience, never the one of the caller', async () => {
  const { page, sent } = rig({ audience: 'drydock-page' });
  for (const path of ['/state', '/page.js']) await page.text(path, signal);
  assert.deepEqual(sent, ['Bearer f0r-page-1', 'Bearer f0r-page-1']);
});

test('FIND-4 a token of the page is renewed before it expires', async () => {
  const { client } = rig({ audience: 'drydock-page' });
  const clock = virtualClock();
  const tokens = pageTokens({ client, config, namespace: 'drydock', clock });
  const got: string[] = [];
  for (const ms of [0, 299_000, 2000]) {
    await clock.advance(ms);
    await settle();
    got.push(await tokens(signal));
  }
  assert.deepEqual(got, ['Bearer f0r-page-1', 'Bearer f0r-page-1', 'Bearer f0r-page-2']);
});

test('FIND-4 without such a token the own one is sent only to the namespace that the installation recorded', async () => {
  const namespace = { metadata: { uid: 'u1' } };
  const proven = rig({ binding: binding('u1'), namespace });
  await proven.page.text('/state', signal);
  assert.deepEqual(proven.sent, ['Bearer 0wn']);
  const cases: readonly (readonly [string, Cluster, RegExp])[] = [
    ['no right', {}, /ClusterRoleBinding drydock-page does not exist, or you may not get it/],
    ['no record', { binding: binding(undefined), namespace }, /has no annotation drydock\.dev\/namespace-uid/],
    ['no namespace', { binding: binding('u1') }, /namespace drydock does not exist, or you may not get it/],
    ['elsewhere', { binding: binding('u1', 'other'), namespace }, /names no ServiceAccount of namespace drydock/],
    ['recreated', { binding: binding('u0'), namespace }, /namespace drydock was recreated/],
    // A mutating webhook that widens the audience.
    ['widened', { audience: 'https://kubernetes.default.svc' }, /ClusterRoleBinding drydock-page does not exist/],
    [
      'going',
      { binding: binding('u1'), namespace: { metadata: { uid: 'u1', deletionTimestamp: 'now' } } },
      /namespace drydock is being deleted/,
    ],
  ];
  for (const [name, cluster, why] of cases) {
    const { page, sent } = rig(cluster);
    await assert.rejects(page.text('/state', signal), (error: Error) => {
      assert.match(error.message, why, name);
      // A namespace that is proven to be another one is not worth another way to it.
      const isProven = /names no ServiceAccount|was recreated|is being deleted/.test(error.message);
      const next = isProven ? /next: drydock page, which serves/ : /next: drydock page --port-forward/;
      assert.match(error.message, /No token was sent\. next: /, name);
      assert.match(error.message, next, name);
      return true;
    });
    await assert.rejects(page.events(undefined, signal), why, name);
    assert.deepEqual(sent, [], name);
  }
});

test('FIND-4 a namespace that is recreated while the page is open gets neither token', async () => {
  for (const audience of ['drydock-page', undefined]) {
    const { page, sent, cluster } = rig({
      ...{ binding: binding('u1'), namespace: { metadata: { uid: 'u1' } } },
      ...(audience === undefined ? {} : { audience }),
    });
    await page.text('/state', signal);
    cluster.namespace = { metadata: { uid: 'u2' } };
    await assert.rejects(page.text('/state', signal), /was recreated after the installation.*No token was sent/);
    assert.equal(sent.length, 1);
  }
});

test('FIND-4 no port is forwarded into a namespace that a tenant recreated', async () => {
  const { client, cluster } = rig({ binding: binding('u1'), namespace: { metadata: { uid: 'u1' } } });
  cluster.namespace = { metadata: { uid: 'u2' } };
  const forwarder = { connect: () => assert.fail('it was connected'), [Symbol.asyncDispose]: async () => undefined };
  const page = forwardedPage({ client, forwarder, namespace: 'drydock', port: 8444 });
  await assert.rejects(page.text('/', signal), /was recreated after the installation/);
  await assert.rejects(page.events(undefined, signal), /was recreated after the installation/);
});

test('FIND-4 a kubeconfig without a token is told of the way that needs none', async () => {
  const { client } = rig({ binding: binding('u1'), namespace: { metadata: { uid: 'u1' } } });
  const certificate = { credentials: { get: async () => ({ cert: 'x', key: 'y' }), reject: () => false } };
  await assert.rejects(
    inClusterPage(client, certificate, 'drydock/drydock-page:https').text('/state', signal),
    /this kubeconfig has none\. next: drydock page --port-forward/,
  );
});
