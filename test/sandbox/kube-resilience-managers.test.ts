import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { generator, seeds } from '@drydock/model';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, each, eventually, NAMESPACE } from './support/kube-kinds.ts';

const SCRIPT = fileURLToPath(new URL('support/kube-manager.ts', import.meta.url));
const NAMES = Array.from({ length: 30 }, (_, n) => `o-${n}`);
const ROUNDS = 4;

let sandbox: Sandbox;
let client: KubeClient;
/** What one manager leaves that nobody disturbs. */
let undisturbed: Readonly<Record<string, unknown>>;

before(async () => {
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  undisturbed = await alone('alone', 'guarded');
  assert.equal(Object.keys(undisturbed).length, NAMES.length * (1 + ROUNDS), 'one mark per object and round');
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

type Mode = 'guarded' | 'blind';

interface Manager extends AsyncDisposable {
  readonly lines: readonly string[];
  readonly child: ChildProcess;
  said(line: string): boolean;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

function manager(namespace: string, identity: string, mode: Mode, stopsIn = ''): Manager {
  // Its standard input is a pipe from here: however this process ends, the manager ends too.
  const child = spawn(process.execPath, [SCRIPT, sandbox.kubeconfig, namespace, identity, mode, stopsIn], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  return {
    lines,
    child,
    said: (line) => lines.includes(line),
    signal: (name) => void child.kill(name),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Everything that the managers leave, without what differs from run to run. */
async function state(namespace: string): Promise<Readonly<Record<string, unknown>>> {
  const maps = await Array.fromAsync(client.list(CONFIG_MAP, { namespace }));
  return Object.fromEntries(maps.map(({ metadata, data }) => [metadata.name, data ?? {}]));
}

/** Wants one round of everything; `done` tells whether the managers brought all of it. */
async function wish(namespace: string, round: number): Promise<void> {
  await each(NAMES, 8, (name) => client.mergePatch(CONFIG_MAP, { namespace, name }, { data: { want: `${round}` } }));
}

async function done(namespace: string, round: number): Promise<boolean> {
  const maps = await Array.fromAsync(client.list(CONFIG_MAP, { namespace, labels: 'work=y' }));
  return maps.every(({ data }) => data?.['have'] === `${round}`);
}

async function prepare(namespace: string): Promise<void> {
  await client.create(NAMESPACE, { metadata: { name: namespace } });
  await each(NAMES, 8, (name) =>
    client.create(CONFIG_MAP, { metadata: { namespace, name, labels: { work: 'y' } }, data: { runs: '0' } }),
  );
}

/** What one manager leaves that nobody disturbs. */
async function alone(namespace: string, mode: Mode): Promise<Readonly<Record<string, unknown>>> {
  await prepare(namespace);
  await using only = manager(namespace, 'only', mode);
  await eventually('leadership', () => only.said('leading'));
  for (let round = 1; round <= ROUNDS; round++) {
    await wish(namespace, round);
    await eventually(`round ${round}`, () => done(namespace, round));
  }
  return state(namespace);
}

/**
 * What two managers leave, of which the leader is stopped in round 2, `after` so many ms or by itself between a decision and its write, and woken in
 * the last round, when its lease has long expired and the other one has done round 3.
 */
async function disturbed(
  namespace: string,
  mode: Mode,
  after: number | 'midway',
): Promise<Readonly<Record<string, unknown>>> {
  await prepare(namespace);
  await using first = manager(namespace, 'first', mode, after === 'midway' ? '2' : '');
  await eventually('leadership', () => first.said('leading'));
  await using second = manager(namespace, 'second', mode);
  await wish(namespace, 1);
  await eventually('round 1', () => done(namespace, 1));
  const wishing = wish(namespace, 2);
  if (after === 'midway')
    await eventually('the middle of a reconcile', () => first.lines.some((line) => /^between o-\d+ 2$/.test(line)));
  else await pause(after);
  first.signal('SIGSTOP');
  await wishing;
  await eventually('the other one leads', () => second.said('leading'));
  for (const round of [2, 3]) {
    await wish(namespace, round);
    await eventually(`round ${round}`, () => done(namespace, round));
  }
  assert.equal(first.said('ended LeaseLost'), false, 'it is still stopped');
  const waking = once(first.child, 'exit');
  first.signal('SIGCONT');
  // A late write is told from others only while nobody else writes: two blind writers at the same time may look like one.
  if (after === 'midway') await waking;
  await wish(namespace, ROUNDS);
  const [code] = (await waking) as [number];
  assert.deepEqual([code, first.lines.at(-1)], [1, 'ended LeaseLost']);
  await eventually('the last round', () => done(namespace, ROUNDS));
  return state(namespace);
}

for (const seed of seeds(1, 50)) {
  test(`two managers, the leader stopped at a random instant (seed ${seed}) and woken after its lease expired, leave what one leaves`, async () => {
    assert.deepEqual(await disturbed(`two-${seed}`, 'guarded', generator(seed)() * 400), undisturbed);
  });
}

test('stopped between its decision and its write, the late write changes nothing', async () => {
  assert.deepEqual(await disturbed('late', 'guarded', 'midway'), undisturbed);
});

test('negative control: without a guard the late write counts twice', async () => {
  const expected = await alone('blind-alone', 'blind');
  assert.notDeepEqual(await disturbed('blind', 'blind', 'midway'), expected);
});
