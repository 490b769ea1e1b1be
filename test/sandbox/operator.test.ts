import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BootImage,
  type BootImageStatus,
  bootImageName,
  ConfigMap,
  Event,
  Lease,
  MachineConfiguration,
  MachineSet,
  Secret,
} from '@drydock/api';
import { goldenName, goldenNamespace } from '@drydock/boot-images';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import {
  base64,
  clusterTag,
  createCluster,
  credentials,
  golden,
  installerTemplate,
  machineApi,
  machineSet,
  oldRelease,
  place,
  serverName,
} from './support/voyage-cluster.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = '/DC0/vm/harbour';

let sandbox: VCenterSandbox;
let client: KubeClient;
let switchboard: Switchboard;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, crds: ['openshift', resolve(root, 'api/crds')] });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createTag(clusterTag);
  await createCluster(
    client,
    { user: sandbox.vcenter.user, password: 'not the password' },
    { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) },
  );
  await client.create(MachineSet, machineSet({ name: 'worker', folder }));
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

const trusted = (): readonly string[] => [
  ...['--vcenter-url', `${serverName}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca],
];

/** A command that ends by itself: what it printed. */
async function ran(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly errors: string }> {
  return ranIn({}, ...args);
}

async function ranIn(env: NodeJS.ProcessEnv, ...args: readonly string[]): ReturnType<typeof ran> {
  const child = spawn(process.execPath, [resolve(root, 'apps/drydock/bin/drydock.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: sandbox.kubeconfig, HOME: sandbox.directory, ...env },
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, out, errors };
}

/** All that it printed. */
async function drydock(...args: readonly string[]): Promise<string> {
  const { out, errors } = await ran(...args);
  return `${out}${errors}`;
}

/** `drydock operator` as a process; disposal ends it with SIGTERM and waits. */
async function startOperator(...more: readonly string[]) {
  return startOperatorIn(process.env, ...more);
}

async function startOperatorIn(
  env: NodeJS.ProcessEnv,
  ...more: readonly string[]
): Promise<AsyncDisposable & { readonly scrape: (path?: string) => Promise<string>; readonly log: readonly string[] }> {
  const child = spawn(
    process.execPath,
    [
      resolve(root, 'apps/drydock/bin/drydock.js'),
      'operator',
      ...['--kubeconfig', sandbox.kubeconfig, '--port', '0', '--cache-dir', resolve(sandbox.directory, 'images')],
      ...trusted(),
      ...more,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env },
  );
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stderr });
  const log: string[] = [];
  lines.on('line', (line) => log.push(line));
  const port = await new Promise<number>((found, failed) => {
    lines.on('line', (line) => {
      const { port: said } = JSON.parse(line) as { readonly port?: number };
      if (said !== undefined) found(said);
    });
    exited.then(() => failed(new Error('the operator ended before it served metrics')), failed);
  });
  return {
    log,
    scrape: async (path = '/metrics') => (await fetch(`http://127.0.0.1:${port}${path}`)).text(),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function status(what: string, wanted: (status: BootImageStatus) => boolean): Promise<BootImageStatus> {
  const deadline = performance.now() + 25_000;
  for (;;) {
    const key = { namespace: machineApi, name: bootImageName('ms', 'worker') };
    const found = (await client.get(BootImage, key).catch(() => undefined))?.status;
    if (found !== undefined && wanted(found)) return found;
    if (performance.now() > deadline) assert.fail(`${what} did not happen within 25 s: ${JSON.stringify(found)}`);
    await sleep(25);
  }
}

test('a password that is put right, and a folder that appears, are taken up without a restart; metrics tell of calls and sessions', async () => {
  await using stack = new AsyncDisposableStack();
  const operator = stack.use(await startOperator());
  const refused = await status('the refusal', ({ reason }) => reason === 'VimLoginRefused');
  assert.equal(refused.phase, 'Blocked');
  assert.match(refused.nextStep ?? refused.message ?? '', /Check the user name, the password/);
  // SAFE-17: it is told whose login it was.
  const whose = `refused ${sandbox.vcenter.user} with the password of Secret kube-system/vsphere-creds`;
  assert.ok(refused.message?.includes(whose) === true, refused.message ?? '');

  const fixed = performance.now();
  await client.mergePatch(Secret, credentials, {
    data: { [`${serverName}.password`]: base64(sandbox.vcenter.password) },
  });
  await status('the login', ({ reason }) => reason === 'FolderNotFound');
  // Far below the pause that refused credentials, and a failed set, have before the next attempt.
  assert.ok(performance.now() - fixed < 20_000, `${performance.now() - fixed} ms`);

  await switchboard.createFolder(folder);
  const at = { folder, cluster: place.computeCluster };
  await switchboard.createVm({ ...at, name: installerTemplate, productVersion: oldRelease, template: true });
  const made = performance.now();
  await status('the template', ({ phase, current }) => phase === 'Current' && current === oldRelease);
  assert.ok(performance.now() - made < 30_000, `${performance.now() - made} ms`);

  const metrics = await operator.scrape();
  // FIND-3: memory, CPU and the event loop of the process.
  assert.match(metrics, /^process_resident_memory_bytes [1-9]/m);
  assert.match(metrics, /^nodejs_eventloop_lag_p99_seconds [0-9]/m);
  assert.ok(metrics.includes(`drydock_vcenter_sessions{vcenter="${serverName}"} 1`), metrics);
  assert.match(metrics, /drydock_vcenter_calls_total\{method="findByPath",code="VIM_LOGIN_REFUSED"\} [1-9]/);
  assert.match(metrics, /drydock_vcenter_calls_total\{method="findByPath",code="OK"\} [1-9]/);
  assert.match(metrics, /drydock_bootimage_info\{set="ms\/worker",.*,phase="Current"\} 1/);
  // FIND-2: OpenShift's API is served, so its Leases are.
  const lease = await client.get(Lease, { namespace: goldenNamespace, name: 'drydock-boot-images' });
  assert.equal(lease.spec?.leaseDurationSeconds, 137);
  const { sessions, refused: refusals } = await switchboard.sessions();
  // The refused password was tried once or twice, not once for each set and look.
  assert.equal(sessions.length, 1);
  assert.ok(refusals >= 1 && refusals <= 2, `${refusals} refusals`);
  await stack.disposeAsync();
  assert.equal((await switchboard.sessions()).sessions.length, 0);
});

test('TRUTH-1 what is said of sets is so when the operator is gone: who leads, the new target, what a set points at', async () => {
  const before = await ran('status', '--check');
  assert.equal(before.code, 5, 'nobody leads');
  assert.match(before.errors, /Can I scale now\? Unknown for \d+[\s\S]*unknown: Nobody leads boot images/);
  assert.match(before.out, /^Nobody leads boot images since \d+s: it was given back\. Start one: drydock operator\n/);
  assert.match(before.out, /\nms\/worker +9\.6\.20260512-0 +Current /);

  const release = '9.8.20260802-0';
  const data = golden({ release, location: 'https://mirror.invalid/rhcos.ova', sha256: '1'.repeat(64) });
  await client.mergePatch(ConfigMap, { namespace: goldenNamespace, name: goldenName }, { data });
  const later = await ran('status');
  assert.equal(later.code, 0);
  assert.match(later.out, /\nms\/worker +9\.6\.20260512-0 +Pending .* to 9\.8\.20260802-0: nobody leads\n/);
  const explained = await ran('explain', 'worker', '--vcenter-insecure');
  assert.match(explained.out, /\n {2}NO {3}led +nobody leads boot images since/);
  assert.match(explained.out, /operator +said, when one led, Current since/);

  const set = { namespace: machineApi, name: 'worker' };
  const path = '/spec/template/spec/providerSpec/value/template';
  await client.patch(MachineSet, set, [{ op: 'replace', path, value: 'own-image' }]);
  const moved = JSON.parse((await ran('status', '-o', 'json')).out) as {
    readonly leader: { readonly state: string };
    readonly items: readonly [BootImage];
  };
  assert.equal(moved.leader.state, 'vacant');
  assert.deepEqual([moved.items[0].status?.current, moved.items[0].status?.phase], ['own-image', 'Pending']);
  await client.patch(MachineSet, set, [{ op: 'replace', path, value: installerTemplate }]);
});

test('SAFE-8 no key of a session is in logs, statuses, events, metrics or the open pages of health, whatever goes wrong with a watch', async () => {
  await switchboard.resetCalls();
  const fault = { name: 'SystemError', fields: { reason: 'the test says so' } };
  const broken = await switchboard.rule({ on: 'WaitForUpdatesEx', do: 'fault', fault, times: 2 });
  const unmade = await switchboard.rule({ on: 'CreateFilter', do: 'fault', fault, times: 1 });
  const readings: string[] = [];
  {
    await using operator = await startOperator('--roles', 'boot-images,watch');
    await unmade.taken(1, { timeoutMs: 25_000 });
    readings.push(await operator.scrape('/readyz?verbose'));
    await broken.taken(2, { timeoutMs: 25_000 });
    readings.push(await operator.scrape('/readyz?verbose'), await operator.scrape('/livez?verbose'));
    await switchboard.killSessions();
    const deadline = performance.now() + 25_000;
    while (!operator.log.some((line) => line.includes('NotAuthenticated')) && performance.now() < deadline)
      await sleep(50);
    readings.push(await operator.scrape('/readyz?verbose'), await operator.scrape(), ...operator.log);
  }
  for await (const object of client.list(BootImage)) readings.push(JSON.stringify(object));
  for await (const object of client.list(Event)) readings.push(JSON.stringify(object));
  const keys = new Set(
    (await switchboard.callLog()).flatMap(({ session }) => (session === undefined ? [] : [session])),
  );
  assert.ok(keys.size >= 2, `${keys.size} sessions were seen`);
  assert.ok(
    readings.some((text) => text.includes('PropertyCollector: the server answers SystemError')),
    'what went wrong is said, with the type of the object',
  );
  for (const text of readings) for (const key of keys) assert.ok(!text.includes(key), text);
  await switchboard.clearRules();
});

/** Secrets in every place that can hold one, each under its own word, and what a run is given of them. */
async function plant() {
  const word = (of: string): string => `planted${of}${'0123456789abcdef'.repeat(2)}`;
  const secrets = {
    image: word('image'),
    signature: word('signature'),
    mirror: word('mirror'),
    proxy: word('proxy'),
    markKey: word('key'),
    pullSecret: word('pull'),
    userData: word('userdata'),
    token: word('token'),
    vcenter: sandbox.vcenter.password,
  };
  const location = `https://user:${secrets.image}@mirror.invalid/rhcos.ova?sig=${secrets.signature}`;
  const data = golden({ release: '9.8.20260803-0', location, sha256: '2'.repeat(64) });
  await client.mergePatch(ConfigMap, { namespace: goldenNamespace, name: goldenName }, { data });
  await client.mergePatch(
    ConfigMap,
    { namespace: 'kube-system', name: 'cluster-config-v1' },
    // Not YAML, in the line that has the secret.
    { data: { 'install-config': `platform: {}\npullSecret: {"auth": "${secrets.pullSecret}"\n` } },
  );
  const userData = `{"ignition":{"version":"3.2.0"},"note":"${secrets.userData}" broken`;
  const of = { namespace: machineApi, name: 'worker-user-data' };
  const { data: before = {} } = await client.get(Secret, of);
  await client.mergePatch(Secret, of, { data: { userData: base64(userData) } });
  const mend = () => client.mergePatch(Secret, of, { data: before });
  const marks = { namespace: 'drydock', name: 'drydock-mark-key' };
  await client.mergePatch(Secret, marks, { data: { current: base64('planted'), planted: base64(secrets.markKey) } });
  const given = await readFile(sandbox.kubeconfig, 'utf8');
  const clientKey = /client-key-data: (\S+)/.exec(given)?.[1] ?? assert.fail('no client key');
  const env = {
    DRYDOCK_DEBUG: '1',
    DRYDOCK_IMAGE_MIRRORS: `https://user:${secrets.image}@mirror.invalid/=https://user:${secrets.mirror}@mirror.invalid:1/`,
    HTTPS_PROXY: `http://user:${secrets.proxy}@127.0.0.1:1`,
    NO_PROXY: '127.0.0.1,localhost',
  };
  const plain = Buffer.from(clientKey, 'base64').toString().split('\n')[2] ?? assert.fail('no key');
  const words = [...Object.values(secrets).flatMap((secret) => [secret, base64(secret)]), clientKey, plain];
  return { words, env, mend };
}

test('SAFE-9 a full run with secrets planted everywhere writes none of them, and no key of a session, anywhere', async () => {
  const { words, env, mend } = await plant();
  await switchboard.resetCalls();
  const readings: string[] = [];
  {
    await using operator = await startOperatorIn(
      { ...process.env, ...env },
      '--roles',
      'boot-images,watch',
      '--log-level',
      'debug',
    );
    await status('the user-data that cannot be read', ({ reason }) => reason === 'StubInvalid');
    await mend();
    await status(
      'the failed download',
      ({ message }) => message?.includes('failed to download https://mirror.invalid:1/rhcos.ova') === true,
    );
    const looks = [
      ['status', '-o', 'yaml'],
      ['status', '-o', 'wide'],
      ['doctor', ...trusted()],
      ['explain', ...trusted()],
    ];
    for (const look of looks) {
      const { out, errors } = await ranIn(env, ...look);
      readings.push(out, errors);
    }
    for (const path of ['/metrics', '/readyz?verbose', '/livez?verbose']) readings.push(await operator.scrape(path));
    readings.push(...operator.log);
  }
  const bad = { ...env, HTTPS_PROXY: `http://user:${words[6]}@proxy:port` };
  for (const arguments_ of [
    ['operator', '--image-mirror', `https://a/=https://user:${words[4]}@b/`],
    ['operator', '--vcenter-url', `vc=user:${words[4]}@vc`],
    ['template', 'publish', `https://user:${words[0]}@mirror.invalid:port/a.ova`, '--name', 'x'],
    ['template', 'publish', `https://user:${words[0]}@mirror.invalid/a.ova?sig=${words[2]}`, '--name', 'x'],
    ['template', 'list', '--url', `user:${words[0]}@vc`],
    ['doctor', '--vcenter-insecure'],
  ]) {
    const { out, errors } = await ranIn(bad, ...arguments_);
    assert.ok(errors.length + out.length > 0);
    readings.push(out, errors);
  }
  for await (const object of client.list(BootImage)) readings.push(JSON.stringify(object));
  for await (const object of client.list(Event)) readings.push(JSON.stringify(object));
  for await (const object of client.list(Lease)) readings.push(JSON.stringify(object));
  for await (const object of client.list(MachineConfiguration)) readings.push(JSON.stringify(object.status));
  for await (const object of client.list(ConfigMap))
    if (object.metadata.name.startsWith('drydock-')) readings.push(JSON.stringify(object));
  readings.push(...(await readdir(sandbox.directory, { recursive: true })).map(String));
  const keys = (await switchboard.callLog()).flatMap(({ session }) => (session === undefined ? [] : [session]));
  assert.ok(keys.length > 0 && words.length >= 18 && readings.length > 40, `${readings.length} readings`);
  assert.ok(
    readings.some((text) => text.includes('failed to download https://mirror.invalid:1/rhcos.ova')),
    'what went wrong is said, with the place that was asked',
  );
  for (const text of readings)
    for (const secret of new Set([...words, ...keys]))
      assert.ok(!text.includes(secret), `${secret}: ${text.slice(0, 2000)}`);
});

test('SAFE-5 a wrong password is shown twice by both roles, however often they start and whoever looks; status and doctor say so, and a word of a person tries it once more; FIND-1: other passwords do not lock the account', async () => {
  await switchboard.lockAccounts();
  const before = (await switchboard.sessions()).refused;
  const shown = async (): Promise<number> => (await switchboard.sessions()).refused - before;
  // An account of its own: refusals of the other tests count against theirs.
  const data = {
    [`${serverName}.username`]: base64('guest@vsphere.local'),
    [`${serverName}.password`]: base64('hunter2'),
  };
  await client.mergePatch(Secret, credentials, { data });
  const both = ['--roles', 'boot-images,watch'];
  {
    await using _ = await startOperator(...both);
    await status('the refusal', ({ reason }) => reason?.startsWith('VimLogin') === true);
    const deadline = performance.now() + 25_000;
    while ((await shown()) < 2 && performance.now() < deadline) await sleep(50);
    assert.equal(await shown(), 2);
  }
  {
    await using operator = await startOperator(...both);
    await status('the refusal that is known', ({ reason }) => reason === 'VimLoginWithheld');
    for (const said of [
      await drydock('doctor', ...trusted()),
      await drydock('explain', ...trusted()),
      await drydock('doctor', ...trusted()),
      await drydock('status'),
    ])
      assert.match(
        said,
        /refused .* with the password of Secret kube-system\/vsphere-creds twice, last at .*; the next attempt is due at /,
      );
    assert.equal(await shown(), 2);
    // Whoever mended the password in vCenter says so.
    await client.mergePatch(Secret, credentials, { metadata: { annotations: { 'drydock.dev/login-now': 'now' } } });
    const deadline = performance.now() + 25_000;
    while ((await shown()) < 3 && performance.now() < deadline) await sleep(50);
    assert.equal(await shown(), 3);
    // FIND-1: whatever the password, the account is refused no more than three times in three minutes, and a fourth where a person asks.
    const rotate = (password: string, asked: string): Promise<unknown> =>
      client.mergePatch(Secret, credentials, {
        metadata: { annotations: { 'drydock.dev/login-now': asked } },
        data: { [`${serverName}.password`]: base64(password) },
      });
    await rotate('hunter3', 'now');
    await status(
      'the limit',
      ({ reason, message }) => reason === 'VimLoginLimit' && message?.includes(' 3 logins ') === true,
    );
    assert.equal(await shown(), 3);
    await rotate('hunter4', 'once more');
    const fourth = performance.now() + 25_000;
    while ((await shown()) < 4 && performance.now() < fourth) await sleep(50);
    await rotate('hunter5', 'and again');
    await status(
      'the limit',
      ({ reason, message }) => reason === 'VimLoginLimit' && message?.includes(' 4 logins ') === true,
    );
    assert.equal(await shown(), 4);
    assert.deepEqual((await switchboard.sessions()).locked, []);
    const metrics = await operator.scrape();
    assert.match(metrics, /drydock_watch_login_refusals_total\{vcenter="127\.0\.0\.1:\d+"\} [1-9]/);
  }
  const map = await client.get(ConfigMap, { namespace: 'openshift-machine-config-operator', name: 'drydock-logins' });
  assert.doesNotMatch(JSON.stringify(map), new RegExp(`hunter2|${base64('hunter2')}`));
});
