import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { test } from 'node:test';
import { createServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { BootImagePolicy, ConfigMap, type Infrastructure, Machine, Secret } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { type Authority, createAuthority } from '@drydock/sandbox';
import { Registry } from 'prom-client';
import { explainSet } from '../explain.ts';
import { bootImageMetrics } from '../metrics.ts';
import type { StubTrust } from '../stub-authority.ts';
import { computed, type FakeClusterOptions, infrastructure, machineSet, newRelease } from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import { type AskServer, askMachineConfigServer, isOwnServer, type Presented } from './machine-config-server.ts';
import { stubSourceOf } from './stub-source.ts';
import { type StubTrustMemory, stubTrust } from './stub-trust.ts';
import { judgeStub, type Published, type StubEvidence } from './stub-verdict.ts';

const day = 86_400_000;
const now = new Date(Date.UTC(2026, 7, 2));
const valid = (from: number, until: number) => ({
  from: new Date(now.getTime() + from * day),
  until: new Date(now.getTime() + until * day),
});
const years = valid(-400, 4000);
const [before, after] = [createAuthority('before', years), createAuthority('after', years)];
const host = 'api-int.c1';
const url = `https://${host}:22623/config/worker`;
const bundle = (...of: readonly (Authority | string)[]): string =>
  of.map((one) => (typeof one === 'string' ? one : one.certificate)).join('');
const dataUrl = (pem: string): string => `data:text/plain;charset=utf-8;base64,${Buffer.from(pem).toString('base64')}`;
const stub = (pem: string, version = '3.4.0', source = url): string =>
  JSON.stringify({
    ignition: {
      version,
      config: version.startsWith('2') ? { append: [{ source }] } : { merge: [{ source }] },
      security: { tls: { certificateAuthorities: [{ source: dataUrl(pem) }] } },
    },
  });

const silent: Presented = { kind: 'unseen', why: 'ECONNREFUSED' };
const publishing = (...of: readonly Authority[]): Published => ({
  ...{ kind: 'published', in: 'configmap n/ca' },
  authorities: stubSourceOf(stub(bundle(...of)))?.authorities ?? [],
});
function verdict(pem: string, presented: Presented, published: Published = { kind: 'unknown', why: 'no' }): StubTrust {
  const source = stubSourceOf(stub(pem));
  assert.ok(source !== undefined);
  return judgeStub({ secret: 'openshift-machine-api/w', source, presented, published, now });
}

/** A server whose certificate this authority has signed. */
async function serving(authority: Authority, names: readonly string[] = ['127.0.0.1']) {
  const { certificate, privateKey } = authority.issueServer(names);
  const server = createServer({ cert: certificate, key: privateKey }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`https://127.0.0.1:${port}/config/worker`), [Symbol.dispose]: () => void server.close() };
}

test('FIND-8 a bundle is good when it verifies the certificate that the server presents, with the old authority beside it or not', async () => {
  const [mine, other] = [createAuthority('machine-config'), createAuthority('machine-config')];
  using server = await serving(mine);
  const ask = async (...of: readonly Authority[]): Promise<Presented> =>
    askMachineConfigServer(server.url, stubSourceOf(stub(bundle(...of)))?.authorities ?? [], {});
  assert.deepEqual(await ask(mine), { kind: 'verified' });
  assert.deepEqual(await ask(other, mine), { kind: 'verified' });
  for (const authorities of [[other], []]) {
    const seen = await ask(...authorities);
    assert.ok(seen.kind === 'refused' && seen.untrusted && seen.issuer === 'machine-config', JSON.stringify(seen));
  }
  using strange = await serving(mine, ['another.example']);
  const seen = await askMachineConfigServer(strange.url, stubSourceOf(stub(bundle(mine)))?.authorities ?? [], {});
  assert.deepEqual([seen.kind, seen.kind === 'refused' && seen.untrusted], ['refused', false]);
});

test('FIND-8 a server that says nothing, something else or nothing that ends is left after three seconds, and is unseen', async () => {
  const servers = (['', 'HTTP/1.1 400 Bad Request\r\n\r\n'] as const).map((answer) =>
    createTcpServer((socket) => socket.on('error', () => undefined).write(answer)).listen(0, '127.0.0.1'),
  );
  const gone = new URL('https://127.0.0.1:1/');
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const urls = servers.map((server) => new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`));
  const began = performance.now();
  const seen = await Promise.all([...urls, gone].map((one) => askMachineConfigServer(one, [], {})));
  assert.deepEqual(
    seen.map(({ kind }) => kind),
    ['unseen', 'unseen', 'unseen'],
  );
  assert.ok(performance.now() - began < 20_000);
  for (const server of servers) server.close();
});

test('FIND-8 what is presented decides, else what is published; what nobody knows is neither good nor bad', () => {
  const refused: Presented = { kind: 'refused', untrusted: true, issuer: 'after', why: 'X' };
  const said = ({ status, reason }: StubTrust): string => `${status} ${reason}`;
  const both = publishing(after, before);
  for (const [what, found, expected] of [
    [
      'presented and verified',
      verdict(bundle(before), { kind: 'verified' }, publishing(after)),
      'True StubAuthorityTrusted',
    ],
    ['presented and refused', verdict(bundle(before), refused, both), 'False StubAuthorityOutdated'],
    ['a wrong certificate', verdict(bundle(after), { ...refused, untrusted: false }), 'False ServerCertificateInvalid'],
    ['all published', verdict(bundle(before, after), silent, both), 'True StubAuthorityTrusted'],
    ['more than published', verdict(bundle(before, after), silent, publishing(after)), 'True StubAuthorityTrusted'],
    ['none published', verdict(bundle(before), silent, publishing(after)), 'False StubAuthorityOutdated'],
    ['some published', verdict(bundle(before), silent, both), 'Unknown StubAuthorityIncomplete'],
    ['nothing published', verdict(bundle(before), silent), 'Unknown StubAuthorityUnknown'],
    ['no authority', verdict('', silent, publishing(after)), 'Unknown StubAuthorityUnknown'],
    ['no authority, and refused', verdict('', refused, publishing(after)), 'Unknown StubAuthorityUnknown'],
  ] as const)
    assert.equal(said(found), expected, `${what}: ${found.message}`);
});

test('FIND-8 an authority that has expired, or is not valid yet, is no authority; one that expires soon says so', () => {
  const [gone, early, soon] = [
    createAuthority('gone', valid(-400, -1)),
    createAuthority('early', valid(1, 400)),
    createAuthority('soon', valid(-400, 20)),
  ];
  const expired = verdict(bundle(gone), silent, publishing(gone));
  assert.equal(expired.reason, 'StubAuthorityExpired');
  assert.match(
    expired.message,
    /^the only certificate authority of the stub in secret openshift-machine-api\/w is not valid since 2026-08-01T00:00:00Z: its machines cannot join$/,
  );
  assert.equal(verdict(bundle(gone, early), silent).reason, 'StubAuthorityExpired');
  assert.equal(verdict(bundle(gone, after), silent, publishing(gone, after)).reason, 'StubAuthorityTrusted');
  const warned = verdict(bundle(soon), silent, publishing(soon));
  assert.deepEqual([warned.status, warned.reason], ['True', 'StubAuthorityExpiresSoon']);
  assert.match(warned.message, /expires at 2026-08-22T00:00:00Z$/);
  assert.equal(verdict(bundle(soon, after), silent, publishing(after)).reason, 'StubAuthorityTrusted');
});

/** The certificate of an authority, with a key of a kind that nobody knows. */
function withUnreadableKey({ certificate }: Authority): string {
  const der = Buffer.from(certificate.replaceAll(/-----.*-----/g, ''), 'base64');
  const ecPublicKey = Buffer.from('06072a8648ce3d0201', 'hex');
  der.writeUInt8(0x77, der.indexOf(ecPublicKey) + ecPublicKey.length - 1);
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

test('FIND-8 a certificate whose key cannot be read trusts nothing, and takes nothing from those beside it', async () => {
  const hostile = withUnreadableKey(after);
  assert.equal(verdict(hostile, silent, publishing(after)).reason, 'StubAuthorityOutdated');
  assert.equal(verdict(bundle(hostile, after), silent, publishing(after)).reason, 'StubAuthorityTrusted');
  const mine = createAuthority('machine-config');
  using server = await serving(mine);
  const authorities = stubSourceOf(stub(bundle(withUnreadableKey(mine), mine)))?.authorities ?? [];
  assert.equal(authorities.length, 2);
  assert.deepEqual(await askMachineConfigServer(server.url, authorities, {}), { kind: 'verified' });
});

test('FIND-8 a bundle of 10,000 blocks, and an address that is long or has control characters, end in one short line', () => {
  const block = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  for (const [blocks, why] of [
    [6_000, /it names more than 64 certificates/],
    [10_000, /it has a bundle that is too large/],
  ] as const) {
    const { status, message } = verdict(block.repeat(blocks), silent, publishing(after));
    assert.equal(status, 'Unknown');
    assert.match(message, why);
  }
  for (const source of [
    `https://${'a'.repeat(700_000)}:22623/`,
    'https://a\nb.example:22623/\u0007\u202e',
    'https://a\u0001b/',
  ]) {
    const found = stubSourceOf(stub(bundle(before), '3.4.0', source));
    if (found === undefined) continue;
    const evidence: StubEvidence = {
      secret: 'n/w',
      source: found,
      presented: silent,
      published: publishing(before, after),
      now,
    };
    const text = judgeStub(evidence).message;
    assert.ok(text.length < 1_000 && !/\p{Cc}|\p{Cf}/u.test(text), text.slice(0, 2_000));
  }
});

test('FIND-8 bundles are read as Ignition reads them, within bounds', () => {
  const read = (authorities: unknown, config: unknown = { merge: [{ source: url }] }) =>
    stubSourceOf(
      JSON.stringify({
        ignition: { version: '3.2.0', config, security: { tls: { certificateAuthorities: authorities } } },
      }),
    );
  const subjects = (authorities: unknown): readonly string[] =>
    (read(authorities)?.authorities ?? []).map(({ subject }) => subject ?? '');
  const gzip = (text: string): string => `data:;base64,${gzipSync(text).toString('base64')}`;
  assert.deepEqual(subjects([{ source: `data:,${encodeURIComponent(bundle(before))}` }]), ['CN=before']);
  assert.deepEqual(subjects([{ source: gzip(bundle(before)), compression: 'gzip' }]), ['CN=before']);
  assert.deepEqual(subjects([{ source: dataUrl(bundle(before)) }, { source: dataUrl(bundle('x', after)) }]), [
    'CN=before',
    'CN=after',
  ]);
  for (const source of ['https://a/ca.pem', 'data:nothing', 'data:,%', gzip('x'.repeat(10_000_000))])
    assert.ok(read([{ source, compression: 'gzip' }])?.unread !== undefined, source.slice(0, 40));
  const many = read([{ source: dataUrl(Array.from({ length: 500 }, () => before.certificate).join('')) }]);
  assert.deepEqual([many?.authorities.length, many?.unread], [64, 'it names more than 64 certificates']);
  const began = performance.now();
  assert.deepEqual(subjects([{ source: dataUrl('-----BEGIN CERTIFICATE-----'.repeat(14_000)) }]), []);
  assert.ok(performance.now() - began < 5_000);
  assert.equal(read([], { merge: [{ source: 'http://a:22623/' }] }), undefined);
  assert.equal(stubSourceOf('nothing of the kind'), undefined);
  assert.equal(stubSourceOf(stub('', '2.2.0'))?.url.port, '22623');
});

const ownInfrastructure = (): Infrastructure => {
  const made = infrastructure();
  return { ...made, status: { ...made.status, apiServerInternalURI: `https://${host}:6443` } };
};
const own = { namespace: 'openshift-machine-api', name: 'worker-user-data' };

function cluster(pem: string, options: FakeClusterOptions & { readonly presented?: Presented } = {}) {
  const asked: string[] = [];
  const { presented = silent, ...more } = options;
  const c = reportingCluster({ infrastructure: ownInfrastructure(), userData: stub(pem), ...more });
  const askServer: AskServer = async ({ host: of }) => {
    asked.push(of);
    return presented;
  };
  Object.assign(c.cluster.ports, { askServer });
  c.restart();
  return { ...c, asked, pass: c.pass, image: c.image, cluster: c.cluster };
}
function publish({ cluster: { client } }: Pick<ReportingCluster, 'cluster'>, ...of: readonly Authority[]): void {
  const metadata = { namespace: 'openshift-machine-config-operator', name: 'machine-config-server-ca' };
  client.put(ConfigMap, { metadata, data: { 'ca-bundle.crt': bundle(...of) } });
}
function put({ cluster: { client } }: Pick<ReportingCluster, 'cluster'>, pem: string): void {
  client.put(Secret, { metadata: own, data: { userData: Buffer.from(stub(pem)).toString('base64') } });
}
const current = { templates: { [computed]: { version: newRelease } } };
const conditionOf = ({ image }: Pick<ReportingCluster, 'image'>) =>
  image()?.status?.conditions?.find(({ type }) => type === 'StubTrusted');

test('FIND-8 a machine set with a current image and an outdated authority is not Current: it says so everywhere, until its stub is corrected', async () => {
  const c = cluster(bundle(before), current);
  publish(c, after);
  await c.pass();
  const { status } = c.image() ?? {};
  assert.deepEqual([status?.phase, status?.reason, status?.current], ['Blocked', 'StubAuthorityOutdated', newRelease]);
  assert.match(
    status?.message ?? '',
    /trusts none of the authorities that configmap openshift-machine-config-operator\/machine-config-server-ca has .*its machines cannot join/,
  );
  assert.match(status?.nextStep ?? '', /key userData of secret openshift-machine-api\/worker-user-data/);
  assert.deepEqual([conditionOf(c)?.status, conditionOf(c)?.reason], ['False', 'StubAuthorityOutdated']);
  // The image is as the release wants it: nothing holds an upgrade up.
  assert.equal(c.cluster.condition('Degraded')?.status, 'False');
  const set = c.cluster.client.cluster.list(Machine).length === 0 ? machineSet('wk-a') : undefined;
  assert.ok(set !== undefined);
  const { step, answers, why } = await explainSet(set, c.cluster.ports);
  assert.equal(step, 'blocked');
  assert.deepEqual(answers.at(-1), { question: 'authority', answer: 'no', text: why });
  const registry = new Registry();
  const metrics = bootImageMetrics(registry);
  metrics.images(() => [c.image()].filter((one) => one !== undefined));
  assert.match(
    await registry.metrics(),
    /drydock_bootimage_stub_authority\{set="ms\/wk-a",status="False",reason="StubAuthorityOutdated"\} 1/,
  );
  put(c, bundle(before, after));
  c.cluster.clock += 61_000;
  await c.pass();
  assert.deepEqual([c.image()?.status?.phase, conditionOf(c)?.status], ['Current', 'True']);
});

test('FIND-8 with an outdated authority nothing is uploaded and no set is moved; with one that nobody knows all goes on, and says so', async () => {
  const bad = cluster(bundle(before));
  publish(bad, after);
  await bad.pass();
  assert.deepEqual([bad.image()?.status?.phase, bad.image()?.status?.reason], ['Blocked', 'StubAuthorityOutdated']);
  assert.deepEqual([bad.cluster.store.uploads, bad.cluster.template('wk-a')], [0, computed]);
  for (const [what, change] of [
    ['nothing is published', () => undefined],
    ['half of it is trusted', (c: ReportingCluster) => publish(c, before, after)],
    [
      'it may not be read',
      (c: ReportingCluster) => {
        const real = c.cluster.client;
        const client = {
          ...real,
          get: (async (resource, key, call) => {
            if (resource.plural === 'configmaps')
              throw new ApiError({ code: 'Forbidden', action: 'get configmaps', said: 'forbidden' });
            return real.get(resource, key, call);
          }) as typeof real.get,
        };
        Object.assign(c.cluster.ports, { client });
      },
    ],
  ] as const) {
    const c = cluster(bundle(before));
    change(c);
    c.restart();
    await c.pass();
    assert.deepEqual([c.image()?.status?.phase, conditionOf(c)?.status], ['Current', 'Unknown'], what);
    assert.match(c.image()?.status?.message ?? '', /the stub in secret openshift-machine-api\/worker-user-data/);
  }
});

test('FIND-8 only the API server that Infrastructure names is ever asked, whatever a stub says', async () => {
  const c = cluster(bundle(before), {
    ...current,
    userData: stub(bundle(before), '3.4.0', 'https://internal.example:22/'),
  });
  publish(c, after);
  await c.pass();
  assert.deepEqual([c.asked, conditionOf(c)?.status, c.image()?.status?.phase], [[], 'Unknown', 'Current']);
  const owned = cluster(bundle(before), current);
  await owned.pass();
  assert.deepEqual(owned.asked, [`${host}:22623`]);
  const byAddress: Infrastructure = {
    metadata: { name: 'cluster' },
    status: { platformStatus: { vsphere: { apiServerInternalIPs: ['fd00::1'] } } as never },
  };
  assert.deepEqual(
    [22623, 6443].map((port) => isOwnServer(new URL(`https://[fd00::1]:${port}/`), byAddress)),
    [true, false],
  );
});

test('FIND-8 a Secret that changes while it is looked at is looked at again', async () => {
  const c = cluster(bundle(after), current);
  publish(c, after);
  const memory: StubTrustMemory = new Map();
  // The answer is on its way when the Secret changes, which its watch tells.
  const askServer: AskServer = async () => {
    put(c, bundle(before));
    memory.clear();
    return silent;
  };
  const look = () => stubTrust(own, { ...c.cluster.ports, askServer }, memory, {});
  assert.deepEqual([(await look())?.status, (await look())?.status], ['True', 'False']);
});

test('FIND-8 a fleet with one stub asks the server once', async () => {
  const c = cluster(bundle(after), current);
  const ports = { ...c.cluster.ports, stubTrusts: new Map() };
  for (const name of ['wk-a', 'wk-a', 'wk-a']) await explainSet(machineSet(name), ports);
  assert.equal(c.asked.length, 1);
});

test('FIND-8 an administrator renames the Secret, or the clock steps: it is said, and is over when it is put right', async () => {
  const c = cluster(bundle(after), current);
  publish(c, after);
  let wrong = 0;
  Object.assign(c.cluster.ports, { now: () => new Date(c.cluster.clock + wrong) });
  c.restart();
  const next = async (elapsedMs: number): Promise<readonly unknown[]> => {
    c.cluster.clock += elapsedMs;
    await c.pass();
    return [c.image()?.status?.phase, conditionOf(c)?.status, conditionOf(c)?.reason];
  };
  const trusted = ['Current', 'True', 'StubAuthorityTrusted'];
  assert.deepEqual(await next(0), trusted);
  c.cluster.client.objects.delete(`secrets ${own.namespace}/${own.name}`);
  assert.deepEqual(await next(601_000), ['Current', 'Unknown', 'StubAuthorityUnknown']);
  assert.match(conditionOf(c)?.message ?? '', /worker-user-data/);
  put(c, bundle(after));
  assert.deepEqual(await next(61_000), trusted);
  for (const years of [20, -20]) {
    wrong = years * 366 * day;
    assert.deepEqual(await next(601_000), ['Blocked', 'False', 'StubAuthorityExpired']);
    wrong = 0;
    assert.deepEqual(await next(61_000), trusted);
  }
});

test('FIND-8 no canary is tried with an outdated authority, one that runs goes unjudged, and is made again once the stub is corrected', async () => {
  const c = cluster(bundle(before), { sets: [withLabels(machineSet('wk-a'))] });
  c.cluster.client.put(BootImagePolicy, {
    metadata: { name: 'careful', uid: 'p' },
    spec: { canary: { mode: 'Machine' } },
  });
  publish(c, before);
  const canaries = (): readonly string[] => c.cluster.client.cluster.list(Machine).map(({ metadata }) => metadata.name);
  await c.pass();
  assert.equal(canaries().length, 1, JSON.stringify(c.image()?.status));
  publish(c, after);
  c.cluster.clock += 600_000;
  await c.pass();
  await c.pass();
  assert.deepEqual([canaries(), c.image()?.status?.reason], [[], 'StubAuthorityOutdated']);
  assert.equal(c.image()?.status?.canary, undefined);
  put(c, bundle(after));
  c.cluster.clock += 61_000;
  await c.pass();
  assert.equal(canaries().length, 1);
});

test('FIND-8 a canary that does not join because of the authority is no verdict on the image; one of which nobody knows says so', async () => {
  for (const [pem, phase, reason] of [
    [bundle(after), 'Blocked', 'StubAuthorityOutdated'],
    [bundle(after, before), 'Blocked', 'CanaryFailed'],
  ] as const) {
    const c = cluster(bundle(before), { sets: [withLabels(machineSet('wk-a'))] });
    c.cluster.client.put(BootImagePolicy, {
      metadata: { name: 'careful', uid: 'p' },
      spec: { canary: { mode: 'Machine' } },
    });
    publish(c, before);
    await c.pass();
    const [machine] = c.cluster.client.cluster.list(Machine);
    assert.ok(machine !== undefined);
    c.cluster.client.put(Machine, { ...machine, status: { phase: 'Failed', errorMessage: 'no node' } });
    const metadata = { namespace: 'openshift-machine-config-operator', name: 'machine-config-server-ca' };
    c.cluster.client.put(ConfigMap, { metadata, data: { 'ca-bundle.crt': pem } });
    await c.pass();
    const { status } = c.image() ?? {};
    assert.deepEqual([status?.phase, status?.reason], [phase, reason]);
    if (reason === 'CanaryFailed')
      assert.match(status?.message ?? '', /no node.*; the stub in secret .* lacks 1 of the 2/);
    else assert.equal(status?.canary?.verdict, undefined);
  }
});

function withLabels(set: ReturnType<typeof machineSet>): ReturnType<typeof machineSet> {
  const labels = { 'machine.openshift.io/cluster-api-cluster': 'c1', set: set.metadata.name };
  return {
    ...set,
    metadata: { ...set.metadata, uid: 'uid-a' },
    spec: {
      ...set.spec,
      selector: { matchLabels: { set: set.metadata.name } },
      template: { ...set.spec?.template, metadata: { labels } },
    },
  } as ReturnType<typeof machineSet>;
}
