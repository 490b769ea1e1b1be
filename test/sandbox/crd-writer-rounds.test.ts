import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import {
  type Crd,
  type Json,
  type JsonObject,
  ledgerName,
  prune,
  readCrd,
  readRecord,
  type Schema,
} from '@drydock/crd';
import { clusterVersionCrd, clusterVersionObject, narrowed, RELEASES } from '@drydock/crd/testing';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { firstSeed, generator, repetitions } from '@drydock/model';
import { API_SERVER_ERAS, type Sandbox, startSandbox } from '@drydock/sandbox';
import { skips } from './support/crd-eras.ts';
import { type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { crdOf, setTrap } from './support/crd-trap.ts';
import { eventually } from './support/kube-kinds.ts';
import { type RunningWriter, resourceOf, startStatusWriter } from './support/status-writer.ts';

// What a running status writer makes of a server's refusals: it believes in an older definition than the one that judges.

let sandbox: Sandbox;
let server: CrdServer;
let client: KubeClient;
let leases = 0;

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

/** A definition that differs only in its status. */
function withStatus(crd: Crd, status: JsonObject): Crd {
  return crdOf(crd.plural, { properties: { status: { type: 'object', properties: status } } });
}

/** Runs a writer that always means the same, until that is settled; resolves with what is stored then, and the refusals on the way. */
async function settled(
  crd: Crd,
  name: string,
  meant: JsonObject,
  done: (status: JsonObject) => boolean,
  believes?: Crd,
): Promise<{ readonly status: JsonObject; readonly refused: number }> {
  await using writer: RunningWriter = await startStatusWriter({
    ...{ client, crd, name, lease: `rounds-${leases++}`, means: () => meant },
    ...(believes === undefined ? {} : { believes }),
  });
  const stored = async (): Promise<JsonObject> => (await client.get(resourceOf(crd), { name })).status ?? {};
  await eventually('a settled status', async () => done(await stored()));
  return { status: await stored(), refused: writer.counts.refused };
}

const word: JsonObject = { type: 'string' };

for (const era of API_SERVER_ERAS) {
  suite(`refusals on ${era}`, { skip: skips(era) }, () => {
    before(async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
    });

    test(`RB-R82 on ${era}: rules that were not looked at show in the next round, and the writer is through after two refusals`, async () => {
      const open = crdOf(`rules${era.toLowerCase()}`, {
        properties: { status: { type: 'object', properties: { a: word, b: word, c: word } } },
      });
      const strict = withStatus(open, {
        a: { type: 'string', enum: ['ok'] },
        b: { type: 'string', 'x-kubernetes-validations': [{ rule: "self != 'worse'" }] },
        c: word,
      });
      await setTrap(server, open, strict, { metadata: { name: 'one' } });
      const meant = { a: 'bad', b: 'worse', c: 'fine' };
      const { status, refused } = await settled(open, 'one', meant, ({ c }) => c === 'fine', open);
      assert.deepEqual([status, refused], [{ c: 'fine' }, 2]);
    });

    test(`RB-R83 on ${era}: a key with a dot is resolved in the object, and nothing else is taken out`, async () => {
      const zones = (state: JsonObject): JsonObject => ({
        zones: { type: 'object', additionalProperties: { type: 'object', properties: { state, note: word } } },
      });
      const open = crdOf(`dots${era.toLowerCase()}`, {
        properties: { status: { type: 'object', properties: zones(word) } },
      });
      const strict = withStatus(open, zones({ type: 'string', enum: ['ok'] }));
      await setTrap(server, open, strict, { metadata: { name: 'one' } });
      const zone = (state: string): JsonObject => ({ state, note: state });
      const meant = { zones: { 'a.b': zone('bad'), a: zone('ok'), b: zone('ok') } };
      const { status, refused } = await settled(open, 'one', meant, (now) => now['zones'] !== undefined, open);
      assert.deepEqual(status, { zones: { ...meant.zones, 'a.b': { note: 'bad' } } });
      assert.equal(refused, 1);
    });

    test(`RB-R84 on ${era}: a history of 100 under a definition that takes 50 keeps its head, the newest completed, the first and the newest others; the rest is in the ledger`, async () => {
      const item: JsonObject = {
        type: 'object',
        properties: { startedTime: word, state: word, id: { type: 'integer' } },
      };
      const list = (more: JsonObject): JsonObject => ({ history: { type: 'array', items: item, ...more } });
      const plural = `histories${era.toLowerCase()}`;
      const open = crdOf(plural, { properties: { status: { type: 'object', properties: list({}) } } });
      const history = Array.from({ length: 100 }, (_, id) => ({
        ...{ id, startedTime: `t${id}`, state: id === 70 ? 'Completed' : 'Partial' },
      }));
      await setTrap(server, open, withStatus(open, list({ maxItems: 50 })), {
        metadata: { name: 'one' },
        status: { history },
      });
      const size = (now: JsonObject): number => ((now['history'] ?? []) as readonly unknown[]).length;
      const { status, refused } = await settled(open, 'one', { history }, (now) => size(now) === 50);
      const ids = (status['history'] as readonly JsonObject[]).map(({ id }) => id);
      assert.deepEqual([ids, refused], [[...Array(48).keys(), 70, 99], 0]);
      const where = { namespace: 'default', name: ledgerName(open) };
      const [text = ''] = Object.values((await client.get(ConfigMap, where)).data ?? {});
      assert.equal(readRecord(text).entries.length, 50);
      await server.install(open);
      const back = await settled(open, 'one', { history }, (now) => size(now) === 100);
      assert.deepEqual(back.status['history'], history);
    });
  });
}

const NARROWINGS = repetitions(8, 1_000, 'narrowings');

for (const era of API_SERVER_ERAS)
  test(`RB-R81 and RB-R87 on ${era}: under ${NARROWINGS} random narrowings a running writer writes or says that it is blocked, in at most six rounds, never without the core, and then rests`, {
    skip: skips(era),
  }, async () => {
    if (sandbox.era !== era) await sandbox.switchEra(era);
    const random = generator(86 + firstSeed());
    const found = { written: 0, blocked: 0, skipped: 0 };
    for (let count = 0; found.written + found.blocked < NARROWINGS; count += 1) {
      const release = RELEASES[Math.floor(random() * RELEASES.length)] ?? 14;
      const dice = Array.from({ length: 40 }, () => Math.floor(random() * 1e6));
      const from = clusterVersionCrd(release);
      found[
        await narrow(
          from,
          narrowedCrd(from, dice),
          clusterVersionObject(release),
          `narrow-${era.toLowerCase()}-${count}`,
        )
      ] += 1;
    }
    assert.ok(Math.min(found.written, found.blocked) * 6 > NARROWINGS, `${JSON.stringify(found)}: one-sided`);
  });

function narrowedCrd(crd: Crd, dice: readonly number[]): Crd {
  const manifest = structuredClone(crd.manifest) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  for (const version of manifest.spec.versions)
    version.schema = { openAPIV3Schema: narrowed(version.schema.openAPIV3Schema, dice) };
  return readCrd(manifest as never, 'narrowed');
}

/** One narrowing under a writer; 'skipped' where the server does not take the definition. */
async function narrow(
  from: Crd,
  to: Crd,
  object: JsonObject,
  lease: string,
): Promise<'written' | 'blocked' | 'skipped'> {
  await setTrap(server, from, undefined, object);
  let [generation, looks] = [2, 0];
  await using writer = await startStatusWriter({
    ...{ client, crd: from, name: 'version', lease, every: 20 },
    means: (last) => {
      looks += 1;
      return { ...last, observedGeneration: generation };
    },
  });
  await eventually('the first write', () => writer.counts.written > 0);
  try {
    await server.install(to);
  } catch (error) {
    assert.match(String(error), /refuses/);
    return 'skipped';
  }
  generation = 3;
  const before = { ...writer.counts };
  const metrics = async (): Promise<boolean> => /drydock_status_write_blocked\{[^}]*\} 1\n/.test(await writer.scrape());
  await eventually('a write or a word', async () => (await stored())['observedGeneration'] === 3 || (await metrics()));
  const refused = writer.counts.refused - before.refused;
  assert.ok(refused <= 6, `${refused} refusals of one status`);
  const rest = { ...writer.counts };
  const seen = looks;
  await eventually('further looks', () => looks > seen + 5);
  const more = writer.counts.written + writer.counts.refused - rest.written - rest.refused;
  assert.ok(more <= 1, `${more} writes while nothing changed`);
  const status = await stored();
  if (status['observedGeneration'] !== 3) return 'blocked';
  const { schema = {} } = to.versions[0] ?? {};
  const whole = (prune(object, schema).value as JsonObject)['status'] as JsonObject;
  const core = ({ conditions, desired, history }: JsonObject): Json => {
    const [newest = null] = (history ?? []) as readonly Json[];
    // What a condition says in words may be shortened.
    const states = ((conditions ?? []) as readonly JsonObject[]).map(({ message: _m, reason: _r, ...rest }) => rest);
    return { conditions: states, desired: desired ?? null, newest };
  };
  assert.deepEqual(core(status), core(whole));
  return 'written';
}

async function stored(): Promise<JsonObject> {
  return (await client.get(resourceOf(clusterVersionCrd(14)), { name: 'version' })).status ?? {};
}
