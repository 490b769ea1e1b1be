import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, suite, test } from 'node:test';
import type { JsonObject } from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionObject } from '@drydock/crd/testing';
import {
  API_SERVER_ERAS,
  type RunningNeighbour,
  type Sandbox,
  startNeighbour,
  startSandbox,
  withoutRealServers,
} from '@drydock/sandbox';
import { skips } from '../sandbox/support/crd-eras.ts';
import { type CrdServer, connectCrdServer } from '../sandbox/support/crd-server.ts';
import { setTrap } from '../sandbox/support/crd-trap.ts';
import { eventually } from '../sandbox/support/kube-kinds.ts';

// OpenShift's own cluster-version-operator under a definition that went back from 4.14 to 4.13: it reads twelve capabilities from the status, keeps them in memory, and is refused for ever. First it is
// seen stuck, then `drydock release rescue` frees it.

const wanted = process.env['DRYDOCK_NEIGHBOURS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined;
const skip = wanted
  ? withoutRealServers('programs of upstream run on kube-apiserver')
  : "needs OpenShift's cluster-version-operator, which takes minutes to build: set DRYDOCK_NEIGHBOURS=1";
const BIN = join(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const PATH = '/apis/config.openshift.io/v1/clusterversions/version';
const C8 = capabilitiesOf(13);
const C12 = capabilitiesOf(14);
const RELEASE = '4.13.0';
const image = `registry.example/release@sha256:${'13'.repeat(32)}`;

let sandbox: Sandbox;
let server: CrdServer;
let operator: RunningNeighbour | undefined;

before(async () => {
  if (skip !== false) return;
  sandbox = await startSandbox({ crds: ['openshift-4.14', 'cluster-version-operator'] });
  server = connectCrdServer(sandbox);
  for (const name of ['openshift-cluster-version', 'openshift-config', 'openshift-config-managed'])
    await made('/api/v1/namespaces', { metadata: { name } });
});
afterEach(async () => {
  await operator?.[Symbol.asyncDispose]();
  operator = undefined;
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

async function made(path: string, body: object): Promise<void> {
  const { message, status } = await server.call({ method: 'POST', path, body });
  assert.ok(status === 201 || status === 409, `${status} ${message}`);
}

/** A payload of one ConfigMap, as a folder. */
function payload(): string {
  const folder = join(sandbox.directory, 'payload-4.13');
  const files: Readonly<Record<string, object>> = {
    'release-metadata': { kind: 'cincinnati-metadata-v0', version: RELEASE, previous: [] },
    'image-references': {
      apiVersion: 'image.openshift.io/v1',
      kind: 'ImageStream',
      metadata: { name: RELEASE },
      spec: { tags: [] },
    },
    '0000_10_a_1.yaml': {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'applied',
        namespace: 'default',
        annotations: { 'include.release.openshift.io/self-managed-high-availability': 'true' },
      },
      data: { version: RELEASE },
    },
  };
  for (const name of ['manifests', 'release-manifests']) mkdirSync(join(folder, name), { recursive: true });
  for (const [name, object] of Object.entries(files))
    writeFileSync(join(folder, 'release-manifests', name), JSON.stringify(object));
  return folder;
}

const start = (): Promise<RunningNeighbour> =>
  startNeighbour('cluster-version-operator', {
    kubeconfig: sandbox.kubeconfig,
    flags: [`--release-image=${image}`],
    env: { PAYLOAD_OVERRIDE: payload() },
  });

interface Status {
  readonly capabilities: { readonly enabledCapabilities: readonly string[] };
  readonly history: readonly { readonly version: string; readonly state: string; readonly image: string }[];
  readonly desired: { readonly image: string };
}
const statusOf = async (): Promise<Status> =>
  (await server.call({ method: 'GET', path: PATH })).object['status'] as unknown as Status;

async function rescue(
  args: readonly string[],
  heard: (line: string) => void = () => undefined,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const words = ['release', 'rescue', '--kubeconfig', sandbox.kubeconfig, '--lease-namespace', 'default', ...args];
  const child = spawn(process.execPath, [BIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (said: string) => {
    stderr += said;
    for (const line of said.split('\n')) heard(line);
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const stdout = await text(child.stdout);
  const [code] = await closed;
  return { code, stdout, stderr };
}

for (const era of API_SERVER_ERAS) {
  suite(`cluster-version-operator after an unprepared way back on ${era}`, {
    skip: skip === false ? skips(era) : skip,
  }, () => {
    before(async () => {
      if (sandbox.era !== era) await sandbox.switchEra(era);
    });

    test('it is refused for ever, also after a restart; then it is freed, and records the release that runs', async () => {
      const { status, ...object } = clusterVersionObject(14, { spec: { upstream: 'http://127.0.0.1:9/graph' } }) as {
        readonly status: JsonObject;
      };
      // One capability is not enabled yet: with it the list is another one, which no era tolerates.
      const enabledCapabilities = C12.filter((name) => name !== 'marketplace');
      const capabilities = { enabledCapabilities, knownCapabilities: C12 };
      await setTrap(server, clusterVersionCrd(14), clusterVersionCrd(13), {
        ...object,
        status: { ...status, capabilities },
      });
      operator = await start();
      // Of the process that runs: what it says is kept over restarts.
      const refusals = (): number =>
        (
          operator
            ?.log()
            .split('ClusterVersionOperator v')
            .at(-1)
            ?.match(/Error handling \S+ ClusterVersion\S+ "version" is invalid/g) ?? []
        ).length;
      await eventually('it is refused', () => refusals() > 1);
      assert.notEqual((await statusOf()).desired.image, image, 'what runs is not what is recorded');
      await operator.restart({ with: 'SIGTERM' });
      await eventually('it is refused again', () => refusals() > 1);

      const freed = await rescue(['--writer', 'none', '--yes', '--wait', '5m', '-o', 'json'], (line) => {
        if (line.startsWith('wait until its writer was restarted')) void operator?.restart({ with: 'SIGTERM' });
      });
      assert.equal(freed.code, 0, freed.stdout + freed.stderr);
      assert.equal((JSON.parse(freed.stdout) as { readonly result: string }).result, 'free');
      await eventually('it records what runs', async () => {
        const { history, desired } = await statusOf();
        return desired.image === image && history[0]?.state === 'Completed';
      });
      assert.deepEqual((await statusOf()).capabilities.enabledCapabilities, C8);
    });
  });
}
