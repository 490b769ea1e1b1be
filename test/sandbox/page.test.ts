import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, type RequestOptions, request } from 'node:https';
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
  statusWriter,
  systemClock,
} from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { type PageState, relayPage } from '@drydock/page';
import { createAuthority, type Sandbox, startSandbox } from '@drydock/sandbox';
import { inClusterPage } from '../../apps/drydock/src/page/in-cluster.ts';
import { checkOperatorPage, operatorPage } from '../../apps/drydock/src/page/operator-page.ts';
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
let served: { readonly url: string };
const warnings: string[] = [];

/** Who a ServiceAccount is to the API server. */
async function as(account: string): Promise<ClusterConfig & { readonly token: string }> {
  const path = `/api/v1/namespaces/drydock/serviceaccounts/${account}/token`;
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
  for (const name of ['drydock-boot-images', 'looker', 'stranger'])
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
  const flags = { page: true, pagePort: 0, pageBindAddress: host, pageTlsCert, pageTlsKey, leaseNamespace };
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
  const { server, ca } = await as('looker');
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

test('a laptop reaches that page through the API server, with the token of its kubeconfig and nothing else of it', {
  skip: reachable === undefined && 'this machine has no address but its own',
}, async () => {
  const { port } = new URL(served.url);
  const metadata = { name: 'drydock-page' };
  const ports = [{ name: 'https', port: Number(port), protocol: 'TCP' }];
  const post = (path: string, body: object): Promise<unknown> => client.raw({ method: 'POST', path, body });
  await post('/api/v1/namespaces/drydock/services', {
    metadata,
    spec: { ports: [{ name: 'https', port: 443, targetPort: Number(port), protocol: 'TCP' }] },
  });
  // The API server passes on to what is the address of a pod, and to nothing else.
  const pods = '/api/v1/namespaces/drydock/pods';
  const containers = [{ name: 'page', image: 'page' }];
  await post(pods, { metadata, spec: { serviceAccountName: 'drydock-boot-images', nodeName: 'here', containers } });
  await client.raw({
    ...{ method: 'PATCH', path: `${pods}/drydock-page/status`, contentType: 'application/merge-patch+json' },
    body: { status: { phase: 'Running', podIP: host, podIPs: [{ ip: host }] } },
  });
  const targetRef = { kind: 'Pod', namespace: 'drydock', name: 'drydock-page' };
  const subsets = [{ addresses: [{ ip: host, targetRef }], ports }];
  await post('/api/v1/namespaces/drydock/endpoints', { metadata, subsets });
  const laptop = async (account: string) => {
    const config = await as(account);
    const remote = inClusterPage(stack.use(createClient(config)), config, 'drydock/drydock-page:https');
    return stack.use(await relayPage(remote, { host: '127.0.0.1', port: 0 }));
  };
  const { url } = await laptop('looker');
  // Of endpoints the API server hears by a watch of its own.
  const state = await until('the API server knows where the page is', async () => {
    const answer = await fetch(new URL('/state', url));
    const said = await answer.text();
    if (answer.status === 200) return JSON.parse(said) as PageState;
    assert.match(said, /no endpoints available/);
    return undefined;
  });
  assert.equal(state.sections.sets.length, 1);
  assert.match(await (await fetch(url)).text(), /<div id="page">/);
  const stop = new AbortController();
  const events = await fetch(new URL('/events', url), { signal: stop.signal });
  const reader = (events.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  while (!heard.includes('event: state')) heard += (await reader.read()).value ?? assert.fail(heard);
  stop.abort();
  const refused = await fetch(new URL('/state', (await laptop('stranger')).url));
  assert.equal(refused.status, 502);
  assert.match(await refused.text(), /forbidden|may not/i);
  const config = { credentials: { get: async () => ({ cert: 'x', key: 'y' }), reject: () => false } };
  await assert.rejects(
    inClusterPage(client, config, 'drydock/drydock-page:https').text('/state', new AbortController().signal),
    /takes bearer tokens/,
  );
});
