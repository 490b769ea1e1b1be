import fs, { constants } from 'node:fs';
import { promisify } from 'node:util';
import { copyAttributes } from './attributes.ts';
import { oncePerDirectory } from './birth.ts';
import { nativeCalls } from './linux.ts';
import { type EntryKind, type FsOps, type OpenHow, tapOps } from './ops.ts';
import { rawPath, textOfName } from './raw-names.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;

const FLAGS: Readonly<Record<OpenHow, number>> = {
  new: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
  truncate: O_WRONLY | O_CREAT | O_TRUNC,
  // Opening a FIFO would wait for its writer.
  read: O_RDONLY | O_NONBLOCK,
  directory: O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
  lock: O_RDWR | O_CREAT | O_NOFOLLOW,
};

/** What is written beyond this offset leaves the main thread: the kernel makes writers of large files wait for the device. */
const LONG_WRITE = 1 << 20;
const MEMORY_FILE_SYSTEMS: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

const native = nativeCalls();
const atBirth = oncePerDirectory<fs.Stats>();
const fsync = promisify(fs.fsync);
const rename = promisify(fs.rename);
const write = promisify(fs.write);

/**
 * The machine's file system, or a refusal. Windows cannot sync a directory, so nothing that is done there could be durable: each call rejects with
 * `ENOTSUP`, the first one too, before anything is touched.
 */
export function opsOf(platform: string): FsOps {
  if (platform !== 'win32') return posixOps;
  return tapOps(posixOps, ({ op, path }) => {
    const message = `ENOTSUP: ${op} ${path}: Windows cannot sync a directory, so nothing can be made durable there`;
    return Promise.reject(Object.assign(new Error(message), { code: 'ENOTSUP', syscall: op }));
  });
}

/**
 * What waits for the device (fsync, rename, exchange, syncfs) runs on worker threads; what only touches the page
 * cache runs at once, because a hop to a thread and back costs more than the call: 37 ms against 6 ms for 200 files on tmpfs.
 */
const posixOps: FsOps = {
  open: async (path, how, mode) => ({ path, fd: fs.openSync(rawPath(path), FLAGS[how], mode), how }),
  write: async ({ fd }, bytes, position) =>
    position + bytes.length < LONG_WRITE
      ? fs.writeSync(fd, bytes, 0, bytes.length, position)
      : (await write(fd, bytes, 0, bytes.length, position)).bytesWritten,
  chmod: async ({ fd }, mode) => fs.fchmodSync(fd, mode),
  adopt: async (file, from) => {
    const { fd } = file;
    const old = fs.lstatSync(rawPath(from), { throwIfNoEntry: false });
    const own = atBirth(file, () => fs.fstatSync(fd));
    if (old === undefined || kindOf(old) !== kindOf(own)) return;
    keepOwner(fd, old, own);
    await copyAttributes(from, file);
  },
  writeback: ({ fd }) => native.writeback(fd),
  fsync: async ({ fd }) => {
    await fsync(fd);
    // XFS answers the sync of a directory with success when it went down before it; asked for anything else, it fails.
    fs.fstatSync(fd);
  },
  syncfs: ({ fd }) => native.syncfs(fd),
  lock: ({ fd }) => native.tryLock(fd),
  close: async ({ fd }) => fs.closeSync(fd),
  mkdir: async (path, mode) => {
    fs.mkdirSync(path, mode);
  },
  list: async (path) =>
    fs
      .readdirSync(rawPath(path), { withFileTypes: true, encoding: 'buffer' })
      .map((entry) => ({ name: textOfName(entry.name), kind: kindOf(entry) })),
  lstat: async (path) => {
    const stat = fs.lstatSync(rawPath(path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    return {
      kind: kindOf(stat),
      mode: Number(stat.mode & 0o7777n),
      size: Number(stat.size),
      uid: Number(stat.uid),
      gid: Number(stat.gid),
      identity: `${stat.dev}:${stat.ino}`,
      changedNs: stat.ctimeNs,
    };
  },
  read: async (path) => fs.readFileSync(rawPath(path)),
  readlink: async (path) => fs.readlinkSync(rawPath(path)),
  symlink: async (pointsTo, path) => fs.symlinkSync(pointsTo, path),
  unlink: async (path) => fs.unlinkSync(rawPath(path)),
  rmdir: async (path) => fs.rmdirSync(rawPath(path)),
  rename: (from, to) => rename(rawPath(from), rawPath(to)),
  exchange: (target, staged) => native.exchange(target, staged),
  volatile: async (path) => MEMORY_FILE_SYSTEMS.has(fs.statfsSync(path).type),
};

/** The file system of this machine. On Windows each call rejects with `ENOTSUP`. */
export const nodeOps: FsOps = opsOf(process.platform);

type Owned = Pick<fs.Stats, 'uid' | 'gid' | 'mode'>;

function keepOwner(fd: number, old: Owned, own: Owned): void {
  if (old.uid === own.uid && old.gid === own.gid) return;
  try {
    fs.fchownSync(fd, old.uid, old.gid);
  } catch (error) {
    // Not to be of the group is not to be let in by it: where it may do no more than everybody, nothing is lost or gained.
    const moreThanOthers = (old.mode >> 3) & ~old.mode & 0o7;
    if (old.uid !== own.uid || moreThanOthers !== 0) throw error;
  }
}

interface Kinded {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

function kindOf(entry: Kinded): EntryKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}
