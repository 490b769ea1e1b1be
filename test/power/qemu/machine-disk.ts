import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { recover } from '@drydock/durable';
import { type Content, protocols } from '@drydock/durable/testing';
import { soaking } from '@drydock/model';
import { contentAt } from '../crash-points.ts';
import { findKernel, type Kernel, makeMachine, run } from './machine.ts';

const found = soaking ? findKernel() : 'a whole machine is cut only in a soak (DRYDOCK_SOAK=1)';

/** Why no machine can be cut here; false where one can. */
export const skip: string | false = typeof found === 'string' ? found : false;

/** A machine that was never booted; `fresh` is its disk. */
export async function machine(): Promise<{ readonly dir: string; readonly kernel: Kernel } & Disposable> {
  if (typeof found === 'string') throw new Error(found);
  const dir = fs.mkdtempSync(join(tmpdir(), 'qemu-'));
  makeMachine(dir, found);
  fs.renameSync(join(dir, 'disk'), join(dir, 'fresh'));
  return { dir, kernel: found, [Symbol.dispose]: () => fs.rmSync(dir, { recursive: true }) };
}

/** Copies one of the machine's disks. */
export function copyDisk(dir: string, from: string, to: string): void {
  run('cp', '--sparse=always', join(dir, from), join(dir, to));
}

/** Replays the journal of a disk and takes a directory out of it, without mounting it. */
export function diskAt(dir: string, disk: string, place: string): string {
  const [copy, out] = [join(dir, 'copy'), join(dir, 'out')];
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out);
  copyDisk(dir, disk, 'copy');
  // 1: it had something to do.
  run('sh', '-c', `e2fsck -fp '${copy}' > '${copy}.said' || [ $? = 1 ] || { cat '${copy}.said' >&2; exit 1; }`);
  run('debugfs', '-R', `rdump /${place} ${out}`, copy);
  return join(out, place);
}

interface Wanted {
  readonly path: string;
  readonly old: Content | undefined;
  readonly wanted: Content | undefined;
  readonly exchange: boolean;
}

/** What the guest does in a place. */
export function wantedOf(place: string): Wanted {
  const pair = (text: string): Content => ({ a: `${text} a`, b: `${text} b` });
  const unsynced = { path: '/t', old: pair('old'), wanted: pair('new'), exchange: true };
  const one = place.startsWith('unsynced') ? unsynced : protocols('/')[Number.parseInt(place, 10)];
  assert.ok(one !== undefined, place);
  return one;
}

/** `old`, `new`, or `corrupt` and what is there. */
export async function stateIn(root: string, one: Wanted): Promise<string> {
  if (!one.exchange) await recover(root);
  const content = contentAt(join(root, one.path));
  if (isDeepStrictEqual(content, one.wanted)) return 'new';
  return isDeepStrictEqual(content, one.old) ? 'old' : `corrupt: ${JSON.stringify(content)}`;
}
