/** How a file is opened. Only `truncate` and `read` follow a link; all close on exec. */
export type OpenHow =
  /** Must not exist yet. */
  | 'new'
  /** Made if absent, emptied if present. */
  | 'truncate'
  /** Also a directory, to sync it. */
  | 'read'
  /** A directory itself, to change its mode. */
  | 'directory'
  /** Made if absent, kept if present. */
  | 'lock';

/** An open file; `fd` belongs to the operations that opened it. */
export interface OpenFile {
  readonly path: string;
  readonly fd: number;
  /** Absent where nobody needs to know. */
  readonly how?: OpenHow;
}

/** The kind of a directory entry. */
export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

/** An entry of a directory. */
export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
}

/** What `lstat` says. */
export interface EntryStat {
  readonly kind: EntryKind;
  /** Permission bits only. */
  readonly mode: number;
  readonly size: number;
  readonly uid: number;
  readonly gid: number;
  /** Device and inode: two names with one identity are one object. */
  readonly identity: string;
  /** Time of the last change of the inode, ns. */
  readonly changedNs: bigint;
}

/**
 * The choke point: each call to the file system that this package makes. A failure rejects with an error whose `code` is the errno's name.
 * Tests trace, fail, delay or cut it with {@link tapOps}.
 */
export interface FsOps {
  open(path: string, how: OpenHow, mode: number): Promise<OpenFile>;
  /** Resolves with the number of bytes taken, which may be fewer than given. */
  write(file: OpenFile, bytes: Uint8Array, position: number): Promise<number>;
  chmod(file: OpenFile, mode: number): Promise<void>;
  /**
   * Gives an open file or directory the owner, ACL and extended attributes of what is at `from`. Does nothing where nothing of its kind is there. Before
   * `chmod`: it may change the mode.
   */
  adopt(file: OpenFile, from: string): Promise<void>;
  /** Lets the kernel begin to write a file's content to the device. It promises nothing, and what it fails at the sync tells. */
  writeback(file: OpenFile): Promise<void>;
  fsync(file: OpenFile): Promise<void>;
  /** Syncs the whole file system that holds the file. */
  syncfs(file: OpenFile): Promise<void>;
  /** Tries to take an exclusive flock; false where somebody else holds it. Never blocks. */
  lock(file: OpenFile): Promise<boolean>;
  close(file: OpenFile): Promise<void>;
  mkdir(path: string, mode: number): Promise<void>;
  list(path: string): Promise<readonly Entry[]>;
  lstat(path: string): Promise<EntryStat | undefined>;
  read(path: string): Promise<Uint8Array>;
  readlink(path: string): Promise<string>;
  symlink(pointsTo: string, path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Swaps two names in one step. The visible one comes first, so that its last inotify event is a create. */
  exchange(target: string, staged: string): Promise<void>;
  /** Whether the file system lives in memory only. */
  volatile(path: string): Promise<boolean>;
}

/** One call at the choke point. */
export interface FsCall {
  readonly op: keyof FsOps;
  readonly path: string;
  /** The second path of `rename`, `exchange` and `adopt`. */
  readonly to?: string;
  /** Of `open`. */
  readonly how?: OpenHow;
}

/** Sees each call and decides whether and when it runs. */
export type FsTap = <T>(call: FsCall, run: () => Promise<T>) => Promise<T>;

/** Whether a call can change what is on the disk or in the cache; a process that dies after one that cannot dies after the call before it. */
export function isChange({ op, how }: FsCall): boolean {
  if (op === 'open') return how !== 'read' && how !== 'directory';
  return !UNCHANGING.has(op);
}

const UNCHANGING: ReadonlySet<keyof FsOps> = new Set([
  'writeback',
  'lock',
  'close',
  'list',
  'lstat',
  'read',
  'readlink',
  'volatile',
]);

/** The same operations with `tap` around each. */
export function tapOps(ops: FsOps, tap: FsTap): FsOps {
  return {
    open: (path, how, mode) => tap({ op: 'open', path, how }, () => ops.open(path, how, mode)),
    write: (file, bytes, position) => tap({ op: 'write', path: file.path }, () => ops.write(file, bytes, position)),
    chmod: (file, mode) => tap({ op: 'chmod', path: file.path }, () => ops.chmod(file, mode)),
    adopt: (file, from) => tap({ op: 'adopt', path: file.path, to: from }, () => ops.adopt(file, from)),
    writeback: (file) => tap({ op: 'writeback', path: file.path }, () => ops.writeback(file)),
    fsync: (file) => tap({ op: 'fsync', path: file.path }, () => ops.fsync(file)),
    syncfs: (file) => tap({ op: 'syncfs', path: file.path }, () => ops.syncfs(file)),
    lock: (file) => tap({ op: 'lock', path: file.path }, () => ops.lock(file)),
    close: (file) => tap({ op: 'close', path: file.path }, () => ops.close(file)),
    mkdir: (path, mode) => tap({ op: 'mkdir', path }, () => ops.mkdir(path, mode)),
    list: (path) => tap({ op: 'list', path }, () => ops.list(path)),
    lstat: (path) => tap({ op: 'lstat', path }, () => ops.lstat(path)),
    read: (path) => tap({ op: 'read', path }, () => ops.read(path)),
    readlink: (path) => tap({ op: 'readlink', path }, () => ops.readlink(path)),
    symlink: (pointsTo, path) => tap({ op: 'symlink', path }, () => ops.symlink(pointsTo, path)),
    unlink: (path) => tap({ op: 'unlink', path }, () => ops.unlink(path)),
    rmdir: (path) => tap({ op: 'rmdir', path }, () => ops.rmdir(path)),
    rename: (from, to) => tap({ op: 'rename', path: from, to }, () => ops.rename(from, to)),
    exchange: (target, staged) => tap({ op: 'exchange', path: target, to: staged }, () => ops.exchange(target, staged)),
    volatile: (path) => tap({ op: 'volatile', path }, () => ops.volatile(path)),
  };
}
