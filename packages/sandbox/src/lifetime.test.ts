import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { backendOf } from './backend.ts';
import { identityOf, type ProcessIdentity, stateOf } from './process-identity.ts';
import { scratchFolder, sweep } from './workdir.ts';

/** etcd and kube-apiserver, or the one embedded process. */
const PLANE = backendOf() === 'real' ? 2 : 1;
const BIN = join(import.meta.dirname, '../bin/drydock-sandbox.js');

/** A launcher with a temp folder of its own, so that nobody else's start sweeps what a test looks at. */
interface Launcher extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly temp: string;
  readonly line: Promise<string>;
  folders(): readonly string[];
  /** Identities of its servers, as recorded in its folder. */
  servers(): readonly ProcessIdentity[];
  kill(signal: NodeJS.Signals): Promise<{ code: number | null; signal: string | null }>;
}

function launch(args: readonly string[]): Launcher {
  const folder = scratchFolder();
  const temp = folder.path;
  const child = spawn(process.execPath, args, {
    env: { ...process.env, TMPDIR: temp },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const lines = createInterface(child.stdout ?? assert.fail());
  const folders = (): readonly string[] =>
    readdirSync(temp)
      .filter((name) => name.startsWith('drydock-sandbox-'))
      .map((name) => join(temp, name));
  return {
    child,
    temp,
    line: Promise.race([
      once(lines, 'line').then(([line]) => String(line)),
      exit.then(() => '{"ended":"before it printed a line"}'),
    ]),
    folders,
    servers: () =>
      folders().flatMap((folder) =>
        readdirSync(folder)
          .filter((name) => name.endsWith('.identity'))
          .map((name) => readFileSync(join(folder, name), 'utf8')),
      ),
    async kill(signal) {
      child.kill(signal);
      await exit;
      return { code: child.exitCode, signal: child.signalCode };
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exit;
      sweep(temp);
      folder[Symbol.dispose]();
    },
  };
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, `in vain waited until ${what}`);
    await delay(20);
  }
}

const SCRIPT = [
  '--input-type=module-typescript',
  '-e',
  `import { startSandbox } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
   await startSandbox();
   console.log('up');`,
];

test('up prints one line of JSON, and SIGTERM leaves no process and no file', async () => {
  await using launcher = launch([BIN, 'up']);
  const up: unknown = JSON.parse(await launcher.line);
  assert.ok(typeof up === 'object' && up !== null && 'kubeconfig' in up && 'vcenter' in up, JSON.stringify(up));
  assert.deepEqual(Object.keys(up).sort(), ['ca', 'era', 'kubeconfig', 'pid', 'server', 'vcenter']);
  assert.deepEqual(Object.keys(up.vcenter as object).sort(), ['ca', 'password', 'switchboard', 'url', 'user']);
  assert.ok(existsSync(String(up.kubeconfig)));
  const servers = launcher.servers();
  assert.equal(servers.length, PLANE + 1);
  assert.deepEqual(new Set(servers.map(stateOf)), new Set(['alive']));
  assert.deepEqual(await launcher.kill('SIGTERM'), { code: 143, signal: null });
  assert.deepEqual(new Set(servers.map(stateOf)), new Set(['dead']));
  assert.deepEqual(readdirSync(launcher.temp), []);
});

test('Ctrl-C in the middle of the start leaves no process and no file', async () => {
  await using launcher = launch([BIN, 'up', '--no-vcenter']);
  await until('the first server runs', () => launcher.servers().length > 0);
  const servers = launcher.servers();
  assert.deepEqual(await launcher.kill('SIGINT'), { code: 130, signal: null });
  assert.deepEqual(new Set(servers.map(stateOf)), new Set(['dead']));
  assert.deepEqual(readdirSync(launcher.temp), []);
});

test('a program that disposes nothing and handles no signal is cleaned up after all', async () => {
  await using launcher = launch(SCRIPT);
  assert.equal(await launcher.line, 'up');
  const servers = launcher.servers();
  assert.deepEqual(await launcher.kill('SIGTERM'), { code: null, signal: 'SIGTERM' });
  await until('the servers have ended', () => servers.every((one) => stateOf(one) === 'dead'));
  assert.deepEqual(readdirSync(launcher.temp), []);
});

test('servers end with a SIGKILLed launcher, and the next start sweeps its folder', async () => {
  await using launcher = launch(SCRIPT);
  assert.equal(await launcher.line, 'up');
  const servers = launcher.servers();
  assert.equal(servers.length, PLANE);
  assert.deepEqual(sweep(launcher.temp), []);
  await launcher.kill('SIGKILL');
  await until('the servers have ended', () => servers.every((one) => stateOf(one) === 'dead'));
  const left = launcher.folders();
  assert.equal(left.length, 1);
  assert.deepEqual(sweep(launcher.temp), left);
  assert.deepEqual(readdirSync(launcher.temp), []);
});

test('the sweep ends a server that outlived its launcher, and spares one whose pid was reused', async () => {
  await using launcher = launch(['-e', 'console.log("dead soon")']);
  const owner = identityOf(launcher.child.pid ?? 0) ?? assert.fail('no identity');
  await launcher.line;
  await launcher.kill('SIGKILL');
  const idle = (): ChildProcess => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  const [server, bystander] = [idle(), idle()];
  try {
    await Promise.all([once(server, 'spawn'), once(bystander, 'spawn')]);
    const folder = mkdtempSync(join(launcher.temp, `drydock-sandbox-${owner}-`));
    const [pid, start, space] = (identityOf(bystander.pid ?? 0) ?? '').split('-');
    writeFileSync(join(folder, 'etcd.identity'), identityOf(server.pid ?? 0) ?? '');
    writeFileSync(join(folder, 'kube-apiserver.identity'), `${pid}-1${start}-${space}`);
    const exit = once(server, 'exit');
    assert.deepEqual(sweep(launcher.temp), [folder]);
    await exit;
    assert.equal(server.signalCode, 'SIGKILL');
    assert.equal(stateOf(`${pid}-${start}-${space}`), 'alive');
  } finally {
    server.kill('SIGKILL');
    bystander.kill('SIGKILL');
  }
});

test('usage errors exit with 2 and say what was wrong', async () => {
  const child = spawn(process.execPath, [BIN, 'upp'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(child, 'close');
  assert.equal(child.exitCode, 2);
  assert.match(text, /unknown verb "upp"[\s\S]*usage:/);
});

test('a scratch folder and the processes recorded in it go with their process; what a SIGKILL leaves the next one sweeps', async () => {
  const script = [
    '--input-type=module-typescript',
    '-e',
    `import { spawn } from 'node:child_process';
     import { recordProcess, scratchFolder } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
     { using gone = scratchFolder(); }
     const { path } = scratchFolder();
     const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
     recordProcess(path, 'child', child.pid);
     console.log(path);`,
  ];
  for (const [signal, left] of [
    ['SIGTERM', false],
    ['SIGKILL', true],
  ] as const) {
    await using launcher = launch(script);
    const path = await launcher.line;
    assert.deepEqual(launcher.folders(), [path]);
    using spared = scratchFolder(launcher.temp);
    const [child = ''] = launcher.servers();
    assert.deepEqual([existsSync(path), stateOf(child)], [true, 'alive']);
    await launcher.kill(signal);
    assert.equal(existsSync(path), left);
    if (left) assert.equal(stateOf(child), 'alive');
    using _sweeping = scratchFolder(launcher.temp);
    assert.equal(existsSync(path), false);
    await until('the recorded process has ended', () => stateOf(child) === 'dead');
    assert.equal(existsSync(spared.path), true);
  }
});
