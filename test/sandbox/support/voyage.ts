import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BootImage,
  type BootImageStatus,
  bootImageName,
  ConfigMap,
  Event,
  MachineConfiguration,
  MachineSet,
} from '@drydock/api';
import { bootImagesRole, degradedType, goldenName, goldenNamespace } from '@drydock/boot-images';
import { createClient, type KubeClient, loadKubeconfig, run } from '@drydock/kube';
import {
  connectSwitchboard,
  type Switchboard,
  scratchFolder,
  startSandbox,
  type VCenterSandbox,
  type VmView,
} from '@drydock/sandbox';
import { NO_KEYS, templateStore } from '@drydock/templates';
import { TEST_KEYS, type TestOvaSpec, writeTestOva } from '@drydock/templates/testing';
import { connectVCenter, type VCenter } from '@drydock/vsphere';
import { pino } from 'pino';
import { clusterLedger } from '../../../apps/drydock/src/ownership-ledger.ts';
import { type Mirror, serveFolder } from './mirror.ts';
import {
  clusterTag,
  createCluster,
  golden,
  type Image,
  installerTemplate,
  machineApi,
  machineSet,
  oldRelease,
  place,
  type SetSpec,
} from './voyage-cluster.ts';

/** A cluster on a real API server, its vCenter, and a mirror with images. */
export interface Voyage extends AsyncDisposable {
  readonly sandbox: VCenterSandbox;
  readonly client: KubeClient;
  readonly switchboard: Switchboard;
  readonly mirror: Mirror;
  /** Folder of downloaded images. */
  readonly cacheDir: string;
  /** Makes an OVA of 1 MiB on the mirror. */
  image(release: string, spec?: Partial<TestOvaSpec>): Promise<Image>;
  /** A file on the mirror that is no OVA, named with its true digest. */
  junk(release: string): Promise<Image>;
  /** A folder with the installer's template and a running machine of somebody else. */
  folder(name: string): Promise<string>;
  /** Puts an image into the golden ConfigMap. */
  release(image: Image): Promise<void>;
  createSet(set: SetSpec): Promise<void>;
  deleteSet(name: string): Promise<void>;
  /**
   * Publishes the release that every folder has a template of, and waits until a set that is at a newer one was told: releases and sets are watched side by side, so that a set
   * made right after a release may meet the one before.
   */
  goBack(set: string): Promise<void>;
  /** Deletes what is known of a set: its BootImage. */
  forget(set: string): Promise<void>;
  /** Touches a set, as a person does after a repair that nobody watches. */
  touch(name: string): Promise<void>;
  /** `spec.template.spec.providerSpec.value.template`. */
  template(set: string): Promise<string>;
  /** Waits until a set's BootImage is as wanted. */
  status(set: string, what: string, wanted: (status: BootImageStatus) => boolean): Promise<BootImageStatus>;
  current(set: string, release: string): Promise<BootImageStatus>;
  /** Waits until Degraded is so and its message contains the text. */
  degraded(status: 'True' | 'False', text?: string): Promise<void>;
  /** Waits for an Event about a set. */
  event(set: string, reason: string, text?: string): Promise<Event>;
  /** The machines and templates of a folder by name. */
  inventory(folder: string): Promise<ReadonlyMap<string, VmView>>;
}

/** Waits until `look` finds something, for a minute unless told otherwise; says what it saw last when it does not. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined>,
  seen: () => unknown = () => undefined,
  withinMs: number = 60_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline)
      assert.fail(`${what} did not happen within ${withinMs / 1000} s: ${JSON.stringify(seen())}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** How the voyage begins. */
export interface VoyageOptions {
  /** Whether the boot image role runs in this process; default true. Without it a test starts an operator of its own. */
  readonly operator?: boolean;
  /** How templates are published; default by pointer. */
  readonly publication?: 'pointer' | 'swap';
  /** Whether there is a mark key; default true. */
  readonly keyed?: boolean;
  /** Further flags of the API server. */
  readonly apiserverFlags?: readonly string[];
}

/** Starts everything; the release is that of the installer's templates until another one is published. */
export async function startVoyage(options: VoyageOptions = {}): Promise<Voyage> {
  const { operator = true, publication = 'pointer', keyed = true, apiserverFlags = [] } = options;
  await using starting = new AsyncDisposableStack();
  const crds = ['openshift', join(import.meta.dirname, '../../../api/crds')];
  const sandbox = starting.use(await startSandbox({ vcenter: true, crds, apiserverFlags }));
  const files = starting.use(scratchFolder()).path;
  const mirror = starting.use(await serveFolder(files));
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const { user, password } = sandbox.vcenter;
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createTag(clusterTag);
  const first: Image = { release: oldRelease, location: mirror.url('old.ova'), sha256: '0'.repeat(64) };
  await createCluster(client, { user, password }, first);

  const cacheDir = join(files, 'cache');
  if (operator) starting.use(await startRole(client, sandbox, cacheDir, { publication, keyed }));
  const resources = starting.move();

  const key = (name: string): { readonly namespace: string; readonly name: string } => ({
    namespace: machineApi,
    name,
  });
  const status: Voyage['status'] = (set, what, wanted) => {
    let seen: BootImageStatus | undefined;
    const look = async (): Promise<BootImageStatus | undefined> => {
      seen = (await client.get(BootImage, key(bootImageName('ms', set))).catch(() => undefined))?.status;
      return seen !== undefined && wanted(seen) ? seen : undefined;
    };
    return eventually(`${set}: ${what}`, look, () => seen);
  };
  const release: Voyage['release'] = async (image) => {
    await client.mergePatch(ConfigMap, { namespace: goldenNamespace, name: goldenName }, { data: golden(image) });
  };
  const current: Voyage['current'] = (set, wanted) =>
    status(set, `current at ${wanted}`, (is) => is.phase === 'Current' && is.current === wanted);
  let touches = 0;
  return {
    sandbox,
    client,
    switchboard,
    mirror,
    cacheDir,
    image: async (release, spec = {}) => {
      const name = `rhcos-${release}-${Object.keys(spec).join('-')}.ova`;
      const { sha256 } = await writeTestOva(join(files, name), { version: release, diskBytes: 2 ** 20, ...spec });
      return { release, location: mirror.url(name), sha256 };
    },
    junk: async (release) => {
      const name = `junk-${release}.ova`;
      const content = `<html>${'no image here '.repeat(200)}</html>`;
      await writeFile(join(files, name), content);
      return { release, location: mirror.url(name), sha256: createHash('sha256').update(content).digest('hex') };
    },
    folder: async (name) => {
      const folder = `/DC0/vm/${name}`;
      await switchboard.createFolder(folder);
      const at = { folder, cluster: place.computeCluster };
      await switchboard.createVm({ ...at, name: installerTemplate, productVersion: oldRelease, template: true });
      await switchboard.createVm({ ...at, name: `${name}-database`, powerOn: true });
      return folder;
    },
    release,
    createSet: async (set) => {
      await client.create(MachineSet, machineSet(set));
    },
    deleteSet: (name) => client.delete(MachineSet, key(name)),
    forget: (set) => client.delete(BootImage, key(bootImageName('ms', set))),
    touch: async (name) => {
      touches += 1;
      await client.mergePatch(MachineSet, key(name), { metadata: { annotations: { touched: String(touches) } } });
    },
    template: async (set) =>
      String((await client.get(MachineSet, key(set))).spec?.template?.spec?.providerSpec?.value?.['template']),
    status,
    current,
    goBack: async (set) => {
      await release(first);
      await status(set, `newer than ${oldRelease}`, ({ reason }) => reason === 'NewerThanStream');
    },
    degraded: async (wanted, text = '') => {
      let seen: unknown;
      await eventually(
        `${degradedType} ${wanted} with "${text}"`,
        async () => {
          const { conditions } = (await client.get(MachineConfiguration, { name: 'cluster' })).status ?? {};
          const condition = conditions?.find(({ type }) => type === degradedType);
          seen = condition;
          return (condition?.status === wanted && condition.message?.includes(text) === true) || undefined;
        },
        () => seen,
      );
    },
    event: (set, reason, text = '') => {
      let seen: readonly Event[] = [];
      return eventually(
        `event ${reason} of ${set} with "${text}"`,
        async () => {
          seen = (await Array.fromAsync(client.list(Event, { namespace: machineApi }))).filter(
            ({ regarding }) => regarding?.kind === 'MachineSet' && regarding.name === set,
          );
          return seen.find((event) => event.reason === reason && event.note?.includes(text) === true);
        },
        () => seen.map(({ reason: why, note }) => `${why}: ${note}`),
      );
    },
    inventory: async (folder) => {
      const vms = (await switchboard.vms()).filter((vm) => vm.folder === folder);
      return new Map(vms.map((vm) => [vm.name, vm]));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The boot image role in this process. */
async function startRole(
  client: KubeClient,
  sandbox: VCenterSandbox,
  cacheDir: string,
  { publication, keyed }: Required<Pick<VoyageOptions, 'publication' | 'keyed'>>,
): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const vcenter = starting.use(await connectReader(sandbox));
  const store = starting.use(
    templateStore({
      ...{ vcenters: async () => vcenter, cacheDir },
      ...{ markKeys: async () => (keyed ? TEST_KEYS : NO_KEYS), ledger: clusterLedger(client, machineApi) },
    }),
  );
  const leader = {
    ...{ identity: 'voyage', holderIsLive: (holder: string): boolean => holder === 'voyage' },
    assertHeld: () => undefined,
  };
  const log = pino({ level: process.env['DRYDOCK_TEST_LOG'] ?? 'silent' });
  const role = bootImagesRole({ client, publication, store, leader, log, architecture: 'x86_64', collectAfterMs: 1 });
  starting.use(await run({ client, ...role, log, signal: new AbortController().signal }));
  return starting.move();
}

/** A session of its own on the vCenter. */
export async function connectReader({ vcenter }: VCenterSandbox): Promise<VCenter> {
  const { url, user, password, ca } = vcenter;
  return connectVCenter({
    url,
    credentials: async () => ({ user, password }),
    tls: { ca: await readFile(ca, 'utf8') },
    env: {},
  });
}
