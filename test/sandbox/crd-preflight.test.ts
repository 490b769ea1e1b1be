import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import type { Crd, Json, JsonObject } from '@drydock/crd';
import { readCrd } from '@drydock/crd';
import { clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import { type Sandbox, type ScratchFolder, scratchFolder, startSandbox, withoutRealServers } from '@drydock/sandbox';
import { Agent, request } from 'undici';
import { CRDS, type CrdServer, connectCrdServer, headOf, pathOf } from './support/crd-server.ts';
import { crdOf, setTrap } from './support/crd-trap.ts';

// `drydock crd preflight` as a person runs it, against a real API server with what real clusters have: kinds that one may not list, objects that cannot be converted, webhooks, policies.

const BIN = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');

let sandbox: Sandbox;
let server: CrdServer;
let scratch: ScratchFolder;

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Report {
  readonly verdict: string;
  readonly notes: readonly string[];
  readonly groups: readonly {
    readonly class: string;
    readonly crd: string;
    readonly path: string;
    readonly what: string;
  }[];
}

function start(...args: readonly string[]) {
  return spawn(process.execPath, [BIN, 'crd', 'preflight', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function preflight(...args: readonly string[]): Promise<Ran> {
  const child = start('--kubeconfig', sandbox.kubeconfig, ...args);
  const exit = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: (await exit)[0], stdout, stderr };
}

let folders = 0;
function folder(...manifests: readonly JsonObject[]): string {
  const path = join(scratch.path, `to-${folders++}`);
  mkdirSync(path);
  for (const [index, manifest] of manifests.entries())
    writeFileSync(join(path, `${index}.json`), JSON.stringify(manifest));
  return path;
}

/** Without the definitions of other tests, which the target does not have. */
function lines({ groups }: Report): readonly string[] {
  const named = groups.filter(({ class: kind, path }) => kind !== 'ORPHAN' || path !== 'definition');
  return named.map((group) => `${group.class} ${group.crd.split('.')[0]} ${group.path}`).toSorted();
}

function reportOf({ stdout, stderr }: Ran): Report {
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as Report;
}

async function post(path: string, body: JsonObject, as?: string): Promise<void> {
  const answer = await server.call({ method: 'POST', path, body, ...(as === undefined ? {} : { as }) });
  assert.ok(answer.status < 300, answer.message);
}

const RULES = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const phase = (...values: readonly string[]): JsonObject => ({
  properties: { spec: object({ phase: { type: 'string', enum: values } }), status: object({}) },
});

const PLURALS = 'seens hiddens besides guardeds sizeds secrets'.split(' ');

suite('preflight of a real cluster', () => {
  before(async () => {
    scratch = scratchFolder();
    sandbox = await startSandbox();
    server = connectCrdServer(sandbox);
    // All at once: a server holds the first object of a fresh kind back for two seconds.
    await Promise.all([
      server.install(clusterVersionCrd(14)),
      ...PLURALS.map((plural) => server.install(crdOf(plural, {}))),
    ]);
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
    scratch?.[Symbol.dispose]();
  });

  test('RB-R63, RB-R64: a ClusterVersion of 4.14 keeps a cluster from 4.13, also where its server goes back; one of 4.13 does not', async () => {
    const [F13, F14] = [clusterVersionCrd(13), clusterVersionCrd(14)];
    await setTrap(server, F14, undefined, clusterVersionObject(14));
    const to = folder(F13.manifest);
    const older = await preflight('--to', to, '--target-version', '1.30');
    assert.equal(older.status, 3, older.stderr);
    assert.match(older.stdout, /^You cannot go to .* yet: 2 places in 1 definition would be refused or lost\./);
    assert.match(
      older.stdout,
      /BLOCK_STATUS +N2 +clusterversions\.config +status\.capabilities\.enabledCapabilities\[\] +1 +version/,
    );
    const same = await preflight('--to', to, '-o', 'json');
    assert.equal(same.status, 3);
    assert.deepEqual(lines(reportOf(same)), [
      'LATENT clusterversions status.capabilities.enabledCapabilities[]',
      'LATENT clusterversions status.capabilities.knownCapabilities[]',
    ]);
    await setTrap(server, F14, undefined, clusterVersionObject(13));
    const clean = await preflight('--to', to);
    assert.deepEqual([clean.status, clean.stderr], [0, '']);
    assert.match(clean.stdout, /^You can go to /);
    await server.call({ method: 'DELETE', path: `${CRDS}/${F14.name}` });
  });

  test('RB-R77: rights to read the definitions and some kinds suffice for these kinds, and the others are undecided', async () => {
    const [seen, hidden] = [crdOf('seens', phase('a', 'b')), crdOf('hiddens', phase('a', 'b'))];
    await setTrap(server, seen, undefined, { spec: { phase: 'b' } });
    await setTrap(server, hidden, undefined, { spec: { phase: 'b' } });
    await post(`${RBAC}/clusterroles`, {
      metadata: { name: 'reader' },
      rules: [
        { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list'] },
        { apiGroups: [seen.group], resources: [seen.plural], verbs: ['get', 'list'] },
      ],
    } as unknown as JsonObject);
    await post(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    });
    const kubeconfig = sandbox.kubeconfigFor({ user: 'jane' });
    const as = (...manifests: readonly Crd[]) =>
      preflight(
        '--kubeconfig',
        kubeconfig,
        '--to',
        folder(...manifests.map(({ manifest }) => manifest)),
        '--era-target',
        'E0',
        '-o',
        'json',
      );
    const both = await as(crdOf('seens', phase('a')), crdOf('hiddens', phase('a')));
    assert.equal(both.status, 3);
    assert.deepEqual(lines(reportOf(both)), ['BLOCK_SPEC seens spec.phase', 'UNDECIDED hiddens ']);
    const same = await as(seen, hidden);
    assert.equal(same.status, 5, 'what was not looked at is not clean');
    assert.deepEqual(lines(reportOf(same)), ['UNDECIDED hiddens ']);
    assert.match(reportOf(same).groups[0]?.what ?? '', /may not be listed/);
    assert.match(reportOf(same).notes.join(), /ValidatingWebhookConfiguration \(Forbidden\)/);
    // Rights to everything that is gone to: exit code 0, whatever else may not be read.
    const one = await as(seen);
    assert.deepEqual([one.status, lines(reportOf(one))], [0, []]);
    assert.ok(reportOf(one).groups.some((group) => group.class === 'ORPHAN' && group.crd === hidden.name));
  });

  test('objects that the server cannot convert leave their kind undecided, and the rest goes on', {
    skip: withoutRealServers(
      'the embedded API server forgets which version an object was stored in, so it converts nothing here',
    ),
  }, async () => {
    const version = (name: string, storage: boolean): JsonObject => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: { type: 'object', ...phase('a', 'b') } },
    });
    const base = crdOf('converteds', {}).manifest as { spec: JsonObject };
    const versioned = (stored: string, conversion: JsonObject): Crd => {
      const versions = [version('v1', stored === 'v1'), version('v2', stored === 'v2')];
      return readCrd({ ...base, spec: { ...base.spec, versions, conversion } } as unknown as Json, 'converteds');
    };
    const service = { namespace: 'nowhere', name: 'gone', path: '/convert' };
    const webhook = {
      conversionReviewVersions: ['v1'],
      clientConfig: { service, caBundle: Buffer.from(await caOf()).toString('base64') },
    };
    await setTrap(server, versioned('v1', { strategy: 'None' }), undefined, { spec: { phase: 'a' } });
    const converting = versioned('v2', { strategy: 'Webhook', webhook: webhook as unknown as JsonObject });
    await put(converting);
    const other = crdOf('besides', phase('a', 'b'));
    await setTrap(server, other, undefined, { spec: { phase: 'b' } });
    const ran = await preflight(
      '--to',
      folder(converting.manifest, crdOf('besides', phase('a')).manifest),
      '--era-target',
      'E0',
      '-o',
      'json',
    );
    const found = reportOf(ran);
    assert.equal(ran.status, 3);
    assert.ok(lines(found).includes('BLOCK_SPEC besides spec.phase'));
    assert.ok(lines(found).includes('UNDECIDED converteds '));
    assert.match(found.groups.find(({ crd }) => crd.startsWith('converteds'))?.what ?? '', /convert/);
    for (const name of [converting.name, other.name]) await server.call({ method: 'DELETE', path: `${CRDS}/${name}` });
  });

  test('RB-R71: webhooks and policies that are asked about a kind leave its verdict open; one that a release does not bring stops it', async () => {
    const guarded = crdOf('guardeds', phase('a', 'b', 'c'));
    await setTrap(server, guarded, undefined, { spec: { phase: 'a' } });
    const rules = [
      { operations: ['UPDATE'], apiGroups: [guarded.group], apiVersions: ['v1'], resources: ['guardeds/status'] },
    ];
    const hook = (name: string, failurePolicy: string, more: JsonObject = {}): JsonObject =>
      ({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name },
        webhooks: [
          {
            ...{
              name: `${name}.example.com`,
              failurePolicy,
              rules,
              sideEffects: 'None',
              admissionReviewVersions: ['v1'],
            },
            clientConfig: { url: 'https://127.0.0.1:1/hook' },
            ...more,
          },
        ],
      }) as unknown as JsonObject;
    await post(`${RULES}/validatingwebhookconfigurations`, hook('closed', 'Fail'));
    await post(`${RULES}/validatingwebhookconfigurations`, hook('open', 'Ignore'));
    const elsewhere = [
      { operations: ['*'], apiGroups: ['elsewhere.example.com'], apiVersions: ['*'], resources: ['*'] },
    ];
    await post(`${RULES}/validatingwebhookconfigurations`, hook('elsewhere', 'Fail', { rules: elsewhere } as never));
    // Its object has no such label, and no condition that is always false lets anybody be asked.
    const narrowed = {
      selected: { objectSelector: { matchLabels: { tier: 'nobody' } } },
      never: { matchConditions: [{ name: 'never', expression: "request.resource.resource == 'pods'" }] },
    };
    for (const [name, more] of Object.entries(narrowed))
      await post(`${RULES}/validatingwebhookconfigurations`, hook(name, 'Fail', more));
    await post(`${RULES}/validatingadmissionpolicies`, {
      metadata: { name: 'policy' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { operations: ['CREATE'], apiGroups: [guarded.group], apiVersions: ['v1'], resources: ['*'] },
          ],
        },
        validations: [{ expression: 'true' }],
      },
    } as unknown as JsonObject);
    await post(`${RULES}/validatingadmissionpolicybindings`, {
      metadata: { name: 'policy' },
      spec: { policyName: 'policy', validationActions: ['Deny'] },
    });
    const wanted = crdOf('guardeds', phase('a', 'b')).manifest;
    const definitions = await preflight('--to', folder(wanted), '-o', 'json');
    const undecided = ['closed', 'open'].map((name) => `UNDECIDED guardeds ValidatingWebhookConfiguration/${name}`);
    const policy = 'UNDECIDED guardeds ValidatingAdmissionPolicy/policy';
    assert.equal(definitions.status, 5);
    assert.deepEqual(lines(reportOf(definitions)), [policy, ...undecided]);
    assert.match(
      reportOf(definitions)
        .groups.map(({ what }) => what)
        .join(),
      /asked about status, and fails closed/,
    );
    for (const name of Object.keys(narrowed))
      await server.call({ method: 'DELETE', path: `${RULES}/validatingwebhookconfigurations/${name}` });
    // A release that brings one of them, and no word of the other.
    const release = await preflight('--to', folder(wanted, hook('open', 'Ignore')), '-o', 'json');
    assert.equal(release.status, 3);
    assert.deepEqual(lines(reportOf(release)), [
      'ORPHAN  ValidatingAdmissionPolicy/policy',
      undecided[1],
      'WEBHOOK  ValidatingWebhookConfiguration/closed',
    ]);
    // A definition that stays as it is gives nobody a reason to say something else.
    const same = lines(reportOf(await preflight('--to', 'cluster:', '-o', 'json')));
    assert.deepEqual(
      same.filter((line) => line.includes('guardeds')),
      [],
    );
    const service = { clientConfig: { service: { namespace: 'default', name: 'nobody' } } };
    await post(`${RULES}/validatingwebhookconfigurations`, hook('headless', 'Fail', service));
    const dead = await preflight('--to', 'cluster:');
    assert.equal(dead.status, 3);
    assert.match(
      dead.stdout,
      /WEBHOOK +N28 .* ValidatingWebhookConfiguration headless +fails closed, and its Service default\/nobody is not there/,
    );
    for (const name of ['closed', 'open', 'elsewhere', 'headless'])
      await server.call({ method: 'DELETE', path: `${RULES}/validatingwebhookconfigurations/${name}` });
    await server.call({ method: 'DELETE', path: `${RULES}/validatingadmissionpolicies/policy` });
  });

  test('RB-R74: what only the server can tell it tells, and nothing is left behind, whether it ends or is interrupted', async () => {
    const quantity = (least: string): JsonObject => ({
      properties: {
        spec: object({
          size: {
            type: 'string',
            // How a number with a fraction is written is what only the server tells.
            'x-kubernetes-validations': [
              { rule: `!quantity(self).isLessThan(quantity('${least}')) || '%f'.format([1.5]) == 'never'` },
            ],
          },
        } as unknown as JsonObject),
        status: object({}),
      },
    });
    const wide = crdOf('sizeds', { properties: { spec: object({ size: { type: 'string' } }), status: object({}) } });
    await setTrap(server, wide, undefined, { spec: { size: '2Gi' } });
    for (let index = 0; index < 60; index += 1)
      await post(pathOf(wide), { ...headOf(wide, `more-${index}`), spec: { size: '5Gi' } });
    const shadows = async (): Promise<number> => {
      const { object: list } = await server.call({ method: 'GET', path: `${CRDS}?labelSelector=drydock.dev/shadow` });
      return (list['items'] as readonly JsonObject[]).filter(
        (item) => (item['metadata'] as JsonObject)['deletionTimestamp'] === undefined,
      ).length;
    };
    const to = folder(crdOf('sizeds', quantity('3Gi')).manifest);
    const asked = await preflight('--to', to, '-o', 'json');
    assert.equal(asked.status, 5);
    const answered = await preflight('--to', to, '-o', 'json', '--server-probe', '--yes');
    assert.deepEqual(
      [answered.status, lines(reportOf(answered))],
      [3, ['BLOCK_SPEC sizeds spec.size']],
      answered.stderr,
    );
    const fine = await preflight('--to', folder(crdOf('sizeds', quantity('1Gi')).manifest), '--server-probe', '--yes');
    assert.deepEqual([fine.status, fine.stdout.split('\n')[0]?.startsWith('You can go to ')], [0, true], fine.stderr);
    assert.equal(await shadows(), 0);

    // A probe takes a moment: one that has ended before the signal comes is begun again.
    for (let tries = 1, interrupted = false; !interrupted; tries += 1) {
      assert.ok(tries <= 20, 'no probe was interrupted');
      const child = start('--kubeconfig', sandbox.kubeconfig, '--to', to, '--server-probe', '--yes');
      const exit = once(child, 'close') as Promise<[number | null]>;
      const said = text(child.stderr);
      const deadline = Date.now() + 120_000;
      while ((await shadows()) === 0 && child.exitCode === null) assert.ok(Date.now() < deadline, 'no probe was seen');
      child.kill('SIGINT');
      const [code] = await exit;
      assert.equal(await shadows(), 0);
      interrupted = code === 130;
      if (interrupted) assert.match(await said, /interrupted; nothing was left behind/);
      else assert.equal(code, 3, await said);
    }
  });

  test('RB-R76: values are told where they are asked for, and not before', async () => {
    const secret = 'hunter2-is-the-password';
    const wide = crdOf('secrets', { properties: { spec: object({ key: { type: 'string' } }), status: object({}) } });
    await setTrap(server, wide, undefined, { spec: { key: secret } });
    const to = folder(crdOf('secrets', phase('a')).manifest);
    const [hidden, shown] = [
      await preflight('--to', to, '-o', 'wide'),
      await preflight('--to', to, '-o', 'wide', '--show-values'),
    ];
    assert.deepEqual([hidden.stdout.includes(secret), shown.stdout.includes(secret)], [false, true]);
    assert.match(
      hidden.stdout,
      /PRUNE +N12 +secrets\.trap +spec\.key +1 +one +no field of the target +string, 25 bytes/,
    );
  });

  async function caOf(): Promise<string> {
    return sandbox.admin.ca;
  }

  /** Replaces a definition without waiting for an object that would be judged by it. */
  async function put(crd: Crd): Promise<void> {
    const path = `${CRDS}/${crd.name}`;
    const { object: live } = await server.call({ method: 'GET', path });
    const { resourceVersion } = live['metadata'] as { readonly resourceVersion: string };
    const metadata = { ...(crd.manifest['metadata'] as JsonObject), resourceVersion };
    const answer = await server.call({ method: 'PUT', path, body: { ...crd.manifest, metadata } });
    assert.equal(answer.status, 200, answer.message);
    // A list that fails is what is waited for: until then the old definition is served.
    const { ca, certificate: cert, privateKey: key, url } = sandbox.admin;
    const dispatcher = new Agent({ connect: { ca, cert, key } });
    const deadline = Date.now() + 30_000;
    for (;;) {
      const { body, statusCode } = await request(`${url}/apis/${crd.group}/v2/${crd.plural}`, { dispatcher });
      await body.dump();
      if (statusCode !== 200) break;
      assert.ok(Date.now() < deadline, 'the objects are still converted');
    }
    await dispatcher.close();
  }
});
