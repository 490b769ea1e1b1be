import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { firstSeed, generator, repetitions } from '@drydock/model';
import { scratchFolder } from '@drydock/sandbox';
import { type Process, startProcess } from './support/operator-process.ts';
import { type RawVCenter, rawVCenter } from './support/raw-vcenter.ts';
import { startVmCluster, type VmCluster, vmNamespace, vmSecret, vmServer } from './support/vm-cluster.ts';

const KILLS = repetitions(20, 1_000, 'kills');
/** The server's own limit for sessions that nobody uses, in seconds. */
const IDLE = 5;
const MACHINES = 8;
const folder = '/DC0/vm/killed';
const drydock = resolve(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const names = Array.from({ length: MACHINES }, (_, n) => `vm-${n}`);
const running = new AsyncDisposableStack();

let cluster: VmCluster;
let start: () => Process;
let admin: RawVCenter;
/** Sessions that have nothing to do with the operator. */
let others: readonly string[];

before(async () => {
  cluster = running.use(await startVmCluster());
  await cluster.folder(folder);
  for (const name of names) await cluster.machine(name, folder);
  await cluster.zone('zone', (await cluster.switchboard.find(folder)).moref);
  const { sandbox } = cluster;
  admin = running.use(await rawVCenter(sandbox));
  await admin.idleLimit(IDLE);
  others = await admin.sessions();
  const files = running.use(scratchFolder()).path;
  const args = [
    ...[
      'operator',
      '--roles',
      'watch',
      '--kubeconfig',
      sandbox.kubeconfig,
      '--port',
      '0',
      '--lease-namespace',
      vmNamespace,
    ],
    ...['--identity', 'the-one', '--vcenter', vmServer, '--vcenter-secret', `${vmNamespace}/${vmSecret.name}`],
    ...['--vcenter-url', `${vmServer}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca],
  ];
  start = () =>
    startProcess(drydock, args, {
      sandbox: sandbox.directory,
      log: join(files, 'log'),
    });
});

after(() => running.disposeAsync());

test(`SIGKILL of the whole process under load, ${KILLS} times: nothing is lost once it runs again, and no session outlives the limit of the server`, async () => {
  const random = generator(firstSeed());
  const wanted = new Map<string, boolean>();
  let changes = 0;
  let loading = true;
  let followed = 0;
  let orphans = 0;
  let last = Promise.resolve('');
  const powerOf = (name: string): string => (wanted.get(name) === true ? 'PoweredOn' : 'PoweredOff');
  // The load leaves this one alone, so that it shows whether anybody follows.
  const [probe = '', ...loaded] = names;
  const pick = (): string => loaded[Math.floor(random() * loaded.length)] ?? '';
  const change = (name = pick()): Promise<string> => {
    // One after another, or two would switch the same machine on.
    last = last.then(async () => {
      const on = wanted.get(name) !== true;
      await cluster.switchboard.powerVm(`${folder}/${name}`, on);
      wanted.set(name, on);
      changes += 1;
      return name;
    });
    return last;
  };
  const left = async (): Promise<readonly string[]> =>
    (await admin.sessions()).filter((session) => !others.includes(session));
  const load = (async () => {
    while (loading) {
      await change();
      await new Promise((done) => setTimeout(done, 20));
    }
  })();
  let operator = start();
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      // Every other one is killed while it starts, the rest while it follows.
      if (kill % 2 === 0) {
        await change(probe);
        const power = powerOf(probe);
        await Promise.race([cluster.shows(probe, power, ({ powerState }) => powerState === power), operator.died]);
        followed += 1;
      }
      const until = changes + 1 + Math.floor(random() * 20);
      while (changes < until) await new Promise((done) => setTimeout(done, 5));
      await operator.crash();
      if ((await left()).length > 0) orphans += 1;
      // While nobody looks, something changes that its object does not show: or this rig would see no loss.
      const stale = async (): Promise<boolean> => (await cluster.status(probe)).powerState !== powerOf(probe);
      await change(probe);
      if (!(await stale())) await change(probe);
      assert.ok(await stale(), 'somebody still writes');
      operator = start();
    }
    loading = false;
    await load;
    for (const name of names) {
      const power = powerOf(name);
      await Promise.race([cluster.shows(name, power, ({ powerState }) => powerState === power), operator.died]);
    }
  } finally {
    loading = false;
    await load;
    await operator[Symbol.asyncDispose]();
  }
  assert.ok(changes > KILLS * 2, `${changes} changes`);
  assert.equal(followed, Math.ceil(KILLS / 2));
  assert.ok(orphans > 0, 'no killed process left a session: this rig would see none that stays');
  // Nobody can log a killed process out: its sessions, and the views and collectors in them, end by the server's own limit, and the simulator looks only now and then.
  const deadline = performance.now() + (2 * IDLE + 20) * 1_000;
  while ((await left()).length > 0 && performance.now() < deadline) await new Promise((done) => setTimeout(done, 200));
  assert.deepEqual(await left(), []);
});
