import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ClusterVersion } from '@drydock/api';
import { clusterVersionManifest } from '@drydock/crd/testing';
import type { KubeObject } from '@drydock/kube';
import { generator, seeds, withSeed } from '@drydock/model';
import { applyPayload, restoreKept } from '@drydock/release';
import { withoutRealServers } from '@drydock/sandbox';
import { bareEnds, bareOwner, barePorts } from './support/bare-way.ts';
import { connectCrdServer } from './support/crd-server.ts';
import { eventually } from './support/kube-kinds.ts';
import { legacyWriter } from './support/legacy-writer.ts';
import { startProcess } from './support/operator-process.ts';
import { WIDGET } from './support/way-back-objects.ts';
import { C14, CV, fits, key, startWayBackRig, type WayBackRig } from './support/way-back-rig.ts';

// A way back that somebody stands in the way of: whoever kills the manager, or a writer that cannot be told.

let world: WayBackRig;
before(async () => {
  world = await startWayBackRig();
});
after(async () => {
  await world?.[Symbol.asyncDispose]();
});

/** What is seen of a way, in its order. */
const BOUNDARIES: readonly (readonly [what: string, seen: () => Promise<boolean>])[] = [
  ['it is begun', async () => (await world.headOf()).startsWith('4.13.0')],
  ['the first writers know', async () => world.isMarked(CV)],
  ['all writers know', async () => world.isMarked('widgets.shop.example.com')],
  ['something is kept', async () => (await world.ledgers()) > 0],
  ['the first bridge', async () => world.isBridge(CV)],
  ['all bridges', async () => world.isBridge('widgets.shop.example.com')],
  ['the older operator', async () => (await world.operatorVersion()) === '4.13'],
  ['the first definition is narrow', async () => !(await world.isBridge(CV))],
  ['all definitions are narrow', async () => !(await world.isBridge('widgets.shop.example.com'))],
  ['the last one is proved', async () => !(await world.isMarked('widgets.shop.example.com'))],
];

test('RB-R92 the manager is killed at every boundary, and the API server once: another process ends it as if nothing had been', async (t) => {
  const images = await world.releases((minor) => clusterVersionManifest(minor));
  const begin = world.audit.calls().length;
  let running = await world.operator();
  let kills = 0;
  const killed = async (): Promise<void> => {
    await running.crash();
    kills += 1;
    assert.deepEqual(await world.lost(), []);
    running = await world.operator();
  };
  try {
    await world.inUse(images);
    await world.wants({ version: '4.13.0', image: null });
    for (const [what, seen] of BOUNDARIES) {
      await eventually(what, seen, 300);
      if (what === 'all bridges') await world.sandbox.apiserver.restart();
      else await killed();
    }
    await world.completed('4.13.0');
    await world.assertStrict();
    assert.deepEqual(await world.lost(), []);
    world.assertNeverRefused(begin);
  } finally {
    await running[Symbol.asyncDispose]();
  }
  t.diagnostic(`${kills} kills`);
  await world.gone();
});

const ownAddress = Object.values(networkInterfaces())
  .flatMap((all = []) => all)
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

/** Says that one API server more is there, as API servers themselves do in a cluster. */
async function announce(name: string, address: string, port: number): Promise<void> {
  const metadata = { name, labels: { 'kubernetes.io/service-name': 'kubernetes' } };
  const endpoints = [{ addresses: [address], conditions: { ready: true } }];
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  const body = { metadata, addressType: 'IPv4', endpoints, ports };
  await world.client.raw({ method: 'POST', path: SLICES, body });
}

test('RB-R96 beside an API server of another kind that stands still nothing goes on: its definitions are not known. It comes to, and the way is gone', {
  skip:
    withoutRealServers('it starts a second API server on the same data') ||
    (ownAddress === undefined && 'this machine has only a loopback interface, which no EndpointSlice can name'),
}, async () => {
  const address = ownAddress ?? '';
  const images = await world.releases((minor) => clusterVersionManifest(minor));
  const replica = await world.sandbox.startReplica('E2', { address });
  const pid = replica.apiserver.pid ?? assert.fail('it runs');
  await announce('kubernetes', address, replica.port);
  // And one where nobody listens.
  await announce('kubernetes-gone', address, 1);
  await using stack = new AsyncDisposableStack();
  try {
    {
      await using _before = await world.operator();
      await world.inUse(images);
    }
    process.kill(pid, 'SIGSTOP');
    // Nobody leads: who asks is told which server says nothing, and what was there stays.
    const refused = await world.ran(['rollback', 'cluster', '--to', '4.13.0', '--yes', '-o', 'json']);
    assert.equal(refused.code, 3, refused.err);
    const { message } = JSON.parse(refused.out) as { readonly message: string };
    for (const port of [1, replica.port]) {
      assert.ok(message.includes(`https://${address}:${port}, one of 2 API servers, cannot be asked`), message);
      assert.ok(message.includes(` --accept ApiServer/https://${address}:${port}`), message);
    }
    assert.equal(await world.headOf(), '4.14.0 Completed');
    const running = stack.use(await world.operator());
    await world.wants({ version: '4.13.0', image: null });
    await eventually(
      'the first bridge is there, and waited for',
      async () => /Going back to 4\.13\.0: Bridge: /.test(await world.conditionOf('Progressing')),
      120,
    );
    // The other server has not said that it serves the bridge: nobody of 4.13 comes.
    for (let look = 0; look < 10; look += 1)
      assert.deepEqual(
        [await world.operatorVersion(), await world.isBridge('widgets.shop.example.com')],
        ['4.14', false],
      );
    process.kill(pid, 'SIGCONT');
    await world.completed('4.13.0');
    await world.assertStrict();
    assert.deepEqual(await world.lost(), []);
    assert.doesNotMatch(running.log(), /not every API server/);
    assert.ok(running.log().includes(`https://${address}:1 cannot be asked`), 'who is left out is told');
  } finally {
    process.kill(pid, 'SIGCONT');
    await replica.apiserver.kill();
    for (const name of ['kubernetes', 'kubernetes-gone'])
      await world.client.raw({ method: 'DELETE', path: `${SLICES}/${name}` });
  }
  await world.gone();
});

test('RB-R93 a legacy writer keeps its definition at the bridge: exit code 3, RollbackIncomplete, and it goes on once that is mended', async () => {
  const images = await world.releases((minor) => clusterVersionManifest(minor));
  await using _running = await world.operator();
  await world.inUse(images);
  const server = connectCrdServer(world.sandbox);
  const legacy = legacyWriter(server, C14);
  try {
    await legacy.wrote('taken', 2);
    const asked = await world.ran(['rollback', 'cluster', '--to', '4.13.0', '--yes', '-o', 'json']);
    assert.equal(asked.code, 3, asked.err);
    const said = JSON.parse(asked.out) as { readonly result: string; readonly message: string };
    fits('release-rollback', said);
    assert.equal(said.result, 'incomplete');
    assert.match(said.message, /clusterversions\.config\.openshift\.io .*version status\..*puts back/);
    assert.match(await world.conditionOf('RollbackIncomplete'), /^True DefinitionsKept/);
    assert.deepEqual([await world.isBridge(CV), await world.isBridge('widgets.shop.example.com')], [true, false]);
    assert.equal(legacy.refused, 0, 'where both can write nobody is refused');
    assert.deepEqual(await world.lost(), []);
  } finally {
    await legacy[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  }
  await world.completed('4.13.0');
  assert.equal(await world.conditionOf('RollbackIncomplete'), '');
  assert.deepEqual([await world.isBridge(CV), await world.lost()], [false, []]);
  await world.assertStrict();
  await world.gone();
});

/** Instants of a kill; one of a way has so many calls. */
const INSTANTS = ['before', 'during', 'after'] as const;
const CALLS = 60;
const PROCESS = new URL('./support/way-process.ts', import.meta.url).pathname;

/** One process that goes back; resolves to how it ended. */
async function wentBack(at: { readonly call: number; readonly instant: string } | undefined): Promise<string> {
  const args = at === undefined ? [] : [`${at.call}`, at.instant];
  const log = join(world.sandbox.directory, 'way-process.log');
  const files = { sandbox: world.sandbox.directory, log };
  await using going = startProcess(PROCESS, [world.sandbox.kubeconfig, ...args], files);
  const ended = await going.ended;
  if (ended === 'SIGKILL' || ended === 0 || ended === 9) return `${ended}`;
  throw new Error(`a way ended with ${ended}: ${readFileSync(log, 'utf8').slice(-2_000)}`);
}

test('RB-R92 SIGKILL at seeded calls of a way, before, while and after they are answered, and two managers at once: the next process goes on, nothing is lost or illegal at any time, and forward again all is back', async (t) => {
  const { client } = world;
  const ports = barePorts(client);
  const begin = world.audit.calls().length;
  const forward = async (minor: 13 | 14): Promise<void> => {
    const { payload, manifests } = bareEnds[minor];
    const { inventory, clock, signal, onProgress } = ports;
    const outcome = await applyPayload(
      { payload, manifests, mode: 'updating', attempt: 0, owner: bareOwner },
      { client, inventory, clock, signal, onProgress: () => onProgress({ phase: 'Operators', what: '' }) },
    );
    assert.deepEqual([outcome.complete, outcome.errors], [true, []]);
  };
  const stored = async (): Promise<readonly unknown[]> => {
    const all = [await client.get(ClusterVersion, key), await client.get(WIDGET, { name: 'one' })];
    return (all as readonly KubeObject[]).map(({ metadata: _metadata, ...rest }) => rest);
  };
  const whole = async (): Promise<void> => {
    await world.assertStrict();
    assert.deepEqual(await world.lost(), []);
  };
  await forward(13);
  await forward(14);
  await world.used();
  const before = await stored();
  let [kills, ways] = [0, 0];
  const finish = async (): Promise<void> => {
    assert.equal(await wentBack(undefined), '0');
    ways += 1;
    await whole();
    assert.deepEqual([await world.isBridge(CV), await world.isBridge('widgets.shop.example.com')], [false, false]);
    assert.equal(await world.operatorVersion(), '4.13');
    await forward(14);
    await restoreKept({ ...ports, of: bareEnds[14] });
    assert.deepEqual(await stored(), before);
  };
  for (const seed of seeds(6, 5_000, 'instants of ways back'))
    await withSeed(seed, 'test/sandbox/release-way-back-kill.test.ts', async () => {
      const random = generator(seed);
      const at = {
        call: 1 + Math.floor(random() * CALLS),
        instant: INSTANTS[Math.floor(random() * INSTANTS.length)] as string,
      };
      // Whoever was thought dead, and goes on beside the next one.
      const two = seed % 10 === 3;
      const ended = await Promise.all([wentBack(at), ...(two ? [wentBack(undefined)] : [])]);
      kills += ended.filter((how) => how === 'SIGKILL').length;
      await whole();
      // It had fewer calls to make, or the other one has made them.
      if (ended.includes('0') || random() < 0.1) await finish();
    });
  await finish();
  world.assertNeverRefused(begin);
  t.diagnostic(`${kills} kills on ${ways} ways`);
  assert.ok(kills > 0);
  await world.unused(bareOwner);
});
