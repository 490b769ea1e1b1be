import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterVersion, ConfigMap, Event, Lease } from '@drydock/api';
import { type Crd, type JsonObject, ledgerName, lossPlace, readCrd, readRecord } from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionManifest, clusterVersionObject } from '@drydock/crd/testing';
import { createClient, type KubeClient, loadKubeconfig, readStatusNote } from '@drydock/kube';
import { API_SERVER_ERAS, type Sandbox, startSandbox } from '@drydock/sandbox';
import { skips } from './support/crd-eras.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { setTrap } from './support/crd-trap.ts';
import { eventually } from './support/kube-kinds.ts';
import { at, type RunningWriter, type StatusWriterSettings, startStatusWriter } from './support/status-writer.ts';

// A status writer that runs while the definition under it changes, on real API servers.

const C8 = capabilitiesOf(13);
const C12 = capabilitiesOf(14);
const KEY = { name: 'version' };
const [F13, F14] = [clusterVersionCrd(13), clusterVersionCrd(14)];

let sandbox: Sandbox;
let server: CrdServer;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox();
  server = connectCrdServer(sandbox);
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
});
after(async () => {
  await client?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

const start = (settings: Pick<StatusWriterSettings, 'lease'> & Partial<StatusWriterSettings>): Promise<RunningWriter> =>
  startStatusWriter({ client, crd: F14, name: 'version', ...settings });

async function status(): Promise<JsonObject> {
  return ((await client.get(ClusterVersion, KEY)).status ?? {}) as unknown as JsonObject;
}

async function ledger(): Promise<readonly string[]> {
  const where = { namespace: 'default', name: ledgerName(ClusterVersion) };
  const data = (await client.get(ConfigMap, where).catch(() => undefined))?.data ?? {};
  return Object.values(data).flatMap((text) =>
    readRecord(text).entries.map((entry) => `${lossPlace(entry)} ${JSON.stringify(entry.value)}`),
  );
}

/** Reasons of the Events about this very object. */
async function reasons(): Promise<readonly string[]> {
  const { metadata } = await client.get(ClusterVersion, KEY);
  const all = await Array.fromAsync(client.list(Event, { namespace: 'default' }));
  const own = all.filter(({ regarding }) => regarding?.uid === metadata.uid);
  return own.toSorted((a, b) => (a.eventTime ?? '').localeCompare(b.eventTime ?? '')).map(({ reason = '' }) => reason);
}

/** Looks at the age of the status until the end of the scope: the greatest one (ms). */
function watchAge(): AsyncDisposable & { readonly worst: () => number } {
  let worst = 0;
  const stop = new AbortController();
  const done = (async () => {
    while (!stop.signal.aborted) {
      const stamp = Date.parse(textOf((await status())['versionHash']));
      if (!Number.isNaN(stamp)) worst = Math.max(worst, Date.now() - stamp);
      await delay(50);
    }
  })();
  return {
    worst: () => worst,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await done;
    },
  };
}

const enabled = async (): Promise<unknown> => at(await status(), 'capabilities', 'enabledCapabilities');
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The definition of 4.14 with another field that the root of the status requires, and that nobody can make up. */
function unfixable(): Crd {
  const manifest = structuredClone(clusterVersionManifest(14)) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { status: StatusSchema } } } }[] };
  };
  const of = manifest.spec.versions[0]?.schema.openAPIV3Schema.properties.status ?? assert.fail('there is a status');
  of.properties['seal'] = { type: 'string', pattern: '^[0-9a-f]{64}$' };
  of.required.push('seal');
  return readCrd(manifest as never, 'unfixable');
}

interface StatusSchema {
  readonly properties: { [name: string]: unknown };
  readonly required: string[];
}

for (const era of API_SERVER_ERAS) {
  suite(`a status writer on ${era}`, { skip: skips(era) }, () => {
    before(async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
    });

    test(`RB-R78 and RB-R79 on ${era}: the definition goes back and forth under a running writer: at most one refusal, no old status, four values of two lists in the ledger, and all of them back`, async () => {
      await setTrap(server, F14, undefined, clusterVersionObject(14));
      await using writer = await start({ lease: `back-and-forth-${era.toLowerCase()}` });
      await eventually('the first write', () => writer.counts.written > 2);
      await using age = watchAge();
      await server.install(F13);
      await eventually('a legal status', async () => same(await enabled(), C8));
      assert.ok(writer.counts.refused <= 1, `${writer.counts.refused} refusals`);
      const illegal = C12.filter((name) => !C8.includes(name));
      const lists = ['enabledCapabilities', 'knownCapabilities'];
      assert.deepEqual(
        (await ledger()).toSorted(),
        lists.flatMap((list) => illegal.map((name) => `status.capabilities.${list}[] "${name}"`)).toSorted(),
      );
      const { written } = writer.counts;
      await eventually('more writes', () => writer.counts.written > written + 3);
      assert.match(await writer.scrape(), /drydock_status_quarantined_values\{definition="clusterversions[^}]*\} 8\n/);
      await server.install(F14);
      await eventually('the whole status', async () => same(await enabled(), C12));
      await eventually('an empty ledger', async () => (await ledger()).length === 0);
      await eventually('both events', async () => same(await reasons(), ['StatusDegraded', 'StatusRestored']));
      assert.match(await writer.scrape(), /drydock_status_quarantined_values\{definition="clusterversions[^}]*\} 0\n/);
      assert.ok(writer.counts.refused <= 2, `${writer.counts.refused} refusals`);
      assert.ok(age.worst() < 5_000, `the status was ${age.worst()} ms old`);
    });

    test(`RB-R79 on ${era}: what a process left out, the next one restores`, async () => {
      await setTrap(server, F14, F13, clusterVersionObject(14));
      const lease = `successor-${era.toLowerCase()}`;
      await (async () => {
        await using _first = await start({ lease });
        await eventually('a legal status', async () => same(await enabled(), C8));
      })();
      assert.equal((await ledger()).length, 8);
      await using second = await start({ lease });
      // It has told nobody anything, and still must show how things stand.
      const values = /drydock_status_quarantined_values\{definition="clusterversions[^}]*\} 8\n/;
      await eventually('the metric', async () => values.test(await second.scrape()));
      await server.install(F14);
      await eventually('the whole status', async () => same(await enabled(), C12));
      await eventually('an empty ledger', async () => (await ledger()).length === 0);
      await eventually('the events', async () => same(await reasons(), ['StatusDegraded', 'StatusRestored']));
    });

    test(`RB-R86, the writer's half, on ${era}: what nobody can supply is told by a metric, an Event, the Lease and the readiness; the rest of the work goes on, and the writer heals with the definition`, async () => {
      await setTrap(server, F14, undefined, clusterVersionObject(14));
      const lease = `unfixable-${era.toLowerCase()}`;
      let looks = 0;
      const means = (last: JsonObject): JsonObject => {
        looks += 1;
        return { ...last, versionHash: new Date().toISOString() };
      };
      await using writer = await start({ lease, means });
      await eventually('the first write', () => writer.counts.written > 1);
      await server.install(unfixable());
      await eventually('a refusal', () => writer.counts.refused > 0);
      const note = async () =>
        readStatusNote((await client.get(Lease, { namespace: 'default', name: lease })).metadata.annotations);
      await eventually('the note', async () => (await note())?.blocked === 1);
      assert.match((await note())?.named[0]?.why ?? '', /seal/);
      assert.match(await writer.scrape(), /drydock_status_write_blocked\{definition="clusterversions[^}]*\} 1\n/);
      assert.match(
        await writer.scrape('/readyz?verbose'),
        /\[\+\]statuses ok: statuses: 1 not written; clusterversions/,
      );
      await eventually('the event', async () => (await reasons()).includes('StatusWriteBlocked'));
      const [seen, refused] = [looks, writer.counts.refused];
      await eventually('the work goes on', () => looks > seen + 10);
      assert.ok(writer.counts.refused <= refused + 1, 'what is refused is not sent again and again');
      // A busy machine may be late once, and not each time.
      const heals: number[] = [];
      do {
        if (heals.length > 0) await server.install(unfixable());
        await eventually('the note', async () => (await note())?.blocked === 1);
        const fixed = performance.now();
        const { written } = writer.counts;
        await server.install(F14);
        await eventually('a write', () => writer.counts.written > written);
        heals.push(performance.now() - fixed);
        await eventually('the end of the note', async () => (await note()) === undefined);
      } while (heals.length < 3 && Math.min(...heals) >= 5_000);
      assert.ok(Math.min(...heals) < 5_000, `healed after ${heals.map(Math.round).join(', ')} ms`);
      assert.match(await writer.scrape(), /drydock_status_write_blocked\{definition="clusterversions[^}]*\} 0\n/);
      await eventually('the event', async () => (await reasons()).at(-1) === 'StatusWriteResumed');
    });

    test(`RB-R88 on ${era}: a writer that knows nothing of it, as upstream's, is blocked where the era says so`, async () => {
      const trap = await setTrap(server, F14, F13, clusterVersionObject(14));
      const naive = async (change: (status: JsonObject) => JsonObject): Promise<number> =>
        (await trap.putStatus(change((await trap.get())['status'] as JsonObject))).status;
      const toggled = (last: JsonObject): JsonObject => ({
        ...last,
        capabilities: {
          ...(last['capabilities'] as JsonObject),
          enabledCapabilities: C12.filter((name) => name !== 'Console'),
        },
      });
      const untouched = era === 'E2' ? 200 : 422;
      assert.equal(await naive((last) => ({ ...last, versionHash: 'y' })), untouched);
      assert.equal(await naive(toggled), 422);
    });
  });
}
