import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { generator } from '@drydock/model';
import { scratchFolder } from '@drydock/sandbox';
import { type Process, startProcess } from './support/operator-process.ts';
import { startVmCluster, type VmCluster, vmNamespace, vmSecret, vmServer } from './support/vm-cluster.ts';

const KILLS = process.env['DRYDOCK_SOAK'] === '1' ? 1_000 : 3;
const MACHINES = 8;
const folder = '/DC0/vm/killed';
const drydock = resolve(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const names = Array.from({ length: MACHINES }, (_, n) => `vm-${n}`);
const running = new AsyncDisposableStack();

let cluster: VmCluster;
let start: () => Process;

before(async () => {
  cluster = running.use(await startVmCluster());
  await cluster.folder(folder);
  for (const name of names) await cluster.machine(name, folder);
  await cluster.zone('zone', (await cluster.switchboard.find(folder)).moref);
  const { sandbox } = cluster;
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
      compiled: join(files, 'compiled'),
    });
});

after(() => running.disposeAsync());

test(`SIGKILL of the whole process under load, ${KILLS} times: nothing is lost once it runs again, and no session outlives it`, async () => {
  const random = generator(Number(process.env['DRYDOCK_SEED'] ?? '7'));
  const wanted = new Map<string, boolean>();
  let changes = 0;
  let loading = true;
  const powerOf = (name: string): string => (wanted.get(name) === true ? 'PoweredOn' : 'PoweredOff');
  const pick = (): string => names[Math.floor(random() * names.length)] ?? '';
  const change = async (name = pick()): Promise<string> => {
    const on = wanted.get(name) !== true;
    await cluster.switchboard.powerVm(`${folder}/${name}`, on);
    wanted.set(name, on);
    changes += 1;
    return name;
  };
  const load = (async () => {
    while (loading) {
      await change();
      await new Promise((done) => setTimeout(done, 20));
    }
  })();
  let operator = start();
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const [probe = ''] = names;
      await Promise.race([
        cluster.shows(probe, 'its machine', ({ uniqueID }) => uniqueID !== undefined),
        operator.died,
      ]);
      const until = changes + 1 + Math.floor(random() * 10);
      while (changes < until) await new Promise((done) => setTimeout(done, 5));
      await operator.crash();
      // While nobody looks, something changes that its object does not show: or this rig would see no loss.
      const name = await change();
      const stale = async (): Promise<boolean> => (await cluster.status(name)).powerState !== powerOf(name);
      if (!(await stale())) await change(name);
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
  // Those of the killed processes end by the server's own idle limit.
  const { sessions } = await cluster.switchboard.sessions();
  assert.ok(sessions.length <= KILLS, `${sessions.length} sessions`);
});
