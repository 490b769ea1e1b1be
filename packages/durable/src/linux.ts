import { getSystemErrorName } from 'node:util';

/** The system calls that Node lacks, run on worker threads. */
export interface NativeCalls {
  exchange(first: string, second: string): Promise<void>;
  /** False where another open file holds the lock. */
  tryLock(fd: number): Promise<boolean>;
  syncfs(fd: number): Promise<void>;
  /** Begins to write the whole file to the device. */
  writeback(fd: number): Promise<void>;
}

/** Asynchronous form of one `syscall`: result and errno arrive in the callback. */
type RawCall = (args: readonly (number | string)[]) => Promise<{ readonly result: number; readonly errno: number }>;

/** Binds `syscall` once per list of C argument types. */
export type BindSyscall = (types: readonly string[]) => RawCall;

/**
 * Numbers of the raw calls (asm/unistd_64.h and asm-generic/unistd.h). glibc's own `renameat2` is of no use: it turns ENOSYS into EINVAL.
 */
const NUMBERS: Readonly<Record<string, Readonly<Record<SyscallName, number>>>> = {
  x64: { renameat2: 316, flock: 73, syncfs: 306, sync_file_range: 277 },
  arm64: { renameat2: 276, flock: 32, syncfs: 267, sync_file_range: 84 },
};

type SyscallName = 'renameat2' | 'flock' | 'syncfs' | 'sync_file_range';

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
const LOCK_EX_NB = 2 | 4;
const SYNC_FILE_RANGE_WRITE = 2;
/** The FFI library refuses calls beyond a few hundred; its workers are few anyway. */
const MAX_IN_FLIGHT = 16;

/** The native calls of this machine. On others than Linux on x64 or arm64 each call rejects with `ENOTSUP` and says so. */
export function nativeCalls(
  platform: string = process.platform,
  arch: string = process.arch,
  load: () => Promise<BindSyscall> = loadKoffi,
): NativeCalls {
  const numbers = platform === 'linux' ? NUMBERS[arch] : undefined;
  const slots = semaphore(MAX_IN_FLIGHT);
  let bind: Promise<BindSyscall> | undefined;
  const bound = new Map<string, RawCall>();

  const invoke = async (
    name: SyscallName,
    types: readonly string[],
    args: readonly (number | string)[],
  ): Promise<void> => {
    if (numbers === undefined)
      throw failure('ENOTSUP', name, `not available on ${platform} ${arch}, only on Linux on x64 and arm64`);
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
    writeback: (fd) => invoke('sync_file_range', ['int', 'int64', 'int64', 'uint'], [fd, 0, 0, SYNC_FILE_RANGE_WRITE]),
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

async function loadKoffi(): Promise<BindSyscall> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  return (types) => {
    const call = libc.func('syscall', 'long', [...types]);
    return (args) =>
      new Promise((resolve, reject) => {
        call.async(...args, (error: unknown, result: unknown) => {
          // The library keeps the worker's errno for the time of this callback.
          if (error === null || error === undefined) resolve({ result: Number(result), errno: koffi.errno() });
          else reject(error instanceof Error ? error : new Error('the call was not made', { cause: error }));
        });
      });
  };
}

function failure(code: string, syscall: string, detail: string): Error {
  return Object.assign(new Error(`${code}: ${syscall}${detail === '' ? '' : ` ${detail}`}`), { code, syscall });
}
