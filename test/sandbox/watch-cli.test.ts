import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Machine, Namespace } from '@drydock/api';
import { createClient, kubeMetrics, loadKubeconfig, run as runOperator } from '@drydock/kube';
import {
  connectSwitchboard,
  createAuthority,
  type Switchboard,
  scratchFolder,
  startSandbox,
  type VCenterSandbox,
} from '@drydock/sandbox';
import { links, WatchService, watchMetrics } from '@drydock/vm-watch';
import { connectVCenter, systemClock } from '@drydock/vsphere';
import { startSyntheticVCenter } from '@drydock/vsphere/testing';
import { pino } from 'pino';

const binary = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const FOLDER = '/DC0/vm/watched';
const DEADLINE_MS = 30_000;

let sandbox: VCenterSandbox;
let switchboard: Switchboard;
before(async () => {
  sandbox = await startSandbox({ vcenter: true, crds: ['openshift'] });
  switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createFolder(FOLDER);
  for (const name of ['one', 'two']) await switchboard.createVm({ folder: FOLDER, name });
});
after(() => sandbox?.[Symbol.asyncDispose]());

/** A run of `drydock watch`, whose output can be waited for. */
interface Running extends AsyncDisposable {
  readonly process: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves when stdout, or stderr, matches; fails with all that was said when that takes too long. */
  says(what: RegExp): Promise<void>;
  ended(): Promise<number | null>;
}

function watch(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const { url, user, password, ca } = sandbox.vcenter;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOVC_'));
  const child = spawn(process.execPath, [binary, 'watch', ...args], {
    env: {
      ...Object.fromEntries(inherited),
      GOVC_URL: url,
      GOVC_USERNAME: user,
      GOVC_PASSWORD: password,
      GOVC_TLS_CA_CERTS: ca,
      HOME: sandbox.directory,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const all = (): string => `--- stdout\n${stdout}--- stderr\n${stderr}`;
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    async says(what) {
      const late = AbortSignal.timeout(DEADLINE_MS);
      while (!what.test(stdout) && !what.test(stderr)) {
        if (late.aborted || child.exitCode !== null) assert.fail(`${what} was not said\n${all()}`);
        await Promise.race([
          once(child.stdout, 'data', { signal: late }),
          once(child.stderr, 'data', { signal: late }),
          closed,
        ]).catch(() => undefined);
      }
    },
    ended: async () => (await closed)[0],
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

test('changes are printed as they happen, old and new; what comes and leaves is, too; Ctrl-C logs out and ends with 130', async () => {
  await using run = watch(['vms', '--container', FOLDER]);
  await run.says(/Watching 2 machines in 1 container;/);
  await switchboard.powerVm(`${FOLDER}/one`, true);
  await run.says(
    /TIME +VM +PATH +CHANGE\n[\s\S]*\d\d:\d\d:\d\d\.\d{3} +one +summary\.runtime\.powerState +poweredOff → poweredOn\n/,
  );
  await switchboard.createVm({ folder: FOLDER, name: 'three' });
  await run.says(/ three +- +came\n/);
  await switchboard.destroyVm(`${FOLDER}/three`);
  await run.says(/ three +- +left\n/);
  run.process.kill('SIGINT');
  assert.equal(await run.ended(), 130);
  assert.match(run.stderr(), /Interrupted: .*\nnext: drydock watch vms --container \/DC0\/vm\/watched\n$/);
  assert.ok(!`${run.stdout()}${run.stderr()}`.includes(sandbox.vcenter.password));
  assert.deepEqual((await switchboard.sessions()).sessions, []);
  const { methods } = await switchboard.calls();
  assert.equal(methods['DestroyPropertyCollector'], methods['CreatePropertyCollector']);
});

test('as JSON one event per line; a killed session loses nothing, and what is known is not told again', async () => {
  await using run = watch(['vms', '-o', 'json', '--container', FOLDER]);
  await run.says(/"state":"live"/);
  await switchboard.killSessions();
  await switchboard.powerVm(`${FOLDER}/two`, true);
  await run.says(/"event":"changed".*"path":"summary\.runtime\.powerState"/);
  const { moref } = await switchboard.find(`${FOLDER}/two`);
  run.process.kill('SIGTERM');
  assert.equal(await run.ended(), 143);
  const events = run
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const power = events.filter(({ path }) => path === 'summary.runtime.powerState');
  assert.deepEqual(
    power.map(({ event, vm, ref, old, new: now }) => ({ event, vm, ref, old, now })),
    [{ event: 'changed', vm: 'two', ref: moref, old: 'poweredOff', now: 'poweredOn' }],
  );
  assert.ok(events.every(({ event }) => event !== 'came' && event !== 'left'));
  assert.equal(run.stderr(), '');
});

test('the OpenShift Machine of a machine is named where a cluster is given, also of one that is destroyed', async () => {
  const namespace = 'openshift-machine-api';
  await switchboard.createVm({ folder: FOLDER, name: 'owned' });
  const { uuid } = (await switchboard.vms({ folder: FOLDER })).find(({ name }) => name === 'owned') ?? { uuid: '' };
  await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await client.create(Namespace, { metadata: { name: namespace } });
  await client.create(Machine, {
    metadata: { namespace, name: 'harbour-worker-a' },
    // vCenter and OpenShift do not agree on the case.
    spec: { providerID: `vsphere://${uuid.toUpperCase()}`, providerSpec: {} },
  });
  const cluster = ['--container', FOLDER, '--kubeconfig', sandbox.kubeconfig];
  await using json = watch(['vms', '-o', 'json', ...cluster]);
  await using run = watch(['vms', ...cluster]);
  await run.says(/Watching 3 machines/);
  await json.says(/"state":"live"/);
  await switchboard.powerVm(`${FOLDER}/owned`, true);
  await run.says(
    /^TIME +VM +MACHINE +PATH +CHANGE\n\S+ +owned +openshift-machine-api\/harbour-worker-a +summary\.runtime/,
  );
  await switchboard.editVm(`${FOLDER}/one`, { annotation: 'nobody asked for it' });
  await run.says(/ one +- +config\.annotation +\(unset\) → nobody asked for it\n/);
  await switchboard.powerVm(`${FOLDER}/owned`, false);
  await switchboard.destroyVm(`${FOLDER}/owned`);
  await run.says(/ owned +openshift-machine-api\/harbour-worker-a +- +left\n/);
  await json.says(/"event":"changed","vm":"owned","machine":"openshift-machine-api\/harbour-worker-a","ref":"vm-/);
  await json.says(/"event":"changed","vm":"one","machine":null,"ref":"vm-/);
  await json.says(/"event":"left","vm":"owned","machine":"openshift-machine-api\/harbour-worker-a"/);

  await using nowhere = watch(['vms', '--container', FOLDER, '--kubeconfig', sandbox.kubeconfig, '--context', 'other']);
  assert.equal(await nowhere.ended(), 1);
  assert.match(nowhere.stderr(), /Machines of the cluster cannot be read: .*context other.*\nnext: kubectl config/);
  const viewer = ['--kubeconfig', sandbox.kubeconfigFor({ user: 'jane' })];
  await using forbidden = watch(['vms', '--container', FOLDER, ...viewer]);
  assert.equal(await forbidden.ended(), 1);
  assert.match(forbidden.stderr(), /cannot be read: list Machines: .*forbidden.*\nnext: kubectl get machines/);
  assert.doesNotMatch(forbidden.stderr(), /^TIME/m);
});

test('a refused login ends nothing: it is told, tried again, and what changed meanwhile is printed', async () => {
  await switchboard.createVm({ folder: FOLDER, name: 'patient' });
  await using run = watch(['vms', '--container', FOLDER]);
  await run.says(/Watching 3 machines/);
  await switchboard.refuseLogins(true);
  await switchboard.killSessions();
  await run.says(
    /a new one compares everything[\s\S]* refused .* with the password of the environment once, last at .* tried again in \d+ s\./,
  );
  await switchboard.powerVm(`${FOLDER}/patient`, true);
  await switchboard.refuseLogins(false);
  await run.says(/ patient +summary\.runtime\.powerState +poweredOff → poweredOn\n/);
  run.process.kill('SIGINT');
  assert.equal(await run.ended(), 130);
});

test('containers of every kind, by path and by reference; what is none or does not exist ends at once, in words', async () => {
  const paths = ['/DC0', '/DC0/host/DC0_C0', '/DC0/host/DC0_C0/DC0_C0_H0', 'DC0/host/DC0_C0/Resources', FOLDER];
  const refs = await Promise.all(paths.map((path) => switchboard.find(path.startsWith('/') ? path : `/${path}`)));
  assert.deepEqual(
    refs.map(({ type }) => type),
    ['Datacenter', 'ClusterComputeResource', 'HostSystem', 'ResourcePool', 'Folder'],
  );
  // With the type, as govc prints it, and without, as the page of a vCenter shows it; several behind one flag, and the flag several times.
  const written = refs.flatMap(({ type, moref }) => [`${type}:${moref}`, moref]);
  const { url } = sandbox.vcenter;
  await using run = watch(['vms', '--vcenter', url, '--container', ...paths, '--container', ...written, '-o', 'wide'], {
    GOVC_URL: 'https://127.0.0.1:1/sdk',
  });
  await run.says(/Watching [1-9]\d* machines in 5 containers/);
  await switchboard.powerVm(`${FOLDER}/one`, false);
  await run.says(
    /TIME +VM +MOREF +PATH +CHANGE\n.* one +vm-\d+ +summary\.runtime\.powerState +poweredOn → poweredOff\n/,
  );
  run.process.kill('SIGINT');
  assert.equal(await run.ended(), 130);

  for (const [container, code, says] of [
    ['/DC0/vm/nowhere', 3, /there is no \/DC0\/vm\/nowhere in .*\nnext: govc find/],
    ['Folder:group-v9999', 3, /there is no Folder:group-v9999/],
    ['domain-c9999', 3, /there is no domain-c9999/],
    [`${FOLDER}/one`, 2, /is a VirtualMachine, which has no machines below it/],
    ['vm-1', 2, /is a VirtualMachine, which has no machines below it/],
    ['/DC0/datastore/LocalDS_0', 2, /is a Datastore, which has no machines below it/],
    ['', 2, /--container is empty/],
  ] as const) {
    await using wrong = watch(['vms', '--container', container]);
    assert.equal(await wrong.ended(), code, wrong.stderr());
    assert.match(wrong.stderr(), says);
  }
  await using refused = watch(['vms'], { GOVC_PASSWORD: 'wrong' });
  assert.equal(await refused.ended(), 1);
  assert.match(refused.stderr(), /does not let .* in: .*\nnext: drydock template doctor/);
  await using format = watch(['vms', '-o', 'toml']);
  assert.equal(await format.ended(), 2);
  assert.match(format.stderr(), /unknown output format toml: .*\nnext: drydock watch vms --help\n$/);
  assert.deepEqual((await switchboard.sessions()).sessions, []);
});

test('who reads only the first lines leaves no session behind', async () => {
  await using run = watch(['vms', '--container', FOLDER]);
  await run.says(/Watching \d+ machines/);
  assert.equal((await switchboard.sessions()).sessions.length, 1);
  run.process.stdout?.destroy();
  await switchboard.editVm(`${FOLDER}/one`, { annotation: 'read by nobody' });
  assert.equal(await run.ended(), 0, run.stderr());
  assert.deepEqual((await switchboard.sessions()).sessions, []);
});

test('another vCenter under the same address ends the watch, because references mean something else there', async () => {
  using scratch = scratchFolder();
  const authority = createAuthority('synthetic');
  const ca = join(scratch.path, 'ca.pem');
  await writeFile(ca, authority.certificate);
  await using server = await startSyntheticVCenter({ identity: authority.issueServer(['127.0.0.1']) });
  const folder = server.inventory.container('Folder', 'group-v1');
  server.inventory.add(3, folder);
  const { user, password } = server.credentials;
  const env = { GOVC_URL: server.url, GOVC_USERNAME: user, GOVC_PASSWORD: password, GOVC_TLS_CA_CERTS: ca };
  await using run = watch(['vms', '--container', folder.value], env);
  await run.says(/Watching 3 machines in 1 container/);
  server.instanceUuid = 'synthetic-2';
  server.endSessions();
  assert.equal(await run.ended(), 4, run.stderr());
  assert.match(
    run.stderr(),
    /another vCenter answers as 127\.0\.0\.1.*\nnext: drydock watch vms --container group-v1\n$/,
  );
  assert.equal(run.stdout(), '');
  assert.equal(server.objects().sessions, 0);
});

test('status shows the watches of an operator by its metrics, and says what to do where there is none', async (context) => {
  const labels = 'watch="vms",vcenter="vc1"';
  const metrics = [
    `drydock_watch_state{${labels},state="live"} 0`,
    `drydock_watch_state{${labels},state="backoff"} 1`,
    `drydock_watch_machines{${labels}} 40`,
    `drydock_watch_containers{${labels},watched="true"} 1`,
    `drydock_watch_containers{${labels},watched="false"} 2`,
    `drydock_watch_dirty_machines{${labels}} 3`,
    `drydock_watch_lag_seconds{${labels}} 1.25`,
    `drydock_watch_signals_total{${labels},kind="changed"} 7`,
    `drydock_watch_signals_total{${labels},kind="left"} 1`,
  ].join('\n');
  let answer = `# HELP x\n${metrics}\n`;
  const remark = 'vc1 backoff (the server answers InvalidLogin), 3 to hand over, 0 without an object';
  const server = createServer((request, response) => {
    const verbose = `[+]watch-vms ok: ${remark}\nreadyz check passed\n`;
    response.end(request.url === '/readyz/watch-vms?verbose' ? verbose : answer);
  });
  context.after(() => server.closeAllConnections());
  context.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const operator = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using run = watch(['status', '--operator', operator]);
  assert.equal(await run.ended(), 0, run.stderr());
  assert.match(
    run.stdout(),
    /^WATCH +VCENTER +STATE +MACHINES +CONTAINERS +DIRTY +LAG +SIGNALS\nvms +vc1 +backoff +40 +1\/3 +3 +1\.\ds +8\n$/,
  );
  assert.equal(run.stderr(), `vms: ${remark}\n`);
  answer = 'process_cpu_seconds_total 1\n';
  await using other = watch(['status', '--operator', operator]);
  assert.equal(await other.ended(), 1);
  assert.match(other.stderr(), /is no drydock operator\nnext: /);
  answer = 'drydock_process 1\n';
  await using idle = watch(['status', '--operator', operator]);
  assert.equal(await idle.ended(), 0);
  assert.match(idle.stderr(), /watches nothing: .*\nnext: kubectl get lease/);
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  for (const [wrong, code, says] of [
    [operator, 1, /cannot be read: .*\nnext: kubectl -n drydock port-forward/],
    ['localhost:8081', 2, /is no address; an example is http:/],
  ] as const) {
    await using gone = watch(['status', '--operator', wrong]);
    assert.equal(await gone.ended(), code);
    assert.match(gone.stderr(), says);
  }
});

test('TRUTH-3 status of a real service says why it is in backoff, which container is refused, and that it is disabled', async () => {
  const authority = createAuthority('synthetic');
  await using server = await startSyntheticVCenter({ identity: authority.issueServer(['127.0.0.1']) });
  const folder = server.inventory.container('Folder', 'group-v1');
  const hidden = server.inventory.container('Folder', 'group-v2');
  server.forbidden.add(hidden.value);
  await using kube = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  let password = 'wrong';
  for (const enabled of [true, false]) {
    const metrics = kubeMetrics();
    await using ways = links({
      connect: (_, credentials) =>
        connectVCenter({ url: server.url, credentials, tls: { ca: authority.certificate }, env: {} }),
      credentials: () => ({ user: server.credentials.user, password }),
    });
    const service = new WatchService({
      ...{ name: 'vms', links: ways, enabled, clock: systemClock, metrics: watchMetrics(metrics.registry) },
      log: { info: () => undefined, warn: () => undefined },
      lookup: () => ({ named: () => undefined, byUniqueId: () => [] }),
      deliver: () => undefined,
    });
    for (const ref of [folder, hidden]) void service.add('vc1', ref, 'zone');
    await using operator = await runOperator({
      ...{ client: kube, caches: {}, controllers: [], services: [service], metrics, log: pino({ level: 'silent' }) },
      ...{ http: { port: 0, host: '127.0.0.1' }, ready: { [service.name]: service.check } },
      signal: new AbortController().signal,
    });
    const status = async (): Promise<string> => {
      await using run = watch(['status', '--operator', `http://127.0.0.1:${operator.port}`]);
      assert.equal(await run.ended(), 0, run.stderr());
      return `${run.stdout()}${run.stderr()}`;
    };
    const stands = async (name: string): Promise<void> => {
      const late = AbortSignal.timeout(DEADLINE_MS);
      while (service.reports()[0]?.state.name !== name) {
        assert.ok(!late.aborted, `it is not ${name}: ${JSON.stringify(service.reports())}`);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    };
    if (enabled) {
      await stands('backoff');
      assert.match(
        await status(),
        /vms +vc1 +backoff [\s\S]*\nvms: vc1 backoff \(.* refused .* with this password once, last at /,
      );
      password = server.credentials.password;
      ways.refresh();
      await stands('live');
      assert.match(
        await status(),
        /vms +vc1 +live +0 +1\/2 [\s\S]*\nvms: vc1 live, without Folder:group-v2 \(the user .* lacks the privilege System\.View on .*\), 0 to hand over/,
      );
    } else
      assert.match(
        await status(),
        /watches nothing: ASYNC_SIGNAL_DISABLED or ASYNC_SIGNAL_ENABLED .* turns the watch off\.\nnext: kubectl -n drydock set env /,
      );
  }
});
