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
  const { image, at, close } = makeImage(kind);
  try {
    using device = attach(image);
    mount(device.path, at, kind);
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
  const { image, at, close } = makeImage(kind);
  using making = new DisposableStack();
  making.defer(close);
  const device = making.use(attach(image));
  mount(device.path, at, kind);
  try {
    await prepare(at);
  } finally {
    unmount(at);
  }
  const prepared = contentOf(image);
  const made = making.move();
  return {
    boot: () => {
      restore(image, prepared);
      return boot(device.path, at, kind);
    },
    [Symbol.dispose]: () => made.dispose(),
  };
}

function makeImage(kind: Kind): {
  readonly image: string;
  readonly at: string;
  readonly close: () => void;
} {
  const dir = fs.mkdtempSync(join(fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-'));
  const [image, at] = [join(dir, 'image'), join(dir, 'mounted')];
  const { size, command } = MAKE[kind];
  fs.mkdirSync(at);
  fs.writeFileSync(image, '');
  fs.truncateSync(image, size);
  const [make = '', ...options] = command;
  run(make, ...options, image);
  return { image, at, close: () => fs.rmSync(dir, { recursive: true }) };
}

/** A file without its holes: most of a fresh file system is zeros. */
interface Content {
  readonly size: number;
  readonly parts: readonly { readonly at: number; readonly bytes: Buffer }[];
}

const PART = 1 << 16;

function contentOf(file: string): Content {
  const fd = fs.openSync(file, 'r');
  const { size } = fs.fstatSync(fd);
  const parts: { at: number; bytes: Buffer }[] = [];
  const zeros = Buffer.alloc(PART);
  const bytes = Buffer.alloc(PART);
  for (let at = 0; at < size; at += PART) {
    const length = fs.readSync(fd, bytes, 0, PART, at);
    if (bytes.compare(zeros, 0, length, 0, length) !== 0)
      parts.push({ at, bytes: Buffer.from(bytes.subarray(0, length)) });
  }
  fs.closeSync(fd);
  return { size, parts };
}

function restore(file: string, { size, parts }: Content): void {
  const fd = fs.openSync(file, 'w');
  fs.ftruncateSync(fd, size);
  for (const { at, bytes } of parts) fs.writeSync(fd, bytes, 0, bytes.length, at);
  fs.closeSync(fd);
}

/** A loop device for a file; it keeps it when the file has another content. */
function attach(file: string): { readonly path: string } & Disposable {
  const path = run('losetup', '--find', '--show', file).trim();
  return { path, [Symbol.dispose]: () => void run('losetup', '--detach', path) };
}

function boot(device: string, at: string, kind: Kind): Disk {
  mount(device, at, kind);
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
      mount(device, at, kind);
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

// By the system calls: processes for them would be most of the time of a cut.

function mount(device: string, at: string, kind: Kind): void {
  const call = koffi.load(null).func('mount', 'int', ['str', 'str', 'str', 'ulong', 'void *']);
  const result: unknown = call(device, at, kind, 0, null);
  if (result !== 0) throw new Error(`mount of ${device} at ${at} failed: ${getSystemErrorName(-koffi.errno())}`);
}

function unmount(at: string): void {
  const result: unknown = koffi.load(null).func('umount2', 'int', ['str', 'int'])(at, 0);
  if (result !== 0) throw new Error(`umount of ${at} failed: ${getSystemErrorName(-koffi.errno())}`);
}

/** Where a shell without a login has not looked: the tools of file systems. */
const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

function run(command: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
  return stdout;
}
