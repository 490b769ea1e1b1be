import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type OvaSource, type TemplateStore, type TemplateWish, templateStore } from '@drydock/templates';
import { memoryOva, TEST_KEYS } from '@drydock/templates/testing';
import type { VCenter } from '@drydock/vsphere';
import { compared, type Figure, median, percentile } from '../measure.ts';
import { buildPeer } from '../peer.ts';
import { startWorker, type Worker } from '../worker.ts';
import { connect, type Rig, startRig, wishFor } from './rig.ts';

/** What the Go worker is told; see `peers/cmd/rename`. */
interface RenameJob {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly ca: string;
  readonly current: string;
  readonly spare: string;
  readonly name: string;
  readonly kept: readonly [string, string];
  readonly rounds: number;
}

/** How long vCenter takes for a rename (ms), and how many replacements each side makes in each round at that pace. */
const PACES = [
  { delayMs: 0, replacements: 100 },
  { delayMs: 50, replacements: 50 },
] as const;
/** A quantile is the median of that many rounds: something else on the machine spoils one of them. */
const ROUNDS = 3;
/** Sides take turns after so many, so that both see the same machine. Even: the peer ends as it began. */
const BLOCK = 10;
const NAME = 'production';
const OURS = '/DC0/vm/swap-ours';
const PEERS = '/DC0/vm/swap-peer';
const DISK_BYTES = 64 << 10;
const REVERT_RENAME_MS = 500;

/**
 * Replacements under one name, by the store and by two bare renames of govmomi. The window is the server's: from the end of the rename that takes the name away to
 * the end of the one that gives it back. Ours goes back and forth between two generations, which is the same swap without an upload.
 */
export async function swap(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  const binary = await buildPeer('rename', signal);
  await using rig = await startRig({ clusters: 1, hosts: 1, vms: 0 }, signal);
  await using peer: Worker<RenameJob, unknown> = startWorker(binary);
  await using vcenter = connect(rig.endpoint);
  await using store = storeOn(rig, vcenter);
  const wish = await twoGenerations(rig, store, vcenter.server, signal);
  await twoTemplates(rig, signal);
  const { url, user, password, ca } = rig.endpoint;
  const job = { url, user, password, ca, name: NAME, kept: ['spare-0', 'spare-1'], rounds: BLOCK } as const;
  const paths = { current: `${PEERS}/${NAME}`, spare: `${PEERS}/spare-0` };

  for (const { delayMs, replacements } of PACES) {
    await using stack = new AsyncDisposableStack();
    if (delayMs > 0) stack.use(await rig.switchboard.rule({ on: 'Rename_Task', do: 'task', delayMs }));
    const rounds = { ours: [] as (readonly number[])[], peer: [] as (readonly number[])[] };
    for (let round = 0; round <= ROUNDS; round++) {
      await rig.switchboard.resetNames({ signal });
      // The first round is short: it is for caches and compilers.
      for (let done = 0; done < (round === 0 ? BLOCK : replacements); done += BLOCK) {
        for (let each = 0; each < BLOCK; each++) await revert(store, wish, signal);
        await peer.run({ ...job, ...paths }, signal);
      }
      if (round === 0) continue;
      rounds.ours.push(await windowsMs(rig, OURS, replacements, signal));
      rounds.peer.push(await windowsMs(rig, PEERS, replacements, signal));
    }
    const common = {
      bench: 'templates',
      case: `swap, renames ${delayMs} ms`,
      unit: 'ms',
      lowerIsBetter: true,
    } as const;
    for (const percent of [50, 99]) {
      const of = (side: 'ours' | 'peer'): number =>
        median(rounds[side].map((windows) => percentile(windows, percent / 100)));
      report(compared({ ...common, metric: `window p${percent}`, ours: of('ours'), peer: of('peer'), goal: 1.2 }));
    }
  }
  await measureRevert(rig, wish, report, signal);
}

/** Going back as a person does it: a new login, and a vCenter that takes its time. */
async function measureRevert(
  rig: Rig,
  wish: TemplateWish,
  report: (figure: Figure) => void,
  signal: AbortSignal,
): Promise<void> {
  await rig.switchboard.resetUploads({ signal });
  await using _slow = await rig.switchboard.rule({ on: 'Rename_Task', do: 'task', delayMs: REVERT_RENAME_MS });
  const started = performance.now();
  {
    await using vcenter = connect(rig.endpoint);
    await using store = storeOn(rig, vcenter);
    await revert(store, wish, signal);
  }
  const seconds = (performance.now() - started) / 1000;
  const { bytes } = await rig.switchboard.uploads({ signal });
  const common = { bench: 'templates', case: `revert, renames ${REVERT_RENAME_MS} ms`, lowerIsBetter: true } as const;
  report({ ...common, metric: 'wall', unit: 's', ours: seconds, goal: 10 });
  report({ ...common, metric: 'uploaded', unit: 'B', ours: bytes, goal: 0 });
}

/** As an installation has it: what it goes back to is proven by its key. */
function storeOn({ scratch }: Rig, vcenter: VCenter): TemplateStore {
  return templateStore({
    vcenters: async () => vcenter,
    cacheDir: scratch,
    ovas: images,
    markKeys: async () => TEST_KEYS,
  });
}

/** Each release has an image of its own, whatever is in it. */
const images: OvaSource = {
  open: (image, options) =>
    memoryOva({ version: image.release, disk: Buffer.alloc(DISK_BYTES, 'KDMV') }).open(image, options),
};

/** Publishes two releases under the name, so that there is a way back. */
async function twoGenerations(
  rig: Rig,
  store: TemplateStore,
  server: string,
  signal: AbortSignal,
): Promise<TemplateWish> {
  await rig.switchboard.createFolder(OURS, { signal });
  const wishes = ['1', '2'].map((release) => {
    const sha256 = createHash('sha256').update(`image ${release}`).digest('hex');
    const image = { release, location: 'memory:', sha256 };
    return wishFor(server, OURS, image, { base: NAME, publication: { kind: 'swap', name: NAME } });
  });
  for (const wish of wishes) await store.publish(wish, { holderIsLive: () => undefined, signal });
  return wishes[0] as TemplateWish;
}

async function revert(store: TemplateStore, wish: TemplateWish, signal: AbortSignal): Promise<void> {
  const { placement, cluster, holder } = wish;
  const { uploads } = await store.revert({ placement, owner: cluster, name: NAME, holder }, { signal });
  if (uploads !== 0) throw new Error('bench: going back uploaded something');
}

async function twoTemplates(rig: Rig, signal: AbortSignal): Promise<void> {
  await rig.switchboard.createFolder(PEERS, { signal });
  for (const name of [NAME, 'spare-0'])
    await rig.switchboard.createVm({ folder: PEERS, name, template: true }, { signal });
}

/** The windows in which the name meant nothing, by the server's clock, ascending. */
async function windowsMs(rig: Rig, folder: string, expected: number, signal: AbortSignal): Promise<readonly number[]> {
  // The last one ends with a task that its client has seen; the log may be a moment behind.
  await pause(50);
  const gaps = await rig.switchboard.nameGaps({ folder, name: NAME }, { signal });
  if (gaps.length !== expected) throw new Error(`bench: ${gaps.length} windows in ${folder} instead of ${expected}`);
  return gaps.map(({ micros }) => micros / 1000).toSorted((a, b) => a - b);
}
