import { oncePerDirectory } from './birth.ts';
import { loadLibc, type SyncCall } from './libc.ts';
import { syscallNumbers } from './linux.ts';
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

/** What only holds for the content that it was made for (a write takes file capabilities away as well), or belongs to a layer of an overlay. */
const NOT_KEPT = /^(security\.(capability|ima|evm)|trusted\.overlay\..*)$/;

/** Whose attributes a process may not be allowed to set: then those stay that the policy gave to the new one. */
const BY_POLICY = /^(security|trusted)\./;

const namesAtBirth = oncePerDirectory<readonly string[]>();

let loaded: Promise<AttributeCalls | undefined> | undefined;

/** Gives an open file or directory the ACL and extended attributes of what is at `from`; of a link, its own. Does nothing where the machine lacks the calls. */
export async function copyAttributes(from: string, file: OpenFile): Promise<void> {
  loaded ??= load();
  const calls = await loaded;
  if (calls === undefined) return;
  const { fd } = file;
  const [wanted, present] = [calls.list(from), namesAtBirth(file, () => calls.list(fd))];
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
  const reading = (what: 'int' | 'str' | 'void *', listing: number, getting: number) => {
    const [list, get] = [bind(['long', what, 'void *', 'size_t']), bind(['long', what, 'str', 'void *', 'size_t'])];
    return {
      list: (at: Place, room: Buffer) => list([listing, at, room, room.length]),
      get: (at: Place, name: string, room: Buffer) => get([getting, at, name, room, room.length]),
    };
  };
  const byFd = reading('int', numbers.flistxattr, numbers.fgetxattr);
  const byText = reading('str', numbers.llistxattr, numbers.lgetxattr);
  const byBytes = reading('void *', numbers.llistxattr, numbers.lgetxattr);
  const by = (at: Place) => (typeof at === 'number' ? byFd : typeof at === 'string' ? byText : byBytes);
  const setting = bind(['long', 'int', 'str', 'void *', 'size_t', 'int']);
  const removing = bind(['long', 'int', 'str']);
  return {
    list: (of) => {
      const at = placeOf(of);
      const names = grown('listxattr', (room) => by(at).list(at, room)) ?? NOTHING;
      return names.length === 0 ? [] : names.toString('utf8').split('\0').slice(0, -1);
    },
    get: (of, name) => {
      const at = placeOf(of);
      return grown('getxattr', (room) => by(at).get(at, name, room)) ?? NOTHING;
    },
    set: (fd, name, value) => {
      check(`fsetxattr ${name}`, setting([numbers.fsetxattr, fd, name, value, value.length, 0]));
    },
    remove: (fd, name) => {
      check(`fremovexattr ${name}`, removing([numbers.fremovexattr, fd, name]));
    },
  };
}

/** A descriptor, a path, or a path with bytes that are no text. */
type Place = number | string | Uint8Array;

function placeOf(of: string | number): Place {
  const at = typeof of === 'number' ? of : rawPath(of);
  return Buffer.isBuffer(at) ? Buffer.concat([at, Buffer.of(0)]) : at;
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
