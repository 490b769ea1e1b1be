import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ClusterVersion, ConfigMap, Event } from '@drydock/api';
import {
  createLedger,
  type JsonObject,
  LEDGER_COMPONENT,
  type Ledger,
  ledgerName,
  losses,
  type ProjectionEvent,
  readRecord,
} from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import { configMapStore, createClient, isForbidden, isNotFound, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { statusKeepingRules } from '../../apps/drydock/src/status-keeping.ts';
import { CRDS, type CrdServer, connectCrdServer } from './support/crd-server.ts';
import { causesOf, crdOf, setTrap } from './support/crd-trap.ts';
import { eventually } from './support/kube-kinds.ts';
import { startStatusWriter } from './support/status-writer.ts';

// What a ledger and a storage migration meet on a real server.

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const WHERE = { namespace: 'default', name: ledgerName(ClusterVersion) };
const [C8, C12] = [capabilitiesOf(13), capabilitiesOf(14)];
const [F13, F14] = [clusterVersionCrd(13), clusterVersionCrd(14)];
const origin = { schemaHash: 'h', firstSeen: '2026-01-01T00:00:00Z', release: 'test' };

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

const ledgerOf = (by: KubeClient): Ledger =>
  createLedger({ store: configMapStore({ client: by, ...WHERE, component: LEDGER_COMPONENT }) });

async function stored(): Promise<JsonObject> {
  return ((await client.get(ClusterVersion, { name: 'version' })).status ?? {}) as unknown as JsonObject;
}

async function enabled(): Promise<string> {
  const { capabilities } = (await stored()) as { readonly capabilities?: { readonly enabledCapabilities?: unknown } };
  return JSON.stringify(capabilities?.enabledCapabilities);
}

async function records(): Promise<Readonly<Record<string, string>>> {
  try {
    return (await client.get(ConfigMap, WHERE)).data ?? {};
  } catch (error) {
    if (isNotFound(error)) return {};
    throw error;
  }
}

/** A user with these rules in `default`. */
async function userWith(name: string, rules: readonly object[]): Promise<KubeClient> {
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
  for (const [plural, body] of [
    ['roles', { rules }],
    ['rolebindings', { subjects, roleRef: role }],
  ] as const) {
    const path = `${RBAC}/namespaces/default/${plural}`;
    assert.equal((await server.call({ method: 'POST', path, body: { metadata: { name }, ...body } })).status, 201);
  }
  return createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfigFor({ user: name }) }));
}

test('a ConfigMap holds values of 1 MiB together and not one byte more', async () => {
  const make = (bytes: number) =>
    server.call({
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps?dryRun=All',
      body: { metadata: { name: 'ledger' }, data: { l: 'x'.repeat(bytes) } },
    });
  assert.equal((await make(1 << 20)).status, 201);
  assert.deepEqual(causesOf(await make((1 << 20) + 1)), ['[] FieldValueTooLong']);
});

test('the exported rules are enough for a ledger, and let nobody read another ConfigMap', async () => {
  await using keeper = await userWith('keeper', statusKeepingRules([ClusterVersion as never]));
  const subject = { uid: 'someone', object: 'version', resourceVersion: '1' };
  const ledger = ledgerOf(keeper);
  // Rights take a moment to be seen.
  await eventually('the right', () =>
    ledger.grow(subject, losses({ a: 1 }, {}), origin, {}).then(
      () => true,
      () => false,
    ),
  );
  const view = await ledger.grow(subject, losses({ b: 2 }, {}), origin, {});
  assert.equal(view.entries.length, 2);
  assert.equal((await ledgerOf(keeper).view('someone')).entries.length, 2);
  assert.equal(await ledgerOf(keeper).sweep(() => Promise.resolve(false)), 1);
  assert.deepEqual(await records(), {});
  await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'other' }, data: {} });
  await assert.rejects(keeper.get(ConfigMap, { namespace: 'default', name: 'other' }), isForbidden);
  await assert.rejects(Array.fromAsync(keeper.list(ConfigMap, { namespace: 'default' })), isForbidden);
});

test('without the right to keep it nothing is cut, and what to grant is told; with the right the writer goes on', async () => {
  await setTrap(server, F14, F13, clusterVersionObject(14));
  const told: ProjectionEvent[] = [];
  await using nobody = await userWith('nobody', []);
  await using writer = await startStatusWriter({
    ...{ client, crd: F14, name: 'version', lease: 'no-right' },
    keeping: { ledger: ledgerOf(nobody), tell: (event) => told.push(event) },
  });
  await eventually('a word', () => told.length > 0);
  const [first] = told;
  assert.ok(first?.kind === 'blocked');
  assert.match(first.why, /cannot be saved: .*Grant the verb on this resource/s);
  assert.deepEqual([await enabled(), writer.counts.refused], [JSON.stringify(C12), 0]);
  const rules = statusKeepingRules([ClusterVersion as never]);
  await server.call({
    method: 'PATCH',
    path: `${RBAC}/namespaces/default/roles/nobody`,
    body: { rules },
    type: 'application/merge-patch+json',
  });
  await eventually('a legal status', async () => (await enabled()) === JSON.stringify(C8));
  await eventually('the word', () => told.at(-1)?.kind === 'quarantined');
});

test('a record that somebody has spoilt is told, kept, and in the way of nobody', async () => {
  await setTrap(server, F14, F13, clusterVersionObject(14));
  const { uid = '' } = (await client.get(ClusterVersion, { name: 'version' })).metadata;
  const spoilt = '{"object":"version","entries":[{"at":';
  await ledgerOf(client).grow({ uid, object: 'version', resourceVersion: '1' }, losses({ a: 1 }, {}), origin, {});
  await client.mergePatch(ConfigMap, WHERE, { data: { [uid]: spoilt } });
  await using _writer = await startStatusWriter({ client, crd: F14, name: 'version', lease: 'spoilt' });
  await eventually('a legal status', async () => (await enabled()) === JSON.stringify(C8));
  assert.deepEqual(readRecord((await records())[uid] ?? '').unreadable, spoilt);
  await server.install(F14);
  await eventually('the whole status', async () => (await enabled()) === JSON.stringify(C12));
  await eventually('a tidy ledger', async () => readRecord((await records())[uid] ?? '').entries.length === 0);
  assert.equal(readRecord((await records())[uid] ?? '').unreadable, spoilt);
  await eventually('the event', async () => {
    const all = await Array.fromAsync(client.list(Event, { namespace: 'default' }));
    return all.some(({ reason, regarding }) => reason === 'LedgerProblem' && regarding?.name === WHERE.name);
  });
  await client.mergePatch(ConfigMap, WHERE, { data: { [uid]: null } });
});

test('two writers at once, one of which believes in the older definition: whoever wins a write, nothing is lost', async () => {
  await setTrap(server, F14, undefined, clusterVersionObject(14));
  await using newer = await startStatusWriter({ client, crd: F14, name: 'version', lease: 'newer', every: 10 });
  {
    const settings = { client, crd: F14, name: 'version', lease: 'older', every: 10, believes: F13 };
    await using older = await startStatusWriter(settings);
    let cuts = 0;
    await eventually('a fight', async () => {
      if ((await enabled()) === JSON.stringify(C8)) cuts += 1;
      return cuts > 5 && older.counts.written > 20 && newer.counts.written > 20;
    });
  }
  await eventually('the whole status', async () => (await enabled()) === JSON.stringify(C12));
  const { uid = '' } = (await client.get(ClusterVersion, { name: 'version' })).metadata;
  await eventually('a tidy ledger', async () => (await records())[uid] === undefined);
});

test('trimming the stored versions of a definition needs a right to its status, and none to the definition', async () => {
  const crd = crdOf('olds', {});
  await server.install(crd);
  const grant = async (name: string, resource: string): Promise<void> => {
    const rules = [{ apiGroups: ['apiextensions.k8s.io'], resources: [resource], verbs: ['patch'] }];
    const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
    const roleRef = { kind: 'ClusterRole', name, apiGroup: 'rbac.authorization.k8s.io' };
    for (const [plural, body] of [
      ['clusterroles', { rules }],
      ['clusterrolebindings', { subjects, roleRef }],
    ] as const) {
      const made = await server.call({
        method: 'POST',
        path: `${RBAC}/${plural}`,
        body: { metadata: { name }, ...body },
      });
      assert.equal(made.status, 201);
    }
  };
  await grant('definitions', 'customresourcedefinitions');
  await grant('statuses', 'customresourcedefinitions/status');
  const trim = async (as: string): Promise<number> => {
    const path = `${CRDS}/${crd.name}/status`;
    const body = { status: { storedVersions: ['v1'] } };
    return (await server.call({ method: 'PATCH', path, body, as, type: 'application/merge-patch+json' })).status;
  };
  // Rights take a moment to be seen.
  await eventually('the right', async () => (await trim('statuses')) === 200);
  assert.equal(await trim('definitions'), 403);
});
