import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadKubeconfig } from './kubeconfig.ts';

const dir = await mkdtemp(join(tmpdir(), 'drydock-kubeconfig-shape-'));
test.after(() => rm(dir, { recursive: true }));

async function loaded(text: string): Promise<Awaited<ReturnType<typeof loadKubeconfig>>> {
  const kubeconfig = join(dir, 'config');
  await writeFile(kubeconfig, text);
  return loadKubeconfig({ kubeconfig });
}

/** A kubeconfig with these fields in its one cluster, user and context, in YAML's flow style. */
function config({ cluster = '', user = '', context = '', top = '' }: Readonly<Record<string, string>>): string {
  return `current-context: c
${top}
clusters: [{ name: c, cluster: { server: "https://s", ${cluster} } }]
users: [{ name: u, user: { ${user} } }]
contexts: [{ name: c, context: { cluster: c, user: u, ${context} } }]
`;
}

test('a field of the wrong type is refused by name, as kubectl does, and never quoted', async () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    // Taken for true, it would turn off what it wants to keep.
    [{ cluster: 'insecure-skip-tls-verify: "false"' }, 'clusters c: insecure-skip-tls-verify is not true or false'],
    [{ cluster: 'certificate-authority-data: 5' }, 'clusters c: certificate-authority-data is not text'],
    [{ cluster: 'extensions: {}' }, 'clusters c: extensions is not a list'],
    // A number has lost its zeros before anybody sees it.
    [{ user: 'token: 0012345678' }, 'users u: token is not text; put it in quotes'],
    [{ user: 'username: me, password: 42424242' }, 'users u: password is not text; put it in quotes'],
    [{ user: 'client-certificate: [hunter2]' }, 'users u: client-certificate is not text'],
    [{ user: 'as: me, as-groups: hunter2' }, 'users u: as-groups is not a list'],
    [{ user: 'as: me, as-user-extra: { scopes: hunter2 }' }, 'users u: as-user-extra.scopes is not a list'],
    [{ user: 'exec: hunter2' }, 'users u: exec is not a mapping'],
    [{ user: 'exec: { command: 5 }' }, 'users u: exec.command is not text'],
    [{ user: 'exec: { command: x, args: hunter2 }' }, 'users u: exec.args is not a list'],
    [{ user: 'exec: { command: x, env: { A: hunter2 } }' }, 'users u: exec.env is not a list'],
    [{ user: 'exec: { command: x, env: [{ name: A, value: 42424242 }] }' }, 'users u: exec.env[0].value is not text'],
    [{ context: 'namespace: 5' }, 'contexts c: namespace is not text'],
    [{ top: 'users: [{ name: v, user: hunter2 }]\nx-' }, 'users v: it is not a mapping'],
  ];
  for (const [fields, expected] of cases) {
    const text = config(fields)
      .replace('x-\n', '')
      .replace(/^users: \[\{ name: u.*$/m, fields['top'] ? '' : '$&');
    const error = await loaded(text).then(
      () => assert.fail(`loaded ${text}`),
      (reason: Error & { code?: string }) => reason,
    );
    assert.equal(error.code, 'Kubeconfig', error.message);
    assert.ok(error.message.includes(expected), `${error.message} instead of ${expected}`);
    assert.equal(/hunter2|42424242/.test(`${error.stack} ${String(error.cause)}`), false);
  }
  await assert.rejects(
    loaded(config({}).replace('current-context: c', 'current-context: 5')),
    /current-context is not/,
  );
});

test('fields that are there without a value count as absent', async () => {
  const nothing = 'token: x, exec: null, auth-provider: , as-groups: ~, tokenFile: ""';
  const { credentials, namespace } = await loaded(
    config({ user: nothing, context: 'namespace: ', cluster: 'proxy-url:' }),
  );
  assert.deepEqual([await credentials.get(), namespace], [{ authorization: 'Bearer x' }, 'default']);
});

test('a token that no header can carry is refused, not sent', async () => {
  for (const user of ['token: "hunter2\\n"', 'token: "a hunter2"', 'token: "hünter2"'])
    await assert.rejects(loaded(config({ user })), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'Credentials');
      assert.match(error.message, /the token has characters that no header can carry/);
      return !/h.nter2/.test(error.message);
    });
});

test('what YAML only warns about reaches nobody’s screen', async () => {
  const warnings: string[] = [];
  const listen = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', listen);
  try {
    assert.deepEqual(await (await loaded(config({ user: 'token: !secret hunter2' }))).credentials.get(), {
      authorization: 'Bearer hunter2',
    });
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', listen);
  }
  assert.deepEqual(warnings, []);
});
