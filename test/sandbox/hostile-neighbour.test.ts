import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BootImage, type BootImageStatus, bootImageName, ConfigMap, Lease, MachineSet, Secret } from '@drydock/api';
import { goldenName, goldenNamespace } from '@drydock/boot-images';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { repetitions } from '@drydock/model';
import {
  connectSwitchboard,
  recordProcess,
  type Switchboard,
  startSandbox,
  type VCenterSandbox,
} from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import {
  type EndlessLists,
  endlessFiles,
  endlessLists,
  type HostileServer,
  silentServer,
} from './support/hostile-servers.ts';
import { type Mirror, serveFolder } from './support/mirror.ts';
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
const SILENT = 'silent.voyage.example';
const MIB = 2 ** 20;
/** What the operator may have at its peak, whatever its neighbours do. */
const MOST_MIB = 256;
const ROUNDS = repetitions(1, 20, 'rounds of hostile neighbours');

/** Objects near the size limit that come at one moment. */
const LARGE = repetitions(16, 40, 'objects near the size limit');

let sandbox: VCenterSandbox;
let client: KubeClient;
let switchboard: Switchboard;
let way: EndlessLists;
let mirror: Mirror;
let silent: HostileServer;
let files: string;

before(async () => {
  sandbox = await startSandbox({ vcenter: true, crds: ['openshift', resolve(root, 'api/crds')] });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  way = await endlessLists(sandbox);
  files = join(sandbox.directory, 'files');
  await mkdir(files, { recursive: true });
  mirror = await serveFolder(files);
  silent = await silentServer();
  await switchboard.createTag(clusterTag);
  await switchboard.createFolder(folder);
  const at = { folder, cluster: place.computeCluster };
  await switchboard.createVm({ ...at, name: installerTemplate, productVersion: oldRelease, template: true });
  await createCluster(
    client,
    { user: sandbox.vcenter.user, password: sandbox.vcenter.password },
    { release: oldRelease, location: 'https://mirror.invalid/rhcos.ova', sha256: '0'.repeat(64) },
  );
  const login = { [`${SILENT}.username`]: base64('drydock'), [`${SILENT}.password`]: base64('drydock') };
  await client.mergePatch(Secret, credentials, { data: login });
  await client.create(MachineSet, machineSet({ name: 'worker', folder }));
});

after(async () => {
  await silent?.[Symbol.asyncDispose]();
  await mirror?.[Symbol.asyncDispose]();
  await way?.[Symbol.asyncDispose]();
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

interface OperatorProcess {
  readonly log: readonly string[];
  readonly scrape: () => Promise<string>;
  /** Most that it ever had resident, in MiB. */
  readonly peak: () => number;
  readonly running: () => boolean;
  /** SIGTERM; how long it took (ms) and its exit code. */
  readonly stop: () => Promise<{ readonly took: number; readonly code: number | null }>;
}

/** Most that a process ever had resident, in MiB. */
function peakOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** `drydock operator` with both roles, a process of its own. */
async function startOperator(): Promise<OperatorProcess & AsyncDisposable> {
  const kubeconfig = join(sandbox.directory, 'way.kubeconfig');
  await writeFile(kubeconfig, way.kubeconfig);
  const child = spawn(
    process.execPath,
    [
      resolve(root, 'apps/drydock/bin/drydock.js'),
      ...['operator', '--roles', 'boot-images,watch', '--kubeconfig', kubeconfig, '--port', '0'],
      ...['--vcenter-url', `${serverName}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca],
      ...['--vcenter', serverName, SILENT, '--vcenter-url', `${SILENT}=https://${silent.address}/sdk`],
      ...['--cache-dir', join(sandbox.directory, 'images')],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const pid = child.pid ?? 0;
  recordProcess(sandbox.directory, 'process-under-test', pid);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const log: string[] = [];
  const lines = createInterface({ input: child.stderr });
  lines.on('line', (line) => log.push(line));
  const port = await new Promise<number>((found, failed) => {
    lines.on('line', (line) => {
      // What is no JSON is said by a process that cannot begin; its end tells all of it.
      const { port: said } = line.startsWith('{') ? (JSON.parse(line) as { readonly port?: number }) : {};
      if (said !== undefined) found(said);
    });
    exited.then(() => failed(new Error(`the operator ended by itself: ${log.slice(-5).join('\n')}`)), failed);
  });
  const stop = async (): Promise<{ readonly took: number; readonly code: number | null }> => {
    const began = performance.now();
    if (child.exitCode === null) child.kill('SIGTERM');
    const [code] = await exited;
    return { took: performance.now() - began, code };
  };
  return {
    log,
    scrape: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
    peak: () => peakOf(pid),
    running: () => child.exitCode === null,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

async function bootImage(set: string): Promise<BootImageStatus | undefined> {
  const key = { namespace: machineApi, name: bootImageName('ms', set) };
  return (await client.get(BootImage, key).catch(() => undefined))?.status;
}

async function until(what: string, is: () => Promise<boolean> | boolean, within = 60_000): Promise<void> {
  const deadline = performance.now() + within;
  while (!(await is())) {
    if (performance.now() > deadline) assert.fail(`${what} did not happen`);
    await sleep(50);
  }
}

async function status(
  set: string,
  what: string,
  wanted: (status: BootImageStatus) => boolean,
): Promise<BootImageStatus> {
  let found: BootImageStatus | undefined;
  const is = async (): Promise<boolean> => {
    found = await bootImage(set);
    return found !== undefined && wanted(found);
  };
  await until(what, is).catch((error: unknown) => {
    throw new Error(`${set}: ${JSON.stringify(found)?.slice(0, 2000)}`, { cause: error });
  });
  return found ?? {};
}

async function publish(release: string, location: string, sha256: string): Promise<void> {
  const data = golden({ release, location, sha256 });
  await client.mergePatch(ConfigMap, { namespace: goldenNamespace, name: goldenName }, { data });
}

async function realImage(release: string): Promise<readonly [location: string, sha256: string]> {
  const { sha256 } = await writeTestOva(join(files, `${release}.ova`), { version: release, diskBytes: MIB });
  return [mirror.url(`${release}.ova`), sha256];
}

/** Who leads, and how often that changed. */
async function leases(): Promise<readonly string[]> {
  const names = ['drydock-boot-images', 'drydock-watch'];
  const found = await Promise.all(names.map((name) => client.get(Lease, { namespace: goldenNamespace, name })));
  return found.map(({ spec }) => `${spec?.holderIdentity} ${spec?.leaseTransitions}`);
}

async function bothLead(): Promise<readonly string[]> {
  let found: readonly string[] = [];
  await until('both roles lead', async () => {
    found = await leases().catch(() => ['']);
    return found.every((one) => one.includes('_'));
  });
  return found;
}

/** A machine set of a tenant, with what it likes in its providerSpec. */
function tenantSet(name: string, value: Readonly<Record<string, unknown>>): MachineSet {
  const set = machineSet({ name, folder });
  const spec = set.spec?.template?.spec?.providerSpec?.value ?? {};
  return {
    ...set,
    spec: { ...set.spec, template: { spec: { providerSpec: { value: { ...spec, ...value } } } } },
  } as MachineSet;
}

for (let round = 1; round <= ROUNDS; round += 1) {
  test(`hostile neighbours, round ${round}: the operator keeps its Leases, its memory and its sessions, and every other set goes on`, async (t) => {
    // Each is newer than all before it: an older one is not gone back to.
    const release = (nth: number): string => `9.${10 * round + nth}.0`;
    // The round before ended with an image that nobody serves any more.
    if (round > 1) await publish(release(0), ...(await realImage(release(0))));
    await using operator = await startOperator();
    await status('worker', 'the beginning', ({ phase }) => phase === 'Current');
    const before = await bothLead();
    const made: string[] = [];
    const create = async (set: MachineSet): Promise<void> => {
      made.push(set.metadata.name);
      await client.create(MachineSet, set);
    };
    const began = performance.now();
    const step = (name: string): void =>
      t.diagnostic(
        `${name}: ${((performance.now() - began) / 1000).toFixed(1)} s${operator.running() ? `, peak ${operator.peak().toFixed(0)} MiB` : ''}`,
      );
    step('start');

    // An image that never ends, then a release that has one.
    {
      await using drip = await endlessFiles();
      await publish(release(1), `http://${drip.address}/rhcos.ova`, 'a'.repeat(64));
      await status('worker', 'the download', ({ phase }) => phase === 'Downloading');
      const [location, sha256] = await realImage(release(2));
      const asked = performance.now();
      await publish(release(2), location, sha256);
      await status('worker', 'the new release', (s) => s.phase === 'Current' && s.current === release(2));
      t.diagnostic(`the new release took ${Math.round(performance.now() - asked)} ms`);
    }
    step('endless image');

    // What a tenant may write.
    await create(
      tenantSet('tenant-folder', { workspace: { ...place, server: serverName, folder: '/DC0/vm/a\u0001b' } }),
    );
    await create(tenantSet('tenant-template', { template: 'rhcos\u0007' }));
    await create(tenantSet('tenant-secret', { userDataSecret: { name: 'x'.repeat(1_300_000) } }));
    await create(tenantSet('tenant-silent', { workspace: { ...place, server: SILENT, folder } }));
    await until('the vCenter that says nothing is asked', () => silent.clients() > 0);
    for (const name of ['tenant-folder', 'tenant-template', 'tenant-secret']) {
      const { phase, reason, message } = await status(name, 'the refusal', ({ reason: why }) => why === 'NameUnusable');
      assert.deepEqual([phase, reason], ['Blocked', 'NameUnusable']);
      assert.ok((message ?? '').length < 1000);
    }
    step('names');
    // Near the most that the API server takes. One of them is a list of many items, which costs the server itself most.
    const items = Array.from({ length: 100_000 }, (_, at) => ({ at }));
    const large = (at: number): object => (at === 0 ? { items } : { text: 'x'.repeat(1_300_000) });
    const larges = Array.from({ length: LARGE }, (_, at) => `tenant-large-${at}`);
    await Promise.all(larges.map((name, at) => create(tenantSet(name, { template: 'none', ...large(at) }))));
    for (const name of larges) await status(name, 'the refusal', ({ reason }) => reason === 'NameUnusable');
    step(`${LARGE} large objects`);

    // A wrong password, then the right one, with sessions that are killed all the time.
    const refusals = (await switchboard.sessions()).refused;
    const put = async (password: string): Promise<void> => {
      await client.mergePatch(Secret, credentials, { data: { [`${serverName}.password`]: base64(password) } });
    };
    await put(`wrong ${round}`);
    await until('the password is withheld', async () => {
      await switchboard.killSessions();
      return (await bootImage('worker'))?.reason === 'VimLoginWithheld';
    });
    await put(sandbox.vcenter.password);
    await switchboard.killSessions();
    await status('worker', 'the way back', ({ phase }) => phase === 'Current');
    await switchboard.killSessions();
    const shown = (await switchboard.sessions()).refused - refusals;
    assert.equal(shown, 2, `${shown} refused logins`);
    step('wrong password');

    // A server whose list has no end, and a restart of the watch on it by a cut of all connections.
    way.endless = 'machines';
    await using second = await startOperator();
    const pages = way.pages();
    await until('the list is given up', () => second.log.some((line) => line.includes('of the list are larger than')));
    t.diagnostic(`given up after ${way.pages() - pages} pages: peak ${second.peak().toFixed(0)} MiB`);
    way.endless = undefined;

    const [location, sha256] = await realImage(release(3));
    await publish(release(3), location, sha256);
    await status('worker', 'the last release', (s) => s.phase === 'Current' && s.current === release(3));
    step('last release');
    assert.deepEqual(await leases(), before, 'nobody else led, and nobody led anew');
    const sessions = (await switchboard.sessions()).sessions.filter(({ agent }) => agent.includes('drydock'));
    assert.ok(sessions.length <= 4, JSON.stringify(sessions));
    const failed = operator.log.filter((line) => /"level":(50|60)/.test(line));
    assert.deepEqual(failed, []);
    const peaks = [operator.peak(), second.peak()];
    assert.ok(Math.max(...peaks) <= MOST_MIB, `${peaks.map((one) => one.toFixed(0)).join(' and ')} MiB`);

    // A stop in the middle of a download, beside a vCenter that takes connections and says nothing.
    await using drip = await endlessFiles();
    await publish(release(4), `http://${drip.address}/rhcos.ova`, 'b'.repeat(64));
    await status('worker', 'the download', ({ phase }) => phase === 'Downloading');
    const { took, code } = await operator.stop();
    assert.equal(code, 0);
    assert.ok(took < 10_000, `the stop took ${Math.round(took)} ms`);
    step('stop');
    // The next one is told to stop while it begins: its first lists and logins are under way.
    await until('the second leads', async () => {
      const now = await leases();
      return now.every((one, role) => one !== before[role] && one.includes('_'));
    });
    const next = await second.stop();
    t.diagnostic(`the stops took ${Math.round(took)} and ${Math.round(next.took)} ms`);
    assert.equal(next.code, 0);
    assert.ok(next.took < 10_000, `the stop of the new leader took ${Math.round(next.took)} ms`);
    if (round === ROUNDS) return;
    await Promise.all(made.map((name) => client.delete(MachineSet, { namespace: machineApi, name })));
  });
}

test('hostile neighbours, control: another leader, another refused login and a large process are seen', async () => {
  const before = await leases();
  await using _ = await startOperator();
  assert.notDeepEqual(await bothLead(), before);
  const { refused } = await switchboard.sessions();
  const data = { [`${serverName}.password`]: base64('another') };
  await client.mergePatch(Secret, credentials, { data });
  await until('a refusal', async () => (await switchboard.sessions()).refused > refused);
  const large = spawn(process.execPath, ['-e', 'const b = Buffer.alloc(300 << 20, 1); setInterval(() => b[0], 1e6)']);
  try {
    await until('it is large', () => peakOf(large.pid ?? 0) > MOST_MIB);
  } finally {
    large.kill('SIGKILL');
  }
});
