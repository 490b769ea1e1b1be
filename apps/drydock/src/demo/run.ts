import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BootImage, MachineSet } from '@drydock/api';
import { type Client, createClient, loadKubeconfig } from '@drydock/kube';
import { connectSwitchboard, type Switchboard, startSandbox } from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import { table } from '../table.ts';
import {
  createCluster,
  type DemoImage,
  infrastructureName,
  machineApi,
  machineSets,
  publishRelease,
} from './cluster.ts';
import { serveImages } from './image-server.ts';
import { folderPath, places } from './inventory.ts';
import { startOperator } from './operator-process.ts';
import { showProgress } from './progress.ts';

/** The name that Infrastructure gives the vCenter; the operator is told where it listens. */
const vcenterName = 'vcenter.harbour.example';
const releases = {
  old: { release: '9.6.20260512-0', version: '4.20.3' },
  first: { release: '9.8.20260802-0', version: '4.21.0' },
  second: { release: '9.8.20261019-0', version: '4.21.4' },
} as const;

/** What the demo does. */
export interface DemoOptions {
  /** Size of each generated OVA in MiB. */
  readonly size: number;
  /** Upload rate in MiB/s, so that it can be seen. */
  readonly rate: number;
  /** Stay up until the signal ends. */
  readonly stay: boolean;
  readonly signal: AbortSignal;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The whole voyage: a release comes, its image is imported and published; then once more with a crash half-way. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { signal } = options;
  const folder = await mkdtemp(join(tmpdir(), 'drydock-demo-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));

  say('1. Starting a real API server with etcd, and a simulated vCenter');
  const sandbox = cleanup.use(
    await startSandbox({
      vcenter: true,
      crds: ['openshift', join(import.meta.dirname, '../../../../api/crds')],
      signal,
    }),
  );
  const { vcenter } = sandbox;
  const switchboard = connectSwitchboard(vcenter.switchboard);
  const images = cleanup.use(await serveImages(folder));
  const client = cleanup.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));

  say(
    `2. Making a cluster of four machine sets, its templates at ${releases.old.release}, and two releases of ${options.size} MiB`,
  );
  const image = async (name: 'first' | 'second', seed: number): Promise<DemoImage> => {
    const { release, version } = releases[name];
    const file = join(folder, `rhcos-${release}-vmware.x86_64.ova`);
    const { sha256 } = await writeTestOva(file, { version: release, diskBytes: options.size * 2 ** 20, seed });
    return { release, version, location: images.url(file), sha256 };
  };
  const first = await image('first', 1);
  const second = await image('second', 2);
  await makeTemplates(switchboard);
  const old: DemoImage = { ...releases.old, location: images.url('rhcos-old.ova'), sha256: '0'.repeat(64) };
  await createCluster(client, { server: vcenterName, user: vcenter.user, password: vcenter.password }, old);
  await using _throttle = await switchboard.rule({
    on: 'upload',
    do: 'throttle',
    bytesPerSecond: options.rate * 2 ** 20,
  });
  const before = await templatesOf(client);

  const args = [
    ...['--kubeconfig', sandbox.kubeconfig, '--port', '0', '--cache-dir', join(folder, 'cache')],
    ...['--vcenter-url', `${vcenterName}=${vcenter.url}`, '--vcenter-ca', vcenter.ca, '--lease-namespace', machineApi],
  ];
  const logFile = join(sandbox.directory, 'operator.log');
  let operator = startOperator(args, logFile);
  cleanup.defer(() => operator[Symbol.asyncDispose]());
  const show = (done: (images: readonly BootImage[]) => boolean): Promise<readonly BootImage[]> =>
    showProgress(client, done, { deadline: 120_000, signal, alive: () => operator.alive() });

  say('3. "drydock operator" runs; everything is current');
  await show(settled(releases.old.release));

  say(`4. Release ${first.version} brings image ${first.release}`);
  await publishRelease(client, first);
  await show(settled(first.release));
  await report(client, switchboard, before);
  await expectTemplates(switchboard, first.release);

  say(
    `5. Release ${second.version} brings image ${second.release}; the operator is killed with SIGKILL in the middle of the upload`,
  );
  const beforeCrash = await templatesOf(client);
  await switchboard.clearRules();
  await using hold = await switchboard.rule({ on: 'upload', do: 'hold', afterBytes: options.size * 2 ** 19, times: 1 });
  await publishRelease(client, second);
  await hold.held(1, { signal, timeoutMs: 60_000 });
  say(`   the upload is held half-way; SIGKILL to process ${operator.pid}`);
  await operator.crash();
  await hold.release();
  say('   a new operator starts, waits for the lease of the dead one to expire, and finds what was left');
  operator = startOperator(args, logFile);
  await show(settled(second.release));
  await report(client, switchboard, beforeCrash);
  await expectTemplates(switchboard, second.release);
  say('One template of the new release in each failure domain, none lost: the old ones stay until nothing needs them.');

  if (options.stay) {
    say(`\nEverything stays up until Ctrl-C. Try, in another terminal:
  export KUBECONFIG=${sandbox.kubeconfig}
  kubectl get bootimages -A
  kubectl get events -n ${machineApi}
  npx drydock status -o wide
The operator's log: ${logFile}`);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

/** Every set that Drydock may touch is at the release, the owned one is skipped. */
function settled(release: string): (images: readonly BootImage[]) => boolean {
  return (images) =>
    machineSets.every(({ name, owner }) => {
      const status = images.find((image) => image.spec?.machineSet?.name === name)?.status;
      return owner === undefined
        ? status?.phase === 'Current' && status.current === release
        : status?.phase === 'Skipped';
    });
}

async function makeTemplates(switchboard: Switchboard): Promise<void> {
  await switchboard.createFolder(folderPath);
  await switchboard.createTag({ category: `openshift-${infrastructureName}`, name: infrastructureName });
  for (const domain of ['fd1', 'fd2'] as const) {
    await switchboard.createVm({
      name: `${infrastructureName}-rhcos-${domain}`,
      folder: folderPath,
      cluster: places[domain].computeCluster,
      productVersion: releases.old.release,
      template: true,
    });
  }
}

async function templatesOf(client: Client): Promise<ReadonlyMap<string, string>> {
  const sets = await Array.fromAsync(client.list(MachineSet, { namespace: machineApi }));
  return new Map(
    sets.map((set) => [set.metadata.name, String(set.spec?.template?.spec?.providerSpec?.value?.['template'])]),
  );
}

async function report(client: Client, switchboard: Switchboard, before: ReadonlyMap<string, string>): Promise<void> {
  const after = await templatesOf(client);
  const rows = [...after].toSorted(([a], [b]) => a.localeCompare(b));
  say('\n   What the machine sets point at:');
  say(
    table(
      [
        { header: '   MACHINESET', cell: ([name]: readonly [string, string]) => `   ${name}` },
        { header: 'BEFORE', cell: ([name]) => before.get(name) ?? '' },
        { header: 'AFTER', cell: ([name, now]) => (now === before.get(name) ? '(unchanged)' : now) },
      ],
      rows,
    ),
  );
  say("   What vCenter's own inventory says:");
  say(
    table(
      [
        { header: '   TEMPLATE', cell: (vm: Awaited<ReturnType<Switchboard['templates']>>[number]) => `   ${vm.name}` },
        { header: 'VERSION', cell: (vm) => vm.productVersion },
        { header: 'HOST', cell: (vm) => vm.host },
        { header: 'TAGS', cell: (vm) => vm.tags.join(', ') },
      ],
      await switchboard.templates(),
    ),
  );
}

/** The proof: exactly one template of the release for each failure domain, and no half-made machine. */
async function expectTemplates(switchboard: Switchboard, release: string): Promise<void> {
  const vms = await switchboard.vms();
  const found = vms.filter((vm) => vm.isTemplate && vm.productVersion === release);
  const half = vms.filter((vm) => !vm.isTemplate);
  if (found.length !== 2 || half.length !== 0) {
    throw new Error(
      `expected two templates of ${release} and no half-made machine; vCenter has ${found.map((vm) => vm.name).join(', ') || 'none'}` +
        ` and ${half.map((vm) => vm.name).join(', ') || 'none'} half-made`,
    );
  }
}
