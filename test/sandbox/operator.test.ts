import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BootImage, type BootImageStatus, bootImageName, MachineSet, Secret } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';
import {
  base64,
  clusterTag,
  createCluster,
  credentials,
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

/** `drydock operator` as a process; disposal ends it with SIGTERM and waits. */
async function startOperator(): Promise<AsyncDisposable & { readonly scrape: () => Promise<string> }> {
  const child = spawn(
    process.execPath,
    [
      resolve(root, 'apps/drydock/bin/drydock.js'),
      'operator',
      ...['--kubeconfig', sandbox.kubeconfig, '--port', '0', '--cache-dir', resolve(sandbox.directory, 'images')],
      ...['--vcenter-url', `${serverName}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stderr });
  const port = await new Promise<number>((found, failed) => {
    lines.on('line', (line) => {
      const { port: said } = JSON.parse(line) as { readonly port?: number };
      if (said !== undefined) found(said);
    });
    exited.then(() => failed(new Error('the operator ended before it served metrics')), failed);
  });
  return {
    scrape: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
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

  const fixed = performance.now();
  await client.mergePatch(Secret, credentials, {
    data: { [`${serverName}.password`]: base64(sandbox.vcenter.password) },
  });
  await status('the login', ({ reason }) => reason === 'FolderNotFound');
  // Far below the pause that refused credentials, and a failed set, have before the next attempt.
  assert.ok(performance.now() - fixed < 5_000, `${performance.now() - fixed} ms`);

  await switchboard.createFolder(folder);
  const at = { folder, cluster: place.computeCluster };
  await switchboard.createVm({ ...at, name: installerTemplate, productVersion: oldRelease, template: true });
  const made = performance.now();
  await status('the template', ({ phase, current }) => phase === 'Current' && current === oldRelease);
  assert.ok(performance.now() - made < 15_000, `${performance.now() - made} ms`);

  const metrics = await operator.scrape();
  assert.ok(metrics.includes(`drydock_vcenter_sessions{vcenter="${serverName}"} 1`), metrics);
  assert.match(metrics, /drydock_vcenter_calls_total\{method="findByPath",code="VIM_LOGIN_REFUSED"\} [1-9]/);
  assert.match(metrics, /drydock_vcenter_calls_total\{method="findByPath",code="OK"\} [1-9]/);
  assert.match(metrics, /drydock_bootimage_info\{set="ms\/worker",.*,phase="Current"\} 1/);
  const { sessions, refused: refusals } = await switchboard.sessions();
  // The refused password was tried once, not once for each set and look.
  assert.deepEqual([sessions.length, refusals], [1, 1]);
  await stack.disposeAsync();
  assert.equal((await switchboard.sessions()).sessions.length, 0);
});
