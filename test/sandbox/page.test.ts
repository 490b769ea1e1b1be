import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, type RequestOptions, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import {
  BootImage,
  bootImageName,
  type BootImage as Image,
  Lease,
  MachineConfiguration,
  MachineSet,
} from '@drydock/api';
import {
  type ClusterConfig,
  createClient,
  type KubeClient,
  loadKubeconfig,
  portForwarder,
  statusWriter,
  systemClock,
} from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { type PageState, relayPage } from '@drydock/page';
import { createAuthority, type Sandbox, startSandbox, withoutRealServers } from '@drydock/sandbox';
import { forwardedPage } from '../../apps/drydock/src/page/forwarded-page.ts';
import { inClusterPage } from '../../apps/drydock/src/page/in-cluster.ts';
import { checkOperatorPage, operatorPage } from '../../apps/drydock/src/page/operator-page.ts';
import { startFakeKubelet } from './support/fake-kubelet.ts';
import { apply, manifestsOf } from './support/rbac-manifests.ts';
import { createCluster, machineApi, machineSet, oldRelease, serverName } from './support/voyage-cluster.ts';

const root = resolve(import.meta.dirname, '../..');
const leaseNamespace = 'openshift-machine-config-operator';
/** An address at which the API server may reach this machine: none of the loopback. */
const reachable = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const host = reachable ?? '127.0.0.1';
const authority = createAuthority('page');

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let client: KubeClient;
let served: { readonly url: string; readonly forwardUrl: string | undefined };
const warnings: string[] = [];

/** Who a ServiceAccount is to the API server. */
async function as(account: string, namespace = 'drydock'): Promise<ClusterConfig & { readonly token: string }> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const { status } = (await client.raw({ method: 'POST', path, body })) as {
    readonly status: { readonly token: string };
  };
  const { token } = status;
  const { server, ca, ...rest } = await loadKubeconfig({ kubeconfig: sandbox.kubeconfig });
  const credentials = { get: async () => ({ authorization: `Bearer ${token}` }), reject: () => false };
  return { ...rest, server, ...(ca === undefined ? {} : { ca }), credentials, token };
}

before(async () => {
  sandbox = stack.use(await startSandbox({ crds: ['openshift', resolve(root, 'api/crds')] }));
  client = stack.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  await createCluster(
    client,
    { user: 'u', password: 'p' },
    { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) },
  );
  const machineManagers = [{ resource: 'machinesets', apiGroup: 'machine.openshift.io', selection: { mode: 'All' } }];
  await statusWriter({ client, resource: MachineConfiguration }).write(
    { name: 'cluster' },
    () => ({ observedGeneration: 1, managedBootImagesStatus: { machineManagers } }) as never,
  );
  await client.create(MachineSet, machineSet({ name: 'worker', folder: '/DC0/vm/harbour' }));
  const key = { namespace: machineApi, name: bootImageName('ms', 'worker') };
  const of = { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name: 'worker' };
  await client.create(BootImage, { metadata: key, spec: { machineSet: of } } as Image);
  for (const role of ['boot-images', 'watch', 'release'])
    await client.create(Lease, { metadata: { namespace: leaseNamespace, name: `drydock-${role}` }, spec: {} });

  await apply(client, manifestsOf('page'));
  for (const name of ['drydock-boot-images', 'looker', 'stranger', 'forwarder'])
    await client.raw({
      method: 'POST',
      path: '/api/v1/namespaces/drydock/serviceaccounts',
      body: { metadata: { name } },
    });
  const rbac = 'rbac.authorization.k8s.io';
  await client.raw({
    method: 'POST',
    path: `/apis/${rbac}/v1/clusterrolebindings`,
    body: {
      metadata: { name: 'lookers' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'drydock-page-viewer' },
      subjects: [{ kind: 'ServiceAccount', name: 'looker', namespace: 'drydock' }],
    },
  });
  const { certificate, privateKey: pem } = authority.issueServer([host, 'localhost']);
  const [pageTlsCert, pageTlsKey] = [join(sandbox.directory, 'page.crt'), join(sandbox.directory, 'page.key')];
  await Promise.all([writeFile(pageTlsCert, certificate), writeFile(pageTlsKey, pem)]);
  const tls = { pageTlsCert, pageTlsKey };
  const flags = { page: true, pagePort: 0, pageBindAddress: host, ...tls, pageForwardPort: 0, leaseNamespace };
  await checkOperatorPage(flags);
  served = stack.use(
    await operatorPage({
      ...{ flags, client: stack.use(createClient(await as('drydock-boot-images'))), clock: systemClock },
      log: { info: () => undefined, warn: (_fields: unknown, message?: string) => void warnings.push(String(message)) },
    }),
  );
});
after(() => stack.disposeAsync());

async function ask(
  path: string,
  headers: RequestOptions['headers'] = {},
): Promise<{ readonly code: number; readonly body: string }> {
  await using agents = new AsyncDisposableStack();
  const agent = agents.adopt(new Agent({ ca: authority.certificate }), (one) => one.destroy());
  const made = request(new URL(path, served.url), { headers, agent });
  made.end();
  const response = await new Promise<import('node:http').IncomingMessage>((found, failed) => {
    made.on('response', found);
    made.on('error', failed);
  });
  return { code: response.statusCode ?? 0, body: await text(response) };
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** The command line without a kubeconfig, in the name of whoever has this token. */
async function drydockAs(token: string, ...args: readonly string[]) {
  const { server, ca } = await loadKubeconfig({ kubeconfig: sandbox.kubeconfig });
  const authority = join(sandbox.directory, 'api-ca.crt');
  await writeFile(authority, ca ?? assert.fail('no authority'));
  const to = ['--server', server, '--certificate-authority', authority, '--token', token];
  const program = join(root, 'apps/drydock/bin/drydock.js');
  const env = { PATH: process.env['PATH'], HOME: sandbox.directory, KUBECONFIG: join(sandbox.directory, 'none') };
  const child = spawn(process.execPath, [program, ...args, ...to], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number, out, errors };
}

test('OWN-20 --token is who asks: the server answers whom it knows, and says whom it does not let read; no token is repeated', async () => {
  const [reader, stranger] = [await as('drydock-boot-images'), await as('stranger')];
  const seen = await drydockAs(reader.token, 'status', '-o', 'json');
  assert.match(seen.out, /"ms\/worker"/, seen.errors);
  const refused = await drydockAs(stranger.token, 'status');
  assert.equal(refused.code, 1);
  assert.match(refused.errors, /system:serviceaccount:drydock:stranger/);
  const unknown = await drydockAs('no-such-token', 'status');
  assert.equal(unknown.code, 1);
  assert.match(unknown.errors, /Unauthorized/i);
  for (const { out, errors } of [seen, refused, unknown])
    for (const secret of [reader.token, stranger.token, 'no-such-token'])
      assert.ok(!`${out}${errors}`.includes(secret));
});

test('FIND-16: status --check says what the headline of the page says, and exits by it', async () => {
  const [looker, reader] = [await as('looker'), await as('drydock-boot-images')];
  const { head } = JSON.parse((await ask('/state', bearer(looker.token))).body) as PageState;
  const { code, errors } = await drydockAs(reader.token, 'status', '--check');
  assert.deepEqual([head.text, code], ['Unknown for 1', 5]);
  assert.match(errors, /^Can I scale now\? Unknown for 1\nunknown: .*\n {2}next: drydock operator\n/m);
});

test('in a cluster the page is for those whose token the cluster knows and who may get bootimages, and its own rights are enough', async () => {
  assert.match(served.url, /^https:/);
  for (const headers of [
    {},
    bearer('x'),
    bearer('a'.repeat(13_000)),
    { authorization: 'Basic dTpw' },
    { cookie: 'token=x' },
  ])
    for (const path of ['/', '/state', '/events'])
      assert.equal((await ask(path, headers)).code, 401, JSON.stringify(headers).slice(0, 60));
  const stranger = await ask('/state', bearer((await as('stranger')).token));
  assert.equal(stranger.code, 403);
  assert.match(stranger.body, /system:serviceaccount:drydock:stranger may not get bootimages/);
  const { code, body } = await ask('/state', bearer((await as('looker')).token));
  assert.equal(code, 200, body);
  const { sections } = JSON.parse(body) as PageState;
  assert.deepEqual(sections.notes, [], 'nothing that it may not read');
  assert.deepEqual(
    sections.sets.map(({ set, phase }) => `${set} ${phase}`),
    ['ms/worker Pending'],
  );
  assert.deepEqual(
    sections.answers.map(({ region, answer }) => `${region} ${answer}`),
    [`${serverName} unknown`],
  );
  assert.deepEqual(warnings, []);
});

test('tokens do not go over a network in the clear', async () => {
  const flags = { page: true, pagePort: 0, pageBindAddress: '*' };
  await assert.rejects(checkOperatorPage(flags), /in the clear/);
  await assert.rejects(checkOperatorPage({ ...flags, pageTlsCert: 'x' }), /together/);
  await checkOperatorPage({ ...flags, pageBindAddress: '127.0.0.1' });
});

const needsAddress = { skip: reachable === undefined && 'this machine has no address but its own' };
const pods = '/api/v1/namespaces/drydock/pods';
const post = (path: string, body: object): Promise<unknown> => client.raw({ method: 'POST', path, body });

/** A Service `drydock-page` in namespace drydock, with a pod that has this machine's address, because the API server connects to no address that is not a pod's. */
async function pageService(port: number): Promise<void> {
  const metadata = { name: 'drydock-page', labels: { 'app.kubernetes.io/name': 'drydock' } };
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  await post('/api/v1/namespaces/drydock/services', {
    metadata,
    spec: { ports: [{ name: 'https', port: 443, targetPort: port, protocol: 'TCP' }] },
  });
  const containers = [{ name: 'page', image: 'page' }];
  await post(pods, { metadata, spec: { serviceAccountName: 'drydock-boot-images', nodeName: 'here', containers } });
  const conditions = [{ type: 'Ready', status: 'True' }];
  await client.raw({
    ...{ method: 'PATCH', path: `${pods}/drydock-page/status`, contentType: 'application/merge-patch+json' },
    body: { status: { phase: 'Running', podIP: host, podIPs: [{ ip: host }], conditions } },
  });
  const targetRef = { kind: 'Pod', namespace: 'drydock', name: 'drydock-page' };
  const subsets = [{ addresses: [{ ip: host, targetRef }], ports }];
  await post('/api/v1/namespaces/drydock/endpoints', { metadata, subsets });
}

async function laptop(config: ClusterConfig): Promise<{ readonly url: string }> {
  const remote = inClusterPage(stack.use(createClient(config)), config, 'drydock/drydock-page:https');
  return stack.use(await relayPage(remote, { host: '127.0.0.1', port: 0 }));
}

/** The state, once the API server has heard of the endpoints, which it does by a watch of its own. */
const reached = (url: string): Promise<PageState> =>
  until('the API server knows where the page is', async () => {
    const answer = await fetch(new URL('/state', url));
    const said = await answer.text();
    if (answer.status === 200) return JSON.parse(said) as PageState;
    assert.match(said, /no endpoints available/);
    return undefined;
  });

test('a laptop reaches that page through the API server, with a token for the page', needsAddress, async () => {
  await pageService(Number(new URL(served.url).port));
  const { url } = await laptop(await as('looker'));
  const state = await reached(url);
  assert.equal(state.sections.sets.length, 1);
  assert.match(await (await fetch(url)).text(), /<div id="page">/);
  const stop = new AbortController();
  const events = await fetch(new URL('/events', url), { signal: stop.signal });
  const reader = (events.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  while (!heard.includes('event: state')) heard += (await reader.read()).value ?? assert.fail(heard);
  stop.abort();
  const refused = await fetch(new URL('/state', (await laptop(await as('stranger'))).url));
  assert.equal(refused.status, 502);
  assert.match(await refused.text(), /No token was sent\. next: drydock page --port-forward/);
});

test('FIND-4 a token for the page is worthless at the API server, and one of another audience at the page', async () => {
  const path = '/api/v1/namespaces/drydock/serviceaccounts/drydock-page-viewer/token';
  const tokenFor = async (audience: string): Promise<string> => {
    const { status } = (await post(path, { spec: { audiences: [audience] } })) as {
      readonly status: { readonly token: string };
    };
    return status.token;
  };
  const forPage = await tokenFor('drydock-page');
  assert.equal((await ask('/state', bearer(forPage))).code, 200);
  const { code, errors } = await drydockAs(forPage, 'status');
  assert.deepEqual([code, /Unauthorized/i.test(errors)], [1, true], errors);
  assert.equal((await ask('/state', bearer(await tokenFor('vault')))).code, 401);
});

test('FIND-4 drydock page --port-forward reaches the page without a token, for those who may forward ports of its pod', {
  skip: needsAddress.skip || withoutRealServers('the embedded API server forwards no ports'),
}, async () => {
  const { certificate, privateKey } = authority.issueServer([host]);
  const kubelet = stack.use(await startFakeKubelet(host, { cert: certificate, key: privateKey }));
  await post('/api/v1/nodes', { metadata: { name: 'here' } });
  await client.raw({
    ...{ method: 'PATCH', path: '/api/v1/nodes/here/status', contentType: 'application/merge-patch+json' },
    body: {
      status: {
        addresses: [{ type: 'InternalIP', address: host }],
        daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
      },
    },
  });
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/drydock';
  await post(`${rbac}/roles`, {
    metadata: { name: 'forwarder' },
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] },
    ],
  });
  await post(`${rbac}/rolebindings`, {
    metadata: { name: 'forwarder' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'forwarder' },
    subjects: [{ kind: 'ServiceAccount', name: 'forwarder', namespace: 'drydock' }],
  });
  await post(`${rbac}/roles`, {
    metadata: { name: 'lister' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
  });
  await post(`${rbac}/rolebindings`, {
    metadata: { name: 'lister' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lister' },
    subjects: [{ kind: 'ServiceAccount', name: 'stranger', namespace: 'drydock' }],
  });
  const port = Number(new URL(served.forwardUrl ?? assert.fail('not served')).port);
  const pageOf = async (account: string) => {
    const config = await as(account);
    const forwarder = stack.use(portForwarder(config));
    return forwardedPage({ client: stack.use(createClient(config)), forwarder, namespace: 'drydock', port });
  };
  const remote = await pageOf('forwarder');
  const { url } = stack.use(await relayPage(remote, { host: '127.0.0.1', port: 0 }));
  const state = JSON.parse(await (await fetch(new URL('/state', url))).text()) as PageState;
  assert.equal(state.sections.sets.length, 1);
  assert.match(await (await fetch(url)).text(), /<div id="page">/);
  const stop = new AbortController();
  const events = await fetch(new URL('/events', url), { signal: stop.signal });
  const reader = (events.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  while (!heard.includes('event: state')) heard += (await reader.read()).value ?? assert.fail(heard);
  stop.abort();
  assert.ok(kubelet.heard.length >= 3);
  assert.doesNotMatch(kubelet.heard.join('\n'), /bearer|drydock-authorization/i);
  const never = new AbortController().signal;
  await assert.rejects((await pageOf('looker')).text('/state', never), /cannot list resource "pods"/);
  await assert.rejects((await pageOf('stranger')).text('/state', never), /cannot get resource "pods\/portforward"/);
});

/** What a namespace controller does: removes everything in namespace drydock, and then the namespace. */
async function removeNamespace(): Promise<void> {
  const { resources } = (await client.raw({ path: '/api/v1' })) as {
    readonly resources: readonly { readonly name: string; readonly namespaced: boolean; readonly verbs: string[] }[];
  };
  await client.raw({ method: 'DELETE', path: '/api/v1/namespaces/drydock' });
  for (const { name } of resources.filter(
    ({ namespaced, verbs, name: one }) => namespaced && verbs.includes('deletecollection') && one !== 'pods',
  ))
    await client.raw({ method: 'DELETE', path: `/api/v1/namespaces/drydock/${name}` });
  await client.raw({ method: 'DELETE', path: `${pods}/drydock-page`, body: { gracePeriodSeconds: 0 } });
  const path = '/api/v1/namespaces/drydock/finalize';
  await client.raw({
    ...{ method: 'PUT', path },
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'drydock' }, spec: { finalizers: [] } },
  });
}

// The last one: nothing of namespace drydock is left.
test(
  'FIND-4 a tenant who deletes and recreates the namespace gets no token that is good for anything',
  needsAddress,
  async () => {
    const uid = async (): Promise<string> =>
      ((await client.raw({ path: '/api/v1/namespaces/drydock' })) as { readonly metadata: { readonly uid: string } })
        .metadata.uid;
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
    const record = async (): Promise<unknown> =>
      client.raw({
        ...{ method: 'PATCH', path: `${bindings}/drydock-page`, contentType: 'application/merge-patch+json' },
        body: { metadata: { annotations: { 'drydock.dev/namespace-uid': await uid() } } },
      });
    // An administrator of the cluster, whose own token is the prize; and somebody who may read neither the namespace nor the binding.
    for (const [name, role] of [
      ['administrator', 'cluster-admin'],
      ['blind', 'blind'],
    ]) {
      await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
      await post(bindings, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
      });
    }
    await post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: 'blind' },
      rules: [
        { apiGroups: [''], resources: ['services/proxy'], verbs: ['get'] },
        { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
      ],
    });
    await record();
    const administrator = await as('administrator', 'default');
    const { url } = await laptop(administrator);
    await reached(url);

    await removeNamespace();
    await post('/api/v1/namespaces', { metadata: { name: 'drydock' } });
    const { certificate, privateKey } = authority.issueServer([host]);
    const stolen: string[] = [];
    const trap = createServer({ cert: certificate, key: privateKey }, ({ headers }, response) => {
      stolen.push(String(headers['drydock-authorization'] ?? headers.authorization ?? 'none'));
      response.end('{}');
    });
    stack.defer(() => void trap.close());
    stack.defer(() => trap.closeAllConnections());
    await new Promise<void>((resolve) => trap.listen({ host, port: 0 }, resolve));
    await post('/api/v1/namespaces/drydock/serviceaccounts', { metadata: { name: 'drydock-boot-images' } });
    await pageService((trap.address() as AddressInfo).port);
    const answer = async (to: string): Promise<string> => (await fetch(new URL('/state', to))).text();
    // Both the page that was open and one that is opened now.
    for (const to of [url, (await laptop(administrator)).url])
      assert.match(await answer(to), /namespace drydock was recreated.*No token was sent/);
    const command = await drydockAs(administrator.token, 'page', '--in-cluster', '--port', '0');
    assert.deepEqual([command.code, command.out], [1, '']);
    assert.match(command.errors, /No token was sent\. next: drydock page, which serves/);
    // As the tenant would have it: with an account that everybody may have tokens of.
    await post('/api/v1/namespaces/drydock/serviceaccounts', { metadata: { name: 'drydock-page-viewer' } });
    assert.match(await answer((await laptop(administrator)).url), /namespace drydock was recreated.*No token was sent/);
    assert.deepEqual(stolen, []);
    // Who sees nothing of this sends a token that is for the page alone.
    const blind = (await laptop(await as('blind', 'default'))).url;
    await until('the trap is reached', async () => (await fetch(new URL('/state', blind))).status === 200 || undefined);
    const [token = ''] = stolen;
    assert.match(token, /^Bearer /);
    const { code, errors } = await drydockAs(token.replace('Bearer ', ''), 'status');
    assert.deepEqual([code, /Unauthorized/i.test(errors)], [1, true], errors);
  },
);
