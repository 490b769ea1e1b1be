import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connectSwitchboard, type Switchboard, startSandbox, type VCenterSandbox } from '@drydock/sandbox';

const binary = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const FOLDER = '/DC0/vm/watched';
const DEADLINE_MS = 30_000;

let sandbox: VCenterSandbox;
let switchboard: Switchboard;
before(async () => {
  sandbox = await startSandbox({ vcenter: true });
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
  await run.says(/Watching 2 machines in 1 containers/);
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

test('containers of every kind, by path and by reference; what is none or does not exist ends at once, in words', async () => {
  const cluster = await switchboard.find('/DC0/host/DC0_C0');
  const folder = await switchboard.find(FOLDER);
  await using run = watch([
    'vms',
    ...['/DC0', '/DC0/host/DC0_C0', '/DC0/host/DC0_C0/DC0_C0_H0', 'DC0/host/DC0_C0/Resources'].flatMap((path) => [
      '--container',
      path,
    ]),
    ...['--container', `${cluster.type}:${cluster.moref}`, '--container', `${folder.type}:${folder.moref}`],
  ]);
  await run.says(/Watching [1-9]\d* machines in 6 containers/);
  run.process.kill('SIGINT');
  assert.equal(await run.ended(), 130);

  for (const [container, code, says] of [
    ['/DC0/vm/nowhere', 3, /there is no \/DC0\/vm\/nowhere in .*\nnext: govc find/],
    ['Folder:group-v9999', 3, /there is no Folder:group-v9999/],
    [`${FOLDER}/one`, 2, /is a VirtualMachine, which has no machines below it/],
  ] as const) {
    await using wrong = watch(['vms', '--container', container]);
    assert.equal(await wrong.ended(), code, wrong.stderr());
    assert.match(wrong.stderr(), says);
  }
  await using refused = watch(['vms'], { GOVC_PASSWORD: 'wrong' });
  assert.equal(await refused.ended(), 1);
  assert.match(refused.stderr(), /does not let .* in: .*\nnext: drydock template doctor/);
  assert.deepEqual((await switchboard.sessions()).sessions, []);
});

test('status shows the watches of an operator by its metrics, and says what to do where there is none', async () => {
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
  const server = createServer((_request, response) => response.end(`# HELP x\n${metrics}\n`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const operator = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using run = watch(['status', '--operator', operator]);
  assert.equal(await run.ended(), 0, run.stderr());
  assert.match(
    run.stdout(),
    /^WATCH +VCENTER +STATE +MACHINES +CONTAINERS +DIRTY +LAG +SIGNALS\nvms +vc1 +backoff +40 +1\/3 +3 +1\.\ds +8\n$/,
  );
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  await using gone = watch(['status', '--operator', operator]);
  assert.equal(await gone.ended(), 1);
  assert.match(gone.stderr(), /cannot be read: .*\nnext: kubectl port-forward/);
});
