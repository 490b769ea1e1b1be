import { basename, dirname } from 'node:path';
import type { Entry, EntryKind, FsOps, OpenFile } from '../ops.ts';

/** An object of the file system in memory. */
export interface Inode {
  readonly kind: 'file' | 'directory' | 'symlink';
  readonly mode: number;
  /** Content of a file, target of a link. */
  readonly data: string;
}

/** A whole file system: inodes by number (1 is the root), and entries by directory. */
export interface Image {
  readonly inodes: ReadonlyMap<number, Inode>;
  readonly entries: ReadonlyMap<number, ReadonlyMap<string, number>>;
}

/** One name of a directory now means `ino`, or nothing. */
export interface NameChange {
  readonly dir: number;
  readonly name: string;
  readonly ino: number | undefined;
}

/** What a call did, in the terms in which a disk may keep or lose it. */
export type Effect =
  | { readonly kind: 'names'; readonly changes: readonly NameChange[] }
  | { readonly kind: 'data'; readonly ino: number; readonly data: string }
  | { readonly kind: 'mode'; readonly ino: number; readonly mode: number }
  | { readonly kind: 'sync'; readonly ino: number }
  | { readonly kind: 'sync-all' }
  /** Not the file system's: the caller was told something. */
  | { readonly kind: 'mark'; readonly label: string };

/** A file system in memory that writes down the effect of each call. */
export interface MemoryFs extends FsOps {
  readonly base: Image;
  /** What each object made since was at first; a disk that kept only its name shows this. */
  readonly births: ReadonlyMap<number, Inode>;
  readonly effects: readonly Effect[];
  mark(label: string): void;
  /** What a reader sees now. */
  now(): Image;
}

/** Options of {@link memoryFs}. */
export interface MemoryFsOptions {
  /** What the disk holds at first; default an empty root. */
  readonly image?: Image;
  /** False: `exchange` fails with EINVAL, as on a file system without it. */
  readonly exchange?: boolean;
}

const EMPTY: Image = {
  inodes: new Map([[1, { kind: 'directory', mode: 0o755, data: '' }]]),
  entries: new Map([[1, new Map()]]),
};

/** A file system in memory; content is kept as latin-1 text, byte for byte. Each call takes effect at once and as a whole. */
export function memoryFs(options: MemoryFsOptions = {}): MemoryFs {
  const base = options.image ?? EMPTY;
  const inodes = new Map(base.inodes);
  const entries = new Map([...base.entries].map(([ino, names]) => [ino, new Map(names)]));
  const effects: Effect[] = [];
  const births = new Map<number, Inode>();
  const changed = new Map<number, bigint>();
  const open = new Map<number, number>();
  const locks = new Map<number, number>();
  let nextIno = Math.max(...inodes.keys()) + 1;
  let nextFd = 3;
  let clock = 0n;

  const namesOf = (dir: number): Map<string, number> => {
    const names = entries.get(dir);
    if (names === undefined) throw errno('ENOTDIR', String(dir));
    return names;
  };
  const find = (path: string): number | undefined => {
    let at = 1;
    for (const part of path.split('/').filter((piece) => piece !== '')) {
      if (inodes.get(at)?.kind !== 'directory') throw errno('ENOTDIR', path);
      const next = namesOf(at).get(part);
      if (next === undefined) return undefined;
      at = next;
    }
    return at;
  };
  const must = (path: string): number => find(path) ?? fail('ENOENT', path);
  const parentOf = (path: string): number => {
    const dir = must(dirname(path));
    return entries.has(dir) ? dir : fail('ENOTDIR', path);
  };
  const rename = (changes: readonly NameChange[]): void => {
    clock += 1n;
    for (const { dir, name, ino } of changes) {
      if (ino === undefined) namesOf(dir).delete(name);
      else namesOf(dir).set(name, ino);
      changed.set(dir, clock);
      if (ino !== undefined) changed.set(ino, clock);
    }
    effects.push({ kind: 'names', changes });
  };
  const create = (path: string, inode: Inode): number => {
    const dir = parentOf(path);
    if (namesOf(dir).has(basename(path))) throw errno('EEXIST', path);
    const ino = nextIno;
    nextIno += 1;
    inodes.set(ino, inode);
    births.set(ino, inode);
    if (inode.kind === 'directory') entries.set(ino, new Map());
    rename([{ dir, name: basename(path), ino }]);
    return ino;
  };
  const edit = (ino: number, change: Partial<Inode>): void => {
    clock += 1n;
    changed.set(ino, clock);
    inodes.set(ino, { ...(inodes.get(ino) ?? fail('EIO', String(ino))), ...change });
    if (change.data !== undefined) effects.push({ kind: 'data', ino, data: change.data });
    if (change.mode !== undefined) effects.push({ kind: 'mode', ino, mode: change.mode });
  };
  const inoOf = (file: OpenFile): number => open.get(file.fd) ?? fail('EBADF', file.path);
  const kindAt = (ino: number): EntryKind => inodes.get(ino)?.kind ?? 'other';
  const place = (path: string): { readonly dir: number; readonly name: string; readonly ino: number } => {
    const dir = parentOf(path);
    return { dir, name: basename(path), ino: namesOf(dir).get(basename(path)) ?? fail('ENOENT', path) };
  };

  return {
    base,
    births,
    effects,
    mark: (label) => effects.push({ kind: 'mark', label }),
    now: () => ({
      inodes: new Map(inodes),
      entries: new Map([...entries].map(([ino, names]) => [ino, new Map(names)])),
    }),
    open: async (path, how, mode) => {
      let ino = find(path);
      if (how === 'new' && ino !== undefined) throw errno('EEXIST', path);
      if (ino === undefined) {
        if (how === 'read' || how === 'directory') throw errno('ENOENT', path);
        ino = create(path, { kind: 'file', mode, data: '' });
      } else if (how === 'truncate') edit(ino, { data: '' });
      if (how === 'directory' && kindAt(ino) !== 'directory') throw errno('ENOTDIR', path);
      const fd = nextFd;
      nextFd += 1;
      open.set(fd, ino);
      return { path, fd };
    },
    write: async (file, bytes, position) => {
      const ino = inoOf(file);
      const old = (inodes.get(ino)?.data ?? '').padEnd(position, '\0');
      const text = Buffer.from(bytes).toString('latin1');
      edit(ino, { data: old.slice(0, position) + text + old.slice(position + text.length) });
      return bytes.length;
    },
    chmod: async (file, mode) => edit(inoOf(file), { mode }),
    // Everything here has one owner, and no attributes.
    adopt: async (file) => void inoOf(file),
    writeback: async (file) => void inoOf(file),
    fsync: async (file) => void effects.push({ kind: 'sync', ino: inoOf(file) }),
    syncfs: async () => void effects.push({ kind: 'sync-all' }),
    lock: async (file) => {
      const ino = inoOf(file);
      const holder = locks.get(ino);
      if (holder !== undefined && holder !== file.fd) return false;
      locks.set(ino, file.fd);
      return true;
    },
    close: async (file) => {
      const ino = inoOf(file);
      open.delete(file.fd);
      if (locks.get(ino) === file.fd) locks.delete(ino);
    },
    mkdir: async (path, mode) => void create(path, { kind: 'directory', mode, data: '' }),
    list: async (path) => {
      const names = entries.get(must(path)) ?? fail('ENOTDIR', path);
      return [...names].map(([name, ino]): Entry => ({ name, kind: kindAt(ino) }));
    },
    lstat: async (path) => {
      const ino = find(path);
      const inode = ino === undefined ? undefined : inodes.get(ino);
      if (ino === undefined || inode === undefined) return undefined;
      const { kind, mode, data } = inode;
      return { kind, mode, size: data.length, uid: 0, gid: 0, identity: `0:${ino}`, changedNs: changed.get(ino) ?? 0n };
    },
    read: async (path) => {
      const inode = inodes.get(must(path));
      if (inode?.kind === 'directory') throw errno('EISDIR', path);
      return Buffer.from(inode?.data ?? '', 'latin1');
    },
    readlink: async (path) => {
      const inode = inodes.get(must(path));
      return inode?.kind === 'symlink' ? inode.data : fail('EINVAL', path);
    },
    symlink: async (pointsTo, path) => void create(path, { kind: 'symlink', mode: 0o777, data: pointsTo }),
    unlink: async (path) => {
      const { dir, name, ino } = place(path);
      if (kindAt(ino) === 'directory') throw errno('EISDIR', path);
      rename([{ dir, name, ino: undefined }]);
    },
    rmdir: async (path) => {
      const { dir, name, ino } = place(path);
      if (kindAt(ino) !== 'directory') throw errno('ENOTDIR', path);
      if (namesOf(ino).size > 0) throw errno('ENOTEMPTY', path);
      rename([{ dir, name, ino: undefined }]);
    },
    rename: async (from, to) => {
      const source = place(from);
      const dir = parentOf(to);
      const replaced = namesOf(dir).get(basename(to));
      if (replaced === source.ino) return;
      if (to.startsWith(`${from}/`)) throw errno('EINVAL', to);
      if (replaced !== undefined) {
        const isDirectory = kindAt(source.ino) === 'directory';
        if (kindAt(replaced) === 'directory' && !isDirectory) throw errno('EISDIR', to);
        if (kindAt(replaced) !== 'directory' && isDirectory) throw errno('ENOTDIR', to);
        if (isDirectory && namesOf(replaced).size > 0) throw errno('ENOTEMPTY', to);
      }
      rename([
        { dir: source.dir, name: source.name, ino: undefined },
        { dir, name: basename(to), ino: source.ino },
      ]);
    },
    exchange: async (target, staged) => {
      if (options.exchange === false) throw errno('EINVAL', target);
      const [a, b] = [place(target), place(staged)];
      if (target.startsWith(`${staged}/`) || staged.startsWith(`${target}/`)) throw errno('EINVAL', target);
      rename([
        { dir: a.dir, name: a.name, ino: b.ino },
        { dir: b.dir, name: b.name, ino: a.ino },
      ]);
    },
    volatile: async () => false,
  };
}

function errno(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

function fail(code: string, path: string): never {
  throw errno(code, path);
}
