import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { replaceFileDurable } from '@drydock/durable';
import { BIRTH_KEY, CONTENT_KEY, type OvaSource, templateStore } from '@drydock/templates';
import { memoryOva, TEST_KEYS } from '@drydock/templates/testing';
import type { MoRef, VCenter } from '@drydock/vsphere';
import type { Figure } from '../measure.ts';
import { connect, type Rig, startRig, wishFor } from './rig.ts';

const REPLACEMENTS = 1000;
const CONTROL_REPLACEMENTS = 50;
const READERS = 20;
const READER_PAUSE_MS = 100;
const DISK_BYTES = 64 << 10;
const FOLDER = '/DC0/vm/pointer';

/** What readers find in the pointer. */
interface Pointer {
  readonly name: string;
  /** Absent where nobody says: then being a template is enough. */
  readonly sha256?: string;
}

interface Seen {
  reads: number;
  /** Reads that found nothing under the name, or something unfinished. */
  wrong: number;
}

/**
 * Replacements under readers that follow the pointer all the time. The peer is the negative control: what destroys the template and then makes it again under
 * its name, as pipelines that force it do.
 */
export async function pointer(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  await using rig = await startRig({ clusters: 1, hosts: 1, vms: 0 }, signal);
  await rig.switchboard.createFolder(FOLDER, { signal });
  const ours = await under(rig, (file) => replaceByPointer(rig, file, signal));
  const peer = await under(rig, (file) => replaceInPlace(rig, file, signal));
  const common = { bench: 'templates', case: 'pointer, 20 readers', lowerIsBetter: true } as const;
  report({
    ...common,
    metric: 'replacements',
    unit: '',
    ours: REPLACEMENTS,
    peer: CONTROL_REPLACEMENTS,
    lowerIsBetter: false,
  });
  report({ ...common, metric: 'reads', unit: '', ours: ours.reads, peer: peer.reads, lowerIsBetter: false });
  report({ ...common, metric: 'wrong reads', unit: '', ours: ours.wrong, peer: peer.wrong, goal: 0 });
}

/** Runs replacements while the readers read; what they saw. */
async function under(rig: Rig, replacements: (file: string) => Promise<void>): Promise<Seen> {
  const file = join(rig.scratch, 'pointer.json');
  const seen: Seen = { reads: 0, wrong: 0 };
  const over = new AbortController();
  await using vcenter = connect(rig.endpoint);
  const folder = await vcenter.findByPath(FOLDER);
  if (folder === undefined) throw new Error(`bench: there is no ${FOLDER}`);
  const reader = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text !== undefined) {
        seen.reads++;
        if (!(await isComplete(vcenter, folder, JSON.parse(text) as Pointer))) seen.wrong++;
      }
      await pause(READER_PAUSE_MS);
    }
  };
  const readers = Array.from({ length: READERS }, reader);
  try {
    await Promise.race([replacements(file), ...readers]);
  } finally {
    over.abort();
  }
  await Promise.all(readers);
  return seen;
}

async function isComplete(vcenter: VCenter, folder: MoRef, { name, sha256 }: Pointer): Promise<boolean> {
  const ref = await vcenter.findChild(folder, name);
  const vm = ref === undefined ? undefined : await vcenter.vm(ref);
  if (vm?.isTemplate !== true) return false;
  if (sha256 === undefined) return true;
  const { digest } = JSON.parse(vm.extraConfig.get(BIRTH_KEY) ?? '{}') as { readonly digest?: string };
  return vm.extraConfig.has(CONTENT_KEY) && digest === sha256;
}

async function replaceByPointer(rig: Rig, file: string, signal: AbortSignal): Promise<void> {
  await using vcenter = connect(rig.endpoint);
  const disk = Buffer.alloc(DISK_BYTES, 'KDMV');
  // Each release has an image of its own, whatever is in it.
  const ovas: OvaSource = {
    open: (image, options) => memoryOva({ version: image.release, disk }).open(image, options),
  };
  // Collection destroys only what a key proves.
  const markKeys = async () => TEST_KEYS;
  await using store = templateStore({ vcenters: async () => vcenter, cacheDir: rig.scratch, ovas, markKeys });
  for (let release = 1; release <= REPLACEMENTS; release++) {
    signal.throwIfAborted();
    const sha256 = createHash('sha256').update(`image ${release}`).digest('hex');
    const image = { release: String(release), location: 'memory:', sha256 };
    const wish = wishFor(vcenter.server, FOLDER, image);
    const { name } = await store.publish(wish, { holderIsLive: () => undefined });
    await replaceFileDurable(file, JSON.stringify({ name, sha256 } satisfies Pointer));
    await store.collect(wish.placement, wish.cluster, {
      referenced: (of) => (of === name ? 'the pointer' : undefined),
      holderIsLive: () => undefined,
      keep: 2,
      graceMs: 0,
    });
  }
}

async function replaceInPlace(rig: Rig, file: string, signal: AbortSignal): Promise<void> {
  const name = 'forced';
  await replaceFileDurable(file, JSON.stringify({ name } satisfies Pointer));
  const vm = { folder: FOLDER, name, template: true };
  await rig.switchboard.createVm(vm, { signal });
  for (let round = 0; round < CONTROL_REPLACEMENTS; round++) {
    await pause(READER_PAUSE_MS);
    await rig.switchboard.destroyVm(`${FOLDER}/${name}`, { signal });
    await rig.switchboard.createVm(vm, { signal });
  }
}
