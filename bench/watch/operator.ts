import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Namespace, Secret, Zone } from '@drydock/api';
import { createClient, loadKubeconfig } from '@drydock/kube';
import { startSandbox } from '@drydock/sandbox';
import { systemClock } from '@drydock/vsphere';
import { build, linkModules } from '../../scripts/build.ts';
import { deployedMemory } from '../deployed.ts';
import type { Target } from './job.ts';

/** Resident memory in MiB of `drydock operator` as the Deployment runs it. */
export interface OperatorMemory {
  readonly peak: number;
  readonly steady: number;
}

const root = join(import.meta.dirname, '../..');
/** By then what the first pass left was collected. */
const STEADY_MS = 20_000;
const PATIENCE_MS = 180_000;

/** A pod has no place for compiled code. */
const READ_ONLY = { NODE_DISABLE_COMPILE_CACHE: '1' };

/** Runs the operator with both roles, on a real API server and with one Zone on the folder of `target`, until it is live with `machines` and has calmed down. */
export async function operatorMemory(target: Target, machines: number): Promise<OperatorMemory> {
  await using stack = new AsyncDisposableStack();
  const scratch = await mkdtemp(join(tmpdir(), 'drydock-bench-'));
  stack.defer(() => rm(scratch, { recursive: true, force: true }));
  const crds = ['openshift', join(root, 'api/crds'), join(root, 'api/optional')];
  const sandbox = stack.use(await startSandbox({ crds }));
  const { kubeconfig } = sandbox;
  const client = stack.use(createClient(await loadKubeconfig({ kubeconfig })));
  for (const name of ['openshift-machine-config-operator', 'openshift-machine-api', 'ns'])
    await client.create(Namespace, { metadata: { name } });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  await client.create(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { 'vc1.username': base64(target.user), 'vc1.password': base64(target.password) },
  });
  const [folder = ''] = target.containers;
  await client.create(Zone, {
    metadata: { namespace: 'ns', name: 'zone' },
    spec: { managedVMs: { folderMoID: folder } },
  });
  const image = join(scratch, 'image');
  await build(image);
  linkModules(image);
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [
      join(image, 'apps/drydock/bin/drydock.js'),
      ...['operator', '--roles', 'boot-images,watch', '--kubeconfig', kubeconfig, '--port', String(port)],
      ...['--cache-dir', join(scratch, 'images'), '--log-level', 'error'],
      ...['--vcenter', 'vc1', '--vcenter-url', `vc1=${target.url}`, '--vcenter-ca', target.ca],
    ],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...deployedMemory('operator'), ...READ_ONLY } },
  );
  const exited = once(child, 'exit');
  stack.defer(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  const live = `drydock_watch_machines{watch="vms",vcenter="vc1"} ${machines}`;
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await metrics(port)).includes(live)) {
    if (performance.now() > deadline || child.exitCode !== null)
      throw new Error(`bench: the operator does not watch ${machines} machines`);
    await systemClock.sleep(250);
  }
  await systemClock.sleep(STEADY_MS);
  return { peak: resident(child.pid, 'VmHWM'), steady: resident(child.pid, 'VmRSS') };
}

async function metrics(port: number): Promise<string> {
  return fetch(`http://127.0.0.1:${port}/metrics`).then(
    (response) => response.text(),
    () => '',
  );
}

function resident(pid: number | undefined, what: 'VmHWM' | 'VmRSS'): number {
  const [, kb = ''] = new RegExp(`${what}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kb) / 1024;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
