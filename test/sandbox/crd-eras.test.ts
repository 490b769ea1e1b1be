import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import { createClient, loadKubeconfig } from '@drydock/kube';
import { clusterEra } from '@drydock/preflight';
import { API_SERVER_ERAS, type ApiServerEra, startSandbox } from '@drydock/sandbox';
import { ERAS_HERE, SKIPS_E1, skips } from './support/crd-eras.ts';
import { connectCrdServer } from './support/crd-server.ts';
import { label, setTrap } from './support/crd-trap.ts';

const BIN = join(import.meta.dirname, '../../packages/sandbox/bin/drydock-sandbox.js');

/** Whether a label can be set, and whether the status can be written with its illegal lists left alone. */
const OVERLOOKS: Readonly<Record<ApiServerEra, readonly [label: number, status: number]>> = {
  E0: [422, 422],
  E1: [200, 422],
  E2: [200, 200],
};

test('one object in one store, judged by the API servers of all eras in turn, there and back', async (t) => {
  if (SKIPS_E1 !== false) t.diagnostic(`without E1: ${SKIPS_E1}`);
  await using sandbox = await startSandbox();
  await using server = connectCrdServer(sandbox);
  await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  const made = clusterVersionObject(14);
  const trap = await setTrap(server, clusterVersionCrd(14), clusterVersionCrd(13), made);
  let written = 0;
  for (const era of [...ERAS_HERE, ...ERAS_HERE.toReversed()]) {
    const pid = sandbox.apiserver.pid;
    await sandbox.switchEra(era);
    assert.equal(sandbox.era, era);
    assert.notEqual(sandbox.apiserver.pid, pid);
    // The embedded API server says nothing of its gates: it has no /metrics.
    if (sandbox.backend === 'real') {
      const said = await clusterEra(client);
      assert.deepEqual([said.server.era, said.notes], [era, []], 'TRUTH-16 what a server says of its gate');
    }
    const status = (await trap.get())['status'] as JsonObject;
    assert.deepEqual(status['capabilities'], {
      enabledCapabilities: capabilitiesOf(14),
      knownCapabilities: capabilitiesOf(14),
    });
    const answers = [await trap.merge(label()), await trap.putStatus({ ...status, versionHash: `${written++}` })];
    assert.deepEqual(
      answers.map((answer) => answer.status),
      OVERLOOKS[era],
      era,
    );
  }
  await sandbox.apiserver.restart();
  assert.equal(sandbox.era, 'E0', 'a restart keeps the era');
  assert.equal((await trap.merge(label())).status, 422);
});

for (const era of API_SERVER_ERAS) {
  test(`drydock-sandbox up --era ${era}`, { skip: skips(era) }, async () => {
    const child = spawn(process.execPath, [BIN, 'up', '--era', era, '--no-vcenter', '--crds', 'openshift-4.17'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = once(child, 'exit');
    const [line] = (await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(120_000) })) as [
      string,
    ];
    child.kill('SIGTERM');
    assert.equal((JSON.parse(line) as { era: string }).era, era);
    assert.equal((await exit)[0], 143);
  });
}

test('an unknown era is refused with the known ones', async () => {
  const child = spawn(process.execPath, [BIN, 'up', '--era', 'E9'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    told += chunk;
  });
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 2);
  assert.match(told, /unknown era "E9"; name one of E0, E1, E2/);
});
