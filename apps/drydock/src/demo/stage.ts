import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import {
  backendLine,
  backendOf,
  build,
  connectSwitchboard,
  type Switchboard,
  startSandbox,
  type VCenterSandbox,
} from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import { type OperatorProcess, startOperator } from '../process/operator-process.ts';
import type { Chapter } from './chapters.ts';
import { createCluster, type DemoImage, infrastructureName, machineApi } from './cluster.ts';
import { type ImageServer, serveImages } from './image-server.ts';
import { folderPath, places } from './inventory.ts';
import { type Telling, telling } from './telling.ts';

/** The name that Infrastructure gives the vCenter; the operator is told where it listens. */
export const vcenterName = 'vcenter.harbour.example';

/** What the cluster comes from and goes to. */
export const releases = {
  old: { release: '9.6.20260512-0', version: '4.20.3' },
  first: { release: '9.8.20260802-0', version: '4.21.0' },
  second: { release: '9.8.20261019-0', version: '4.21.4' },
  bad: { release: '9.8.20261102-0', version: '4.21.5' },
  next: { release: '9.8.20261116-0', version: '4.21.6' },
} as const;

/** Those that come while the demo runs. */
export type Arriving = Exclude<keyof typeof releases, 'old'>;

/** Of these nobody wants to see how long they take: MiB. */
const SMALL = 1;

/** The set of CRDs that the cluster goes back to. */
export const olderSet = 'openshift-4.17';

/** The folder with Drydock's own CRDs. */
export const ownCrds: string = join(import.meta.dirname, '../../../../api/crds');

/** What the demo does. */
export interface DemoOptions {
  readonly chapters: readonly Chapter[];
  /** Size of each generated OVA in MiB. */
  readonly size: number;
  /** Upload rate in MiB/s, so that it can be seen. */
  readonly rate: number;
  /** Machines of the synthetic vCenter. */
  readonly fleet: number;
  /** Stay up until the signal ends. */
  readonly stay: boolean;
  readonly signal: AbortSignal;
}

/** What the chapters share: a cluster and its vCenter. */
export interface Stage extends AsyncDisposable {
  readonly options: DemoOptions;
  readonly tell: Telling;
  readonly signal: AbortSignal;
  readonly sandbox: VCenterSandbox;
  readonly switchboard: Switchboard;
  readonly client: KubeClient;
  /** A temp folder that goes with the demo. */
  readonly folder: string;
  /** The images of the releases that this run needs. */
  image(of: Arriving): DemoImage;
  /** Starts `drydock operator`. One that runs is stopped before, as a Deployment does it. */
  operate(...flags: readonly string[]): Promise<OperatorProcess>;
  /** The operator that runs. */
  readonly operator: OperatorProcess | undefined;
}

/** Starts the servers and makes the cluster. */
export async function setStage(options: DemoOptions): Promise<Stage> {
  const { chapters, signal, size } = options;
  await using starting = new AsyncDisposableStack();
  const tell = starting.use(telling());
  const backend = backendOf();
  tell.plain(`${backendLine(backend)}\n`);
  const folder = await mkdtemp(join(tmpdir(), 'drydock-demo-'));
  starting.defer(() => rm(folder, { recursive: true, force: true }));

  tell.step('Starting an API server and a vCenter');
  // Downloaded together with everything else, so that no chapter stops for it.
  if (chapters.includes('rollback') || (chapters.includes('rehearsal') && backend === 'real'))
    await build({ servers: [], crds: [olderSet], signal });
  const sandbox = starting.use(await startSandbox({ backend, vcenter: true, crds: ['openshift', ownCrds], signal }));
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));

  const back = chapters.includes('way-back');
  const moved = chapters.includes('boot-images') || back;
  const first = moved || chapters.includes('watch');
  const needed: readonly Arriving[] = moved ? ['first', 'second'] : first ? ['first'] : [];
  const now = moved || !first ? releases.old : releases.first;
  const made = ['no release', 'one release', 'two releases'][needed.length] ?? '';
  const files = needed.length === 0 ? '' : `, its templates at ${now.release}, and ${made} of ${size} MiB`;
  tell.step(`Making a cluster of four machine sets${files}`);
  const images = starting.use(await serveImages(folder));
  const byName = new Map<string, DemoImage>();
  for (const [seed, name] of needed.entries()) byName.set(name, await makeImage(folder, images, name, seed + 1, size));
  for (const [seed, name] of (back ? (['bad', 'next'] as const) : []).entries())
    byName.set(name, await makeImage(folder, images, name, seed + 11, SMALL));
  await makeTemplates(switchboard, now.release);
  const old = { ...now, location: images.url('rhcos-old.ova'), sha256: '0'.repeat(64) };
  const { user, password, url, ca } = sandbox.vcenter;
  const present = moved ? old : (byName.get('first') ?? old);
  await createCluster(client, { server: vcenterName, user, password }, present);

  const args = [
    ...['--kubeconfig', sandbox.kubeconfig, '--port', '0', '--cache-dir', join(folder, 'cache')],
    ...['--vcenter-url', `${vcenterName}=${url}`, '--vcenter-ca', ca, '--lease-namespace', machineApi],
  ];
  let operator: OperatorProcess | undefined;
  let started = 0;
  starting.defer(() => operator?.[Symbol.asyncDispose]());
  const resources = starting.move();
  return {
    options,
    tell,
    signal,
    sandbox,
    switchboard,
    client,
    folder,
    image: (of) => {
      const image = byName.get(of);
      if (image === undefined) throw new TypeError(`the image of the ${of} release was not made`);
      return image;
    },
    operate: async (...flags) => {
      await operator?.[Symbol.asyncDispose]();
      started += 1;
      operator = startOperator([...args, ...flags], join(sandbox.directory, `operator-${started}.log`));
      return operator;
    },
    get operator() {
      return operator;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function makeImage(
  folder: string,
  images: ImageServer,
  name: Arriving,
  seed: number,
  size: number,
): Promise<DemoImage> {
  const { release, version } = releases[name];
  const file = join(folder, `rhcos-${release}-vmware.x86_64.ova`);
  const { sha256 } = await writeTestOva(file, { version: release, diskBytes: size * 2 ** 20, seed });
  return { release, version, location: images.url(file), sha256 };
}

async function makeTemplates(switchboard: Switchboard, release: string): Promise<void> {
  await switchboard.createFolder(folderPath);
  await switchboard.createTag({ category: `openshift-${infrastructureName}`, name: infrastructureName });
  for (const domain of ['fd1', 'fd2'] as const) {
    await switchboard.createVm({
      name: `${infrastructureName}-rhcos-${domain}`,
      folder: folderPath,
      cluster: places[domain].computeCluster,
      productVersion: release,
      template: true,
    });
  }
}
