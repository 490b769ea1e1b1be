import { getSystemErrorName } from 'node:util';
import { type BindSyscall, loadLibc, type RawCall } from './libc.ts';

/** The system calls that Node lacks, run on worker threads. */
export interface NativeCalls {
  exchange(first: string, second: string): Promise<void>;
  /** False where another open file holds the lock. */
  tryLock(fd: number): Promise<boolean>;
  syncfs(fd: number): Promise<void>;
  /** Begins to write the whole file to the device. */
  writeback(fd: number): Promise<void>;
}

type SyscallName = 'renameat2' | 'flock' | 'syncfs' | 'sync_file_range' | AttributeCallName;

type AttributeCallName = 'fsetxattr' | 'lgetxattr' | 'fgetxattr' | 'llistxattr' | 'flistxattr' | 'fremovexattr';

/** Those for attributes have neighbouring numbers, in one order everywhere; the first one is setxattr's. */
function attributeNumbers(first: number): Readonly<Record<AttributeCallName, number>> {
  return {
    fsetxattr: first + 2,
    lgetxattr: first + 4,
    fgetxattr: first + 5,
    llistxattr: first + 7,
    flistxattr: first + 8,
    fremovexattr: first + 11,
  };
}

/**
 * Numbers of the raw calls (each architecture's asm/unistd.h). glibc's own `renameat2` is of no use: it turns ENOSYS into EINVAL.
 */
const NUMBERS: Readonly<Record<string, Readonly<Record<SyscallName, number>>>> = {
  x64: { renameat2: 316, flock: 73, syncfs: 306, sync_file_range: 277, ...attributeNumbers(188) },
  arm64: { renameat2: 276, flock: 32, syncfs: 267, sync_file_range: 84, ...attributeNumbers(5) },
  // Little-endian; its sync_file_range takes the flags before the range.
  ppc64: { renameat2: 357, flock: 143, syncfs: 348, sync_file_range: 308, ...attributeNumbers(209) },
  s390x: { renameat2: 347, flock: 143, syncfs: 338, sync_file_range: 307, ...attributeNumbers(224) },
};

/** The numbers of a machine; undefined where nothing is known of it. */
export function syscallNumbers(platform: string, arch: string): Readonly<Record<SyscallName, number>> | undefined {
  return platform === 'linux' ? NUMBERS[arch] : undefined;
}

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
const LOCK_EX_NB = 2 | 4;
const SYNC_FILE_RANGE_WRITE = 2;
/** The FFI library refuses calls beyond a few hundred; its workers are few anyway. */
const MAX_IN_FLIGHT = 16;

/** The native calls of this machine. On others than Linux on the architectures above each call rejects with `ENOTSUP` and says so. */
export function nativeCalls(
  platform: string = process.platform,
  arch: string = process.arch,
  load: () => Promise<BindSyscall> = async () => (await loadLibc()).later,
): NativeCalls {
  const numbers = syscallNumbers(platform, arch);
  const slots = semaphore(MAX_IN_FLIGHT);
  let bind: Promise<BindSyscall> | undefined;
  const bound = new Map<string, RawCall>();

  const invoke = async (
    name: SyscallName,
    types: readonly string[],
    args: readonly (number | string)[],
  ): Promise<void> => {
    if (numbers === undefined)
      throw failure(
        'ENOTSUP',
        name,
        `not available on ${platform} ${arch}, only on Linux on ${Object.keys(NUMBERS).join(', ')}`,
      );
    bind ??= load();
    const binder = await bind.catch((cause: unknown) => {
      throw failure('ENOTSUP', name, `the package koffi cannot be loaded: ${String(cause)}`);
    });
    const call = bound.get(name) ?? binder(['long', ...types]);
    bound.set(name, call);
    const { result, errno } = await slots(() => call([numbers[name], ...args]));
    if (result !== 0)
      throw failure(getSystemErrorName(-errno), name, args.filter((arg) => typeof arg === 'string').join(', '));
  };

  return {
    exchange: (first, second) =>
      invoke('renameat2', ['int', 'str', 'int', 'str', 'uint'], [AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE]),
    tryLock: async (fd) => {
      for (;;) {
        try {
          await invoke('flock', ['int', 'int'], [fd, LOCK_EX_NB]);
          return true;
        } catch (error) {
          const code = (error as NodeJS.ErrnoException).code;
          if (code === 'EAGAIN') return false;
          if (code !== 'EINTR') throw error;
        }
      }
    },
    syncfs: (fd) => invoke('syncfs', ['int'], [fd]),
    // From 0, for 0 bytes: to the end.
    writeback: (fd) =>
      arch === 'ppc64'
        ? invoke('sync_file_range', ['int', 'uint', 'int64', 'int64'], [fd, SYNC_FILE_RANGE_WRITE, 0, 0])
        : invoke('sync_file_range', ['int', 'int64', 'int64', 'uint'], [fd, 0, 0, SYNC_FILE_RANGE_WRITE]),
  };
}

/** Runs at most `limit` actions at a time, the others in the order they came. */
export function semaphore(limit: number): <T>(action: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async (action) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await action();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

function failure(code: string, syscall: string, detail: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}${detail === '' ? '' : ` ${detail}`}`), { code, syscall });
}
