import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterVersion, ConfigMap } from '@drydock/api';
import { type JsonObject, ledgerName, readRecord, recall } from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import { createClient, isNotFound, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { firstSeed, generator, repetitions } from '@drydock/model';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { type ApiGate, type ApiWrite, openApiGate } from './support/api-gate.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { setTrap } from './support/crd-trap.ts';
import { eventually } from './support/kube-kinds.ts';
import { type Process, startProcess } from './support/operator-process.ts';

// SIGKILL of a status writer at each of its writes while its definition goes back and forth: between status and ledger nothing is ever lost.

const [C8, C12] = [capabilitiesOf(13), capabilitiesOf(14)];
const [F13, F14] = [clusterVersionCrd(13), clusterVersionCrd(14)];
const MODULE = new URL('./support/status-writer-process.ts', import.meta.url).pathname;
const running = new AsyncDisposableStack();

let sandbox: Sandbox;
let server: CrdServer;
let client: KubeClient;
let gate: ApiGate;
let leases = 0;

before(async () => {
  sandbox = running.use(await startSandbox());
  server = running.use(connectCrdServer(sandbox));
  client = running.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  gate = running.use(await openApiGate(sandbox));
  await writeFile(join(sandbox.directory, 'gate.kubeconfig'), gate.kubeconfig, { mode: 0o600 });
});
after(() => running.disposeAsync());

function start(lease: string): Process {
  const { directory } = sandbox;
  return startProcess(MODULE, [join(directory, 'gate.kubeconfig'), lease], {
    ...{ sandbox: directory, log: join(directory, `${lease}.log`) },
  });
}

const enabledIn = (status: JsonObject): readonly string[] =>
  ((status['capabilities'] as JsonObject | undefined)?.['enabledCapabilities'] ?? []) as readonly string[];

async function status(): Promise<JsonObject> {
  return ((await client.get(ClusterVersion, { name: 'version' })).status ?? {}) as unknown as JsonObject;
}

async function ledger(): Promise<readonly string[]> {
  try {
    const found = await client.get(ConfigMap, { namespace: 'default', name: ledgerName(ClusterVersion) });
    return Object.values(found.data ?? {});
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** What a process that starts now can know. Only true while none runs. */
async function known(): Promise<readonly string[]> {
  const entries = (await ledger()).flatMap((text) => readRecord(text).entries);
  return enabledIn(recall(await status(), entries)).toSorted();
}

const same = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();
const shows = (wanted: readonly string[]) => async (): Promise<boolean> => same(enabledIn(await status()), wanted);

interface Point {
  readonly what: string;
  /** The definition that comes when the point is armed. */
  readonly to: typeof F13;
  readonly fits: (write: ApiWrite) => boolean;
}

const bodyOf = ({ body }: ApiWrite): JsonObject => (JSON.parse(body) as { readonly status?: JsonObject }).status ?? {};
const put = (write: ApiWrite, resource: string): boolean => write.verb === 'PUT' && write.resource === resource;
const POINTS: readonly Point[] = [
  {
    what: 'the record in the ledger',
    to: F13,
    fits: (write) => write.resource === 'configmaps',
  },
  {
    what: 'the cut status',
    to: F13,
    fits: (write) => put(write, 'clusterversions/status') && same(enabledIn(bodyOf(write)), C8),
  },
  {
    what: 'the whole status again',
    to: F14,
    fits: (write) => put(write, 'clusterversions/status') && same(enabledIn(bodyOf(write)), C12),
  },
  { what: 'the end of the record', to: F14, fits: (write) => put(write, 'configmaps') },
];

for (const when of ['before', 'after'] as const)
  for (const { what, to, fits } of POINTS)
    test(`SIGKILL ${when} the server has ${what}: nothing is lost, and the next process brings it to its end`, async () => {
      await setTrap(server, F14, to === F14 ? F13 : undefined, clusterVersionObject(14));
      const lease = `killed-${leases++}`;
      let writer = start(lease);
      try {
        if (to === F14) await Promise.race([eventually('the cut status', shows(C8)), writer.died]);
        else
          await Promise.race([
            eventually('a first write', async () => (await status())['versionHash'] !== 'x'),
            writer.died,
          ]);
        {
          await using hold = gate.hold(fits, when);
          await server.install(to);
          await Promise.race([hold.held, writer.died]);
          await writer.crash();
        }
        assert.deepEqual(await known(), C12);
        writer = start(lease);
        await Promise.race([eventually('the next process', shows(to === F14 ? C12 : C8)), writer.died]);
        await server.install(F14);
        await Promise.race([eventually('the whole status', shows(C12)), writer.died]);
        await Promise.race([eventually('an empty ledger', async () => (await ledger()).length === 0), writer.died]);
      } finally {
        await writer[Symbol.asyncDispose]();
      }
    });

const KILLS = repetitions(6, 1_000, 'kills');

test(`SIGKILL at any time, ${KILLS} times, while the definition goes back and forth: status and ledger together always know everything`, async () => {
  const random = generator(78 + firstSeed());
  await setTrap(server, F14, undefined, clusterVersionObject(14));
  const lease = `random-${leases++}`;
  let cuts = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const writer = start(lease);
    await server.install(kill % 2 === 0 ? F13 : F14);
    const stamp = (await status())['versionHash'];
    // From its first write on anything may be under way.
    await Promise.race([eventually('a write', async () => (await status())['versionHash'] !== stamp), writer.died]);
    await server.install(kill % 2 === 0 ? F14 : F13);
    await delay(random() * 60);
    await writer.crash();
    if (!same(enabledIn(await status()), C12)) cuts += 1;
    assert.deepEqual(await known(), C12, `after kill ${kill}`);
  }
  // A handful of kills may all come when the status is whole.
  if (KILLS >= 6) assert.ok(cuts > 0, 'nothing was ever cut');
  await server.install(F14);
  await using writer = start(lease);
  await Promise.race([eventually('the whole status', shows(C12)), writer.died]);
  await Promise.race([eventually('an empty ledger', async () => (await ledger()).length === 0), writer.died]);
});

test('negative control: a status that is cut without a record is seen', async () => {
  const trap = await setTrap(server, F14, F13, clusterVersionObject(14));
  const last = await status();
  const capabilities = { enabledCapabilities: C8, knownCapabilities: C8 };
  assert.equal((await trap.putStatus({ ...last, capabilities })).status, 200);
  assert.deepEqual(await known(), C8.toSorted());
});
