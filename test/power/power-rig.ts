import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

/** A kind of file system that the rig can make and cut. */
export type Kind = 'ext4' | 'xfs';

/** Those that have to come out alike. */
export const kinds: readonly Kind[] = ['ext4', 'xfs'];

const MAKE: Readonly<Record<Kind, { readonly size: number; readonly command: readonly string[] }>> = {
  ext4: { size: 32 << 20, command: ['mkfs.ext4', '-q', '-F'] },
  xfs: { size: 320 << 20, command: ['mkfs.xfs', '-q', '-f'] },
};

/** Drops all dirty pages and the uncommitted journal; every later call fails with EIO (linux/fs.h, FS_IOC_SHUTDOWN with NOLOGFLUSH). */
const FS_IOC_SHUTDOWN = 0x8004587d;
const NO_LOG_FLUSH = 2;

/** A file system on a loop device, of which copies are mounted and cut. */
export interface PowerRig extends Disposable {
  /** Mounts a fresh copy of what was prepared. */
  boot(): Disk;
}

/** A mounted copy. */
export interface Disk extends Disposable {
  /** Where it is mounted. */
  readonly root: string;
  /** The journal commits because somebody else syncs a file of his own: metadata so far is on the disk, our data is not. */
  othersSync(): void;
  /** The power goes: from now on nothing reaches the disk, and every call fails. */
  shutdown(): void;
  /** It comes back: what was not on the disk is gone, the journal is replayed. `open` are descriptors of the process that died. */
  restart(open: Iterable<number>): void;
}

const answers = new Map<Kind, string | false>();

/** Why the rig cannot run here; false where it can. */
export function cannotRun(kind: Kind): string | false {
  const known = answers.get(kind) ?? tryKind(kind);
  answers.set(kind, known);
  return known;
}

function tryKind(kind: Kind): string | false {
  if (process.platform !== 'linux') return 'power cuts need Linux';
  if (process.getuid?.() !== 0) return 'power cuts need root';
  if (!fs.existsSync('/dev/loop-control')) return 'power cuts need loop devices';
  const [command = ''] = MAKE[kind].command;
  if (spawnSync(command, ['-V'], { env }).status !== 0) return `${command} is not installed`;
  const { template, at, close } = makeImage(kind);
  try {
    mount(template, at);
    unmount(at);
    return false;
  } catch (error) {
    return `a loop device with ${kind} cannot be mounted: ${String(error)}`;
  } finally {
    close();
  }
}

/** Makes a file system, lets `prepare` fill it, and keeps it, synced and unmounted. */
export async function powerRig(kind: Kind, prepare: (root: string) => Promise<unknown>): Promise<PowerRig> {
  const { template, image, at, close } = makeImage(kind);
  try {
    mount(template, at);
    try {
      await prepare(at);
    } finally {
      unmount(at);
    }
    // XFS fills its log with zeros: a template with holes is copied in a fraction of the time.
    run('cp', '--sparse=always', template, image);
    fs.renameSync(image, template);
  } catch (error) {
    close();
    throw error;
  }
  return { boot: () => boot(template, image, at), [Symbol.dispose]: close };
}

function makeImage(kind: Kind): {
  readonly template: string;
  readonly image: string;
  readonly at: string;
  readonly close: () => void;
} {
  const dir = fs.mkdtempSync(join(fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-'));
  const [template, image, at] = [join(dir, 'template'), join(dir, 'image'), join(dir, 'mounted')];
  const { size, command } = MAKE[kind];
  fs.mkdirSync(at);
  fs.writeFileSync(template, '');
  fs.truncateSync(template, size);
  const [make = '', ...options] = command;
  run(make, ...options, template);
  return { template, image, at, close: () => fs.rmSync(dir, { recursive: true }) };
}

function boot(template: string, image: string, at: string): Disk {
  run('cp', '--sparse=always', template, image);
  mount(image, at);
  return {
    root: at,
    othersSync: () => {
      const fd = fs.openSync(join(at, 'unrelated'), 'w');
      fs.writeSync(fd, 'x');
      fs.fsyncSync(fd);
      fs.closeSync(fd);
    },
    shutdown: () => shutdown(at),
    restart: (open) => {
      for (const fd of open) fs.closeSync(fd);
      unmount(at);
      mount(image, at);
    },
    [Symbol.dispose]: () => unmount(at),
  };
}

function shutdown(at: string): void {
  const ioctl = koffi.load(null).func('ioctl', 'int', ['int', 'ulong', 'void *']);
  const flags = Buffer.alloc(4);
  flags.writeUInt32LE(NO_LOG_FLUSH);
  const fd = fs.openSync(at, 'r');
  const result: unknown = ioctl(fd, FS_IOC_SHUTDOWN, flags);
  fs.closeSync(fd);
  if (result !== 0) throw new Error(`FS_IOC_SHUTDOWN of ${at} answers ${String(result)}`);
}

function mount(image: string, at: string): void {
  run('mount', '-o', 'loop', image, at);
}

/** By the system call: a process for each would be a good part of the time of a cut. */
function unmount(at: string): void {
  const result: unknown = koffi.load(null).func('umount2', 'int', ['str', 'int'])(at, 0);
  if (result !== 0) throw new Error(`umount of ${at} failed: ${getSystemErrorName(-koffi.errno())}`);
}

/** Where a shell without a login has not looked: the tools of file systems. */
const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
}
