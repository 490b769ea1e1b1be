import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type KubeClient, type KubeObject, loadKubeconfig } from '@drydock/kube';
import { CLUSTER_SCENARIOS, SCENARIO_CRDS } from '@drydock/kube/testing';
import { type Sandbox, startSandbox } from '@drydock/sandbox';

const NAMESPACE = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' } as const;
const namespace = 'scenarios';

suite('cluster scenarios against the real API server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'drydock-crds-'));
  let sandbox: Sandbox;
  let client: KubeClient;

  before(async () => {
    for (const [at, crd] of SCENARIO_CRDS.entries()) writeFileSync(join(directory, `${at}.json`), JSON.stringify(crd));
    // Compacts etcd every second up to where it stood a second before.
    sandbox = await startSandbox({ crds: [directory], apiserverFlags: ['--etcd-compaction-interval=1s'] });
    client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
    await client.create(NAMESPACE, { metadata: { name: namespace } });
  });

  after(async () => {
    await client?.[Symbol.asyncDispose]();
    await sandbox?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  /** The watch cache forgets by a restart, etcd by its compaction, which runs on its own clock. */
  async function forget(): Promise<void> {
    await delay(2500);
    await sandbox.apiserver.restart({ with: 'SIGKILL' });
  }

  async function serve(crd: KubeObject): Promise<void> {
    const path = join(directory, `${crd.metadata.name}.json`);
    writeFileSync(path, JSON.stringify(crd));
    await sandbox.installCrds([path]);
  }

  for (const scenario of CLUSTER_SCENARIOS)
    test(scenario.name, () => scenario.run({ client, namespace, forget, serve }));
});
