import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, isExpired, type KubeClient, type KubeObject, loadKubeconfig } from '@drydock/kube';
import { CLUSTER_SCENARIOS, type ClusterScenario, SCENARIO_CRDS, type ScenarioCluster } from '@drydock/kube/testing';
import { backendOf, type Sandbox, startSandbox } from '@drydock/sandbox';
import { KubeConfig } from '@kubernetes/client-node';
import { eventually, NAMESPACE } from './support/kube-kinds.ts';
import { type PeerClient, peerClient } from './support/peer-client.ts';

// Each scenario of the table through both clients at once, against one real server: what both find true is the server's behaviour, not a
// habit of ours that the in-memory cluster has learnt.

/** What the peer has no call for, by scenario. Whatever is not named here it must do as ours does. */
const CANNOT: Readonly<Record<string, string>> = {
  'a write that asks for metadata alone gives back what was sent, with the metadata that the server gave it':
    'an answer of metadata alone',
  'spec and status are written apart: neither half of a write reaches the other': 'patch configmaps/status',
  'a patch that names a version is guarded by it, and cannot change uid or name': 'a patch without a content type',
  'the initial list can be streamed: additions, then a bookmark that says so': 'a watch as text',
};

const peerConfig = new KubeConfig();
const directory = mkdtempSync(join(tmpdir(), 'drydock-contract-'));
let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  for (const [at, crd] of SCENARIO_CRDS.entries()) writeFileSync(join(directory, `${at}.json`), JSON.stringify(crd));
  // The embedded server forgets with a restart alone.
  const flags = backendOf() === 'real' ? ['--etcd-compaction-interval=1s'] : [];
  sandbox = await startSandbox({ crds: [directory], apiserverFlags: flags });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  peerConfig.loadFromFile(sandbox.kubeconfig);
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

async function serve(crd: KubeObject): Promise<void> {
  const path = join(directory, `${crd.metadata.name}.json`);
  writeFileSync(path, JSON.stringify(crd));
  await sandbox.installCrds([path]);
}

let namespaces = 0;

/** A namespace of its own, so that one scenario's watch sees nothing of another. */
async function clusterOf(one: ScenarioCluster['client'], forget: () => Promise<void>): Promise<ScenarioCluster> {
  const namespace = `contract-${namespaces++}`;
  await client.create(NAMESPACE, { metadata: { name: namespace } });
  return { client: one, namespace, forget, serve };
}

/** Runs a scenario through both clients. Resolves with what the peer cannot say; fails for every other difference. */
async function both(
  scenario: ClusterScenario,
  forget: () => Promise<void>,
  peer: PeerClient = peerClient(peerConfig),
): Promise<string | undefined> {
  const run = async (one: ScenarioCluster['client']): Promise<void> => scenario.run(await clusterOf(one, forget));
  const [ours, theirs] = await Promise.allSettled([run(client), run(peer)]);
  if (ours.status === 'rejected') throw ours.reason;
  if (theirs.status === 'fulfilled') return undefined;
  if (peer.unsaid.length === 0) throw theirs.reason;
  return peer.unsaid.join(', ');
}

/** Resolves when the server no longer knows how it was when this was called. It compacts each second, up to where it stood a second before. */
async function compacted(): Promise<void> {
  const key = { name: 'contract-compacted' };
  const { metadata } = await client.create(NAMESPACE, { metadata: key });
  await client.mergePatch(NAMESPACE, key, { metadata: { labels: { later: '' } } });
  const path = `/api/v1/namespaces?limit=1&resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
  await eventually('the compaction', () => client.raw({ path }).then(() => false, isExpired));
}

/** Compaction is for the whole server: such a scenario runs by itself. */
const forgetting = CLUSTER_SCENARIOS.filter(({ name }) => name.startsWith('after a compaction'));
const remembering = CLUSTER_SCENARIOS.filter((scenario) => !forgetting.includes(scenario));

suite('every scenario through both clients', { concurrency: 6 }, () => {
  for (const scenario of remembering) {
    test(scenario.name, async (t) => {
      const cannot = await both(scenario, () => assert.fail('the server forgets only when nobody else is on it'));
      if (cannot !== undefined) t.diagnostic(`client-node cannot say it, and was left out: ${cannot}`);
      assert.equal(cannot, CANNOT[scenario.name]);
    });
  }
});

test('both clients after a compaction', async () => {
  assert.equal(forgetting.length, 1);
  for (const scenario of forgetting) {
    // The server forgets once, when both have come to that point, or one has failed before.
    const waiting = Promise.withResolvers<void>();
    let forgotten: Promise<void> | undefined;
    const forget = async (): Promise<void> => {
      if (forgotten !== undefined) waiting.resolve();
      forgotten ??= Promise.race([waiting.promise, delay(10_000, undefined, { ref: false })])
        .then(() => (sandbox.backend === 'real' ? compacted() : undefined))
        .then(() => sandbox.apiserver.restart({ with: 'SIGKILL' }));
      await forgotten;
    };
    assert.equal(await both(scenario, forget), undefined);
  }
});

test('negative control: a peer that leaves out the preconditions of a delete is found', async () => {
  const scenario = CLUSTER_SCENARIOS.find(({ name }) => name === 'a delete checks uid and version');
  assert.ok(scenario !== undefined);
  const honest = peerClient(peerConfig);
  const careless: PeerClient = {
    ...honest,
    delete: (kind, key, _when, options) => honest.delete(kind, key, {}, options),
  };
  await assert.rejects(
    both(scenario, async () => undefined, careless),
    /should have been refused with Conflict/,
  );
});

test('the table of what the peer cannot say names scenarios that exist', () => {
  const names = CLUSTER_SCENARIOS.map(({ name }) => name);
  for (const name of Object.keys(CANNOT)) assert.ok(names.includes(name), name);
});
