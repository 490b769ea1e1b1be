import { basename, dirname } from 'node:path';
import { loadLibc, type SyncCall } from './libc.ts';
import { syscallNumbers } from './linux.ts';
import { isStagingName } from './names.ts';
import type { OpenFile } from './ops.ts';
import { rawPath } from './raw-names.ts';

/** The calls that read and set extended attributes, and with them ACLs. */
interface AttributeCalls {
  readonly list: (of: string | number) => readonly string[];
  readonly get: (of: string | number, name: string) => Buffer;
  readonly set: (fd: number, name: string, value: Buffer) => void;
  readonly remove: (fd: number, name: string) => void;
}

/** A file's own ACL, and of a directory the one that new entries get. What is made in a directory with such a one has it from birth. */
const ACLS: ReadonlySet<string> = new Set(['system.posix_acl_access', 'system.posix_acl_default']);

/** What only holds for the content that it was made for, or belongs to a layer of an overlay. */
const NOT_KEPT = /^(security\.(ima|evm)|trusted\.overlay\..*)$/;

/** Whose attributes a process may not be allowed to set: then those stay that the policy gave to the new one. */
const BY_POLICY = /^(security|trusted)\./;

let loaded: Promise<AttributeCalls | undefined> | undefined;

/** Gives an open file or directory the ACL and extended attributes of what is at `from`; of a link, its own. Does nothing where the machine lacks the calls. */
export async function copyAttributes(from: string, file: OpenFile): Promise<void> {
  loaded ??= load();
  const calls = await loaded;
  if (calls === undefined) return;
  const { fd } = file;
  const [wanted, present] = [calls.list(from), atBirth(file, () => calls.list(fd))];
  for (const name of present) if (ACLS.has(name) && !wanted.includes(name)) calls.remove(fd, name);
  for (const name of wanted) {
    if (NOT_KEPT.test(name)) continue;
    const value = calls.get(from, name);
    if (present.includes(name) && calls.get(fd, name).equals(value)) continue;
    try {
      calls.set(fd, name, value);
    } catch (error) {
      if (!BY_POLICY.test(name)) throw error;
    }
  }
}

let born: { readonly dir: string; readonly names: readonly string[] } | undefined;

/** What a new file has by itself: the same for all that are made in one directory of ours, which nobody else changes, so it is asked once there. */
function atBirth({ path }: OpenFile, ask: () => readonly string[]): readonly string[] {
  const dir = dirname(path);
  if (!isStagingName(basename(dir))) return ask();
  if (born?.dir !== dir) born = { dir, names: ask() };
  return born.names;
}

async function load(): Promise<AttributeCalls | undefined> {
  const numbers = syscallNumbers(process.platform, process.arch);
  if (numbers === undefined) return undefined;
  const libc = await loadLibc().catch(() => undefined);
  return libc === undefined ? undefined : attributeCalls(libc.now, numbers);
}

function attributeCalls(
  bind: (types: readonly string[]) => SyncCall,
  numbers: NonNullable<ReturnType<typeof syscallNumbers>>,
): AttributeCalls {
  // The first argument is a descriptor or a path; a path may hold bytes that are no text.
  const byFd = {
    list: bind(['long', 'int', 'void *', 'size_t']),
    get: bind(['long', 'int', 'str', 'void *', 'size_t']),
  };
  const byPath = {
    list: bind(['long', 'void *', 'void *', 'size_t']),
    get: bind(['long', 'void *', 'str', 'void *', 'size_t']),
  };
  const setting = bind(['long', 'int', 'str', 'void *', 'size_t', 'int']);
  const removing = bind(['long', 'int', 'str']);
  const pathOf = (path: string): Buffer => Buffer.concat([Buffer.from(rawPath(path)), Buffer.of(0)]);
  return {
    list: (of) => {
      const names = grown('listxattr', (room) =>
        typeof of === 'number'
          ? byFd.list([numbers.flistxattr, of, room, room.length])
          : byPath.list([numbers.llistxattr, pathOf(of), room, room.length]),
      );
      return names === undefined || names.length === 0 ? [] : names.toString('utf8').split('\0').slice(0, -1);
    },
    get: (of, name) =>
      grown('getxattr', (room) =>
        typeof of === 'number'
          ? byFd.get([numbers.fgetxattr, of, name, room, room.length])
          : byPath.get([numbers.lgetxattr, pathOf(of), name, room, room.length]),
      ) ?? Buffer.alloc(0),
    set: (fd, name, value) => {
      check(`fsetxattr ${name}`, setting([numbers.fsetxattr, fd, name, value, value.length, 0]));
    },
    remove: (fd, name) => {
      check(`fremovexattr ${name}`, removing([numbers.fremovexattr, fd, name]));
    },
  };
}

/** The largest value that Linux has. */
const MOST = 65_536;

/** Enough for nearly all; used by one call at a time, as each returns before the next one begins. */
const SMALL = Buffer.alloc(1_024);
const NOTHING = Buffer.alloc(0);

/** The answer of a call that fills a buffer; undefined where the file system has no attributes. */
function grown(name: string, call: (room: Buffer) => ReturnType<SyncCall>): Buffer | undefined {
  for (const size of [SMALL.length, MOST]) {
    const room = size === MOST ? Buffer.alloc(MOST) : SMALL;
    const answer = call(room);
    if (answer.result === 0) return NOTHING;
    if (answer.result > 0) return Buffer.from(room.subarray(0, answer.result));
    if (answer.code === 'EOPNOTSUPP' || answer.code === 'ENOTSUP' || answer.code === 'ENOSYS') return undefined;
    if (answer.code !== 'ERANGE' || size === MOST) check(name, answer);
  }
  return undefined;
}

function check(name: string, { result, code }: ReturnType<SyncCall>): void {
  if (result < 0) throw Object.assign(new Error(`${code}: ${name}`), { code, syscall: name });
}
