import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'drydock-planted-'));
after(() => rmSync(folder, { recursive: true }));

const word = (of: string): string => `planted${of}${'0123456789abcdef'.repeat(2)}`;
const secrets = Object.fromEntries(
  ['token', 'password', 'key', 'exec', 'plan', 'proxy', 'config'].map((of) => [of, word(of)]),
) as Readonly<Record<'token' | 'password' | 'key' | 'exec' | 'plan' | 'proxy' | 'config', string>>;
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

function expectNone(said: readonly string[], least: number): void {
  assert.ok(said.filter((text) => text.length > 60).length >= least, said.join('\n'));
  const words = Object.values(secrets).flatMap((secret) => [secret, base64(secret), base64(pem)]);
  for (const text of said)
    for (const secret of words) assert.ok(!text.includes(secret), `${secret}: ${text.slice(0, 2_000)}`);
}
