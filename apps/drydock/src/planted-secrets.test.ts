import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { createGunzip } from 'node:zlib';
import { misbehavingServer, sendJson } from '@drydock/kube/testing';
import { extract } from 'tar-stream';
import { FOREIGN_KINDS } from './support-bundle/kinds.ts';
import { SECRET_KINDS, secretMaker, seededBytes } from './testing/secret-kinds.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'drydock-planted-'));
after(() => rmSync(folder, { recursive: true }));

const word = (of: string): string => `planted${of}${'0123456789abcdef'.repeat(2)}`;
const secrets = Object.fromEntries(
  ['token', 'password', 'key', 'exec', 'plan', 'proxy', 'config', 'cluster'].map((of) => [of, word(of)]),
) as Readonly<Record<'token' | 'password' | 'key' | 'exec' | 'plan' | 'proxy' | 'config' | 'cluster', string>>;
const pem = `-----BEGIN EC PRIVATE KEY-----\n${secrets.key}\n-----END EC PRIVATE KEY-----\n`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function file(name: string, content: string, mode: number = 0o600): string {
  writeFileSync(join(folder, name), content, { mode });
  return join(folder, name);
}

const kubeconfig = (name: string, user: string, more: string = ''): string =>
  file(
    name,
    `apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: "http://127.0.0.1:1"${more}}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers:\n- name: u\n  user: ${user}\n`,
  );
const plugin = file(
  'login',
  `#!/bin/sh\necho '{"kind":"ExecCredential","status":{"token":"${secrets.exec}"}} broken'\n`,
  0o700,
);
const exec = `{exec: {apiVersion: client.authentication.k8s.io/v1, command: "${plugin}", interactiveMode: Never, args: ["${secrets.exec}"]}}`;

const KUBECONFIGS: readonly string[] = [
  kubeconfig('token', `{token: ${secrets.token}}`),
  kubeconfig('key', `{client-certificate-data: ${base64(pem)}, client-key-data: ${base64(pem)}}`),
  kubeconfig('password', `{username: a, password: ${secrets.password}}`),
  kubeconfig('proxied', `{token: ${secrets.token}}`, `, proxy-url: "http://a:${secrets.proxy}@127.0.0.1:1"`),
  kubeconfig('plugin', exec),
  kubeconfig('numbers', `{token: [${secrets.token}]}`),
  kubeconfig('no-yaml', `{token: "${secrets.token}: x`),
  kubeconfig('tag', `{token: !${secrets.token}^x y}`),
];
const step = '{"step":"import","text":"x","calls":[]}';
const plan = (name: string, end: string): string =>
  file(
    name,
    `{"drydockPlan":2,"source":"https://a:${secrets.plan}@127.0.0.1:1/a.ova?sig=${secrets.plan}","plan":{"version":1,"kind":"publish","server":"s","folder":"f","target":"t","world":"w","steps":[${step}]${end}`,
  );

/** What a command prints where everything that it is given has a secret in it. */
function printed(...words: readonly string[]): string {
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'apps/drydock/bin/drydock.js'), ...words], {
    encoding: 'utf8',
    timeout: 30_000,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: home,
      DRYDOCK_DEBUG: '1',
      HTTPS_PROXY: `http://a:${secrets.proxy}@127.0.0.1:1`,
      GOVC_PASSWORD: secrets.config,
    },
  });
  return `${words.slice(0, 3).join(' ')}:\n${stdout}${stderr}`;
}

test('SAFE-9 no word of tokens, client keys and passwords of kubeconfigs is printed, by commands or by the programs of a node, whatever is wrong with them', () => {
  const said = KUBECONFIGS.flatMap((path) => [
    printed('status', '--kubeconfig', path),
    printed(...['node', 'prune', '--kubeconfig', path]),
  ]);
  const node = ['--kubeconfig', KUBECONFIGS[0] ?? '', '--namespace', 'n'];
  const dirs = ['--resource-dir', join(folder, 'r'), '--pod-manifest-dir', join(folder, 'm')];
  said.push(
    printed(
      'node',
      'install',
      ...node,
      '--revision',
      '7',
      '--pod',
      'p',
      ...dirs,
      '--alone',
      '--timeout-duration',
      '1s',
    ),
    printed('node', 'cert-sync', '--kubeconfig', KUBECONFIGS[6] ?? '', '--namespace', 'n', '--destination-dir', folder),
  );
  expectNone(said, KUBECONFIGS.length);
});

test('SAFE-9 no word of what is secret in plans and config files is printed', () => {
  const config = (name: string, content: string): string => file(name, content);
  const address = ['--url', 'https://127.0.0.1:1', '--username', 'a'];
  expectNone(
    [
      printed('template', 'apply', plan('broken.json', ''), ...address),
      printed('template', 'apply', plan('other.json', ',"wish":7}}'), ...address),
      printed(
        'template',
        'apply',
        plan(
          'whole.json',
          `,"wish":{"placement":{"server":"s","datacenter":"d","folder":"f"},"cluster":"c","base":"b","image":{"release":"r","sha256":"${'ab'.repeat(32)}"}}}}`,
        ),
        ...address,
      ),
      printed('template', 'list', '--config', config('a.yaml', `url: https://a:${secrets.config}@127.0.0.1:1\n`)),
      printed('template', 'list', '--config', config('b.yaml', `password: ${secrets.config}\n`)),
      printed('template', 'list', '--config', config('c.yaml', `{"passwordFile ${secrets.config}": x}\n`)),
    ],
    6,
  );
});

/** A text of a kind that programs print when something is wrong, with a secret in it. */
const CARELESS: readonly string[] = [
  `cannot reach https://admin:${secrets.cluster}@vc.example/sdk`,
  `GET https://images.example/a.ova?X-Amz-Signature=${secrets.cluster}: 403`,
  `authorization: Bearer ${secrets.cluster}`,
  `login failed, password=${secrets.cluster}`,
  `{"token":"${secrets.cluster}"}`,
  pem,
];
const careless = CARELESS.join(' and ');

/** An object of any kind with a secret wherever somebody could have put one, and what a maintainer needs. */
function planted(name: string): Readonly<Record<string, unknown>> {
  const conditions = [
    { type: 'Degraded', status: 'True', reason: 'Planted', message: careless, [secrets.cluster]: 'x' },
  ];
  const provider = {
    kind: 'VSphereMachineProviderSpec',
    template: 'rhcos-kept',
    userData: secrets.cluster,
    workspace: { server: 'vc.example', password: secrets.cluster },
    metadata: { annotations: { a: secrets.cluster } },
  };
  const container = {
    name: 'operator',
    image: 'quay.example/drydock:1',
    args: ['operator', '--roles=boot-images', `--token=${secrets.cluster}`, '--as', secrets.cluster, secrets.cluster],
    env: [{ name: 'GOVC_PASSWORD', value: secrets.cluster }],
    command: [secrets.cluster],
  };
  return {
    metadata: {
      name,
      namespace: 'drydock',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ token: secrets.cluster }) },
      labels: { [secrets.cluster]: secrets.cluster },
    },
    data: { password: base64(secrets.cluster), note: secrets.cluster },
    stringData: { password: secrets.cluster },
    reportingController: 'drydock.dev/status',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reason: 'Planted',
    note: careless,
    regarding: { apiVersion: 'drydock.dev/v1alpha1', kind: 'BootImage', name },
    spec: {
      userData: secrets.cluster,
      files: [{ content: secrets.cluster }],
      group: 'drydock.dev',
      names: { plural: 'bootimages', kind: 'BootImage' },
      versions: [
        { name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema: { default: secrets.cluster } } },
      ],
      containers: [container],
      pin: { reason: careless, by: 'alice' },
      ...{ server: 'vc.example', identityRef: { kind: 'Secret', name: 'login', password: secrets.cluster } },
      topology: {
        class: 'kept-class',
        variables: [{ name: 'image', value: secrets.cluster }],
        workers: {
          machineDeployments: [{ name: 'a', variables: { overrides: [{ name: 'b', value: secrets.cluster }] } }],
        },
      },
      patches: [
        {
          name: 'image',
          definitions: [
            {
              selector: { kind: 'VSphereMachineTemplate' },
              jsonPatches: [
                {
                  op: 'add',
                  path: '/spec/kept',
                  value: secrets.cluster,
                  valueFrom: { variable: 'image', template: secrets.cluster },
                },
              ],
            },
          ],
        },
      ],
      template: {
        spec: {
          bootstrap: { dataSecretName: secrets.cluster, configRef: { kind: 'KubeadmConfigTemplate', name: 'kept' } },
          template: {
            spec: { template: 'rhcos-kept', sshKeys: [secrets.cluster], files: [{ content: secrets.cluster }] },
          },
          containers: [container],
          providerSpec: { value: provider },
        },
        metadata: { annotations: { a: secrets.cluster } },
      },
    },
    status: { phase: 'Blocked', message: careless, conditions, [secrets.cluster]: secrets.cluster },
  };
}

const LOG = [
  JSON.stringify({
    level: 50,
    msg: `kept: ${careless}`,
    password: secrets.cluster,
    [secrets.cluster]: 1,
    err: {
      message: careless,
      config: secrets.cluster,
      stack: `Error: ${secrets.cluster}\n    at run (file:///app/main.js:1:2)`,
    },
  }),
  `${secrets.cluster} said by another program`,
  `TypeError: ${secrets.cluster}`,
  '    at go (file:///app/main.js:3:4)',
].join('\n');

test('a support bundle has what a maintainer needs and no word of what is secret, wherever in a cluster it stands', async () => {
  const groups = ['drydock.dev', 'apiextensions.k8s.io', ...new Set(FOREIGN_KINDS.map(({ group }) => group))];
  await using host = await misbehavingServer(({ path }, response) => {
    const kind = path.split('/').at(-1) ?? '';
    if (path === '/version') return sendJson(response, { gitVersion: 'v1.34.0', [secrets.cluster]: secrets.cluster });
    if (path === '/apis')
      return sendJson(response, { groups: groups.map((name) => ({ name, versions: [{ version: 'v1' }] })) });
    if (kind === 'log') {
      response.end(LOG);
      return;
    }
    if (kind === 'metrics') {
      response.end(`drydock_up{url="https://a:${secrets.cluster}@vc"} 1\nother{x="${secrets.cluster}"} 1\n`);
      return;
    }
    if (kind === 'leases')
      return sendJson(response, { kind: 'Status', code: 403, reason: 'Forbidden', message: careless }, 403);
    if (path.includes('/configmaps/') || path.includes('/leases/'))
      return sendJson(response, { kind: 'Status', code: 404, reason: 'NotFound' }, 404);
    return sendJson(response, { metadata: { resourceVersion: '9' }, items: [planted(`kept-${kind}`)] });
  });
  const path = file(
    'kubeconfig-bundle',
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: host.config.server } }],
      users: [{ name: 'u', user: { token: secrets.token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const bundle = join(folder, 'bundle.tar.gz');
  const said = await spoken('support-bundle', '-o', bundle, '--kubeconfig', path);
  const files = await unpacked(bundle);
  const all = [said, ...files.entries()].map((one) => (typeof one === 'string' ? one : one.join('\n')));
  expectNone([...all, ...all, ...all], 1);
  assert.equal(statSync(bundle).mode & 0o777, 0o600);
  const manifest = JSON.parse(files.get('manifest.json') ?? '') as {
    files: { name: string }[];
    leftOut: Record<string, number>;
    unread: { what: string; why: string }[];
  };
  assert.deepEqual(
    manifest.files.map(({ name }) => name).toSorted(),
    [...files.keys()].filter((name) => name !== 'manifest.json').toSorted(),
  );
  const has = (name: string, ...words: readonly string[]): void => {
    for (const one of words) assert.ok(files.get(name)?.includes(one), `${name} lacks ${one}: ${files.get(name)}`);
  };
  has('drydock/bootimages.json', 'kept-bootimages', 'Blocked', 'alice', 'cannot reach https://***@vc.example/sdk');
  has('drydock/bootimagepolicies.json', 'kept-bootimagepolicies');
  has('drydock/payloads.json', 'kept-payloads');
  has('sets/machine-sets.json', 'rhcos-kept', 'vc.example');
  for (const { file: of, plural } of FOREIGN_KINDS) has(`${of}.json`, `kept-${plural}`);
  has('sets/capi-clusters.json', 'kept-class', '"name": "image"', '"name": "b"');
  has('sets/capi-cluster-classes.json', '/spec/kept', '"variable": "image"');
  has('sets/capi-vsphere-clusters.json', 'vc.example', '"name": "login"');
  has('operator/deployments.json', '--roles=boot-images', '--token=***', 'GOVC_PASSWORD');
  has('operator/ledgers.json', '"entries": 2');
  has('logs/kept-pods.operator.log', 'kept: cannot reach', 'main.js:3:4', 'main.js:1:2', 'TypeError: ***');
  has('metrics/kept-pods.prom', 'drydock_up');
  has('events.json', 'Planted');
  has('doctor.json', '"checks"');
  has('versions.json', 'v1.34.0');
  assert.ok(
    (manifest.leftOut['sets'] ?? 0) + (manifest.leftOut['machinesets'] ?? 0) > 0,
    JSON.stringify(manifest.leftOut),
  );
  assert.ok(
    manifest.unread.some(({ what }) => what === 'operator/leases.json'),
    JSON.stringify(manifest.unread),
  );
  assert.match(said, /Left out: all Secrets, and \d+ fields[\s\S]*Could not be read:\n {2}operator\/leases\.json: /);
  // What is there already stays.
  assert.match(await spoken('support-bundle', '-o', bundle, '--kubeconfig', path, '--no-doctor'), /is there already/);
});

test('FIND-5 a support bundle has no secret of any kind, in Events, statuses, logs and errors', async () => {
  const make = secretMaker(seededBytes(5));
  const texts = SECRET_KINDS.map((kind) => kind.text(make));
  const object = (message: string, at: number): object => ({
    metadata: { name: `kept-${at}`, namespace: 'drydock', uid: '6f1e2d3c-4b5a-4968-8776-655443322110' },
    spec: { containers: [{ name: 'operator', args: [`--vcenter-url=${message}`] }] },
    status: { phase: 'Blocked', message, conditions: [{ type: 'Degraded', status: 'True', message }] },
    note: message,
    reportingController: 'drydock.dev/status',
  });
  const line = (msg: string): string => JSON.stringify({ level: 50, msg, err: { message: msg } });
  let refused = 0;
  await using host = await misbehavingServer(({ path }, response) => {
    const kind = path.split('/').at(-1) ?? '';
    if (path === '/version') return sendJson(response, { gitVersion: 'v1.34.0' });
    if (path === '/apis')
      return sendJson(response, {
        groups: ['drydock.dev', ...FOREIGN_KINDS.map(({ group }) => group)].map((name) => ({ name, versions: [] })),
      });
    if (kind === 'log' || kind === 'metrics') {
      response.end(kind === 'log' ? texts.map((text) => `${line(text)}\n${text}\n`).join('') : '');
      return;
    }
    if (/^(?:events|bootimages|machines|pods)$/.test(kind))
      return sendJson(response, { metadata: { resourceVersion: '9' }, items: texts.map(object) });
    refused += 1;
    const message = texts[refused % texts.length];
    sendJson(response, { kind: 'Status', code: 403, reason: 'Forbidden', message }, 403);
  });
  const path = file(
    'kubeconfig-kinds',
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: host.config.server } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const bundle = join(folder, 'kinds.tar.gz');
  const said = await spoken('support-bundle', '-o', bundle, '--kubeconfig', path);
  const files = await unpacked(bundle);
  for (const [name, content] of [['stdout and stderr', said] as const, ...files])
    for (const secret of make.made)
      assert.ok(
        !content.includes(secret),
        `${name}: ${secret}: ${content
          .split('\n')
          .filter((l) => l.includes(secret))
          .join('|')
          .slice(0, 600)}`,
      );
  // All of them were there to be taken out.
  for (const name of ['events.json', 'drydock/bootimages.json', 'sets/machines.json', 'operator/pods.json'])
    assert.equal((JSON.parse(files.get(name) ?? '') as object[]).length, texts.length, name);
  assert.ok(refused > 3 && said.includes('Could not be read'), said);
  assert.ok([...files.keys()].filter((name) => name.startsWith('logs/')).length > 0, [...files.keys()].join());
});

async function spoken(...words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'apps/drydock/bin/drydock.js'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: folder,
      DRYDOCK_DEBUG: '1',
    },
  });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return `${out}${errors}`;
}

/** Files of a bundle, without the folder that they are in. */
async function unpacked(path: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const tar = extract();
  createReadStream(path).pipe(createGunzip()).pipe(tar);
  for await (const entry of tar) files.set(entry.header.name.replace(/^[^/]*\//, ''), await text(entry));
  return files;
}

function expectNone(said: readonly string[], least: number): void {
  assert.ok(said.filter((text) => text.length > 60).length >= least, said.join('\n'));
  const words = Object.values(secrets).flatMap((secret) => [secret, base64(secret), base64(pem)]);
  for (const text of said)
    for (const secret of words) assert.ok(!text.includes(secret), `${secret}: ${text.slice(0, 2_000)}`);
}
