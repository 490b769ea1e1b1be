import { getSystemErrorName } from 'node:util';

/** Asynchronous form of one `syscall`: result and errno arrive in the callback. */
export type RawCall = (
  args: readonly (number | string)[],
) => Promise<{ readonly result: number; readonly errno: number }>;

/** Binds `syscall` once per list of C argument types. */
export type BindSyscall = (types: readonly string[]) => RawCall;

/** One `syscall` on the main thread: for what only touches caches. `code` is the errno's name, or empty. */
export type SyncCall = (args: readonly (number | string | Uint8Array)[]) => {
  readonly result: number;
  readonly code: string;
};

/** The two ways to call the kernel. Types are C's: `int`, `uint`, `long`, `int64`, `size_t`, `str`, `void *`. */
export interface Libc {
  /** On a worker thread where the library can. */
  readonly later: BindSyscall;
  readonly now: (types: readonly string[]) => SyncCall;
}

let libc: Promise<Libc> | undefined;

/** The C library by koffi, or where that has no build for the machine (s390x), by Node's own FFI, whose calls all run on the main thread. */
export function loadLibc(): Promise<Libc> {
  libc ??= loadKoffi().catch((error: unknown) => loadNodeFfi().catch(() => Promise.reject(error)));
  return libc;
}

async function loadKoffi(): Promise<Libc> {
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  return {
    later: (types) => {
      const call = library.func('syscall', 'long', [...types]);
      return (args) =>
        new Promise((resolve, reject) => {
          call.async(...args, (error: unknown, result: unknown) => {
            // The library keeps the worker's errno for the time of this callback.
            if (error === null || error === undefined) resolve({ result: Number(result), errno: koffi.errno() });
            else reject(error instanceof Error ? error : new Error('the call was not made', { cause: error }));
          });
        });
    },
    now: (types) => {
      const call = library.func('syscall', 'long', [...types]);
      return (args) => {
        const result = Number(call(...args));
        return { result, code: result < 0 ? getSystemErrorName(-koffi.errno()) : '' };
      };
    },
  };
}

/** What is used of Node's own FFI: it is an experiment of Node's, and the declarations for it lag behind. */
interface NodeFfi {
  dlopen(
    path: null,
    functions: Readonly<Record<string, { readonly arguments: readonly string[]; readonly return: string }>>,
  ): { readonly functions: Readonly<Record<string, (...args: readonly (bigint | number)[]) => bigint>> };
  getRawPointer(bytes: Uint8Array): bigint;
  getInt32(pointer: bigint): number;
}

/** The C library by Node's own FFI (Node 26). Every call runs on the main thread. */
export async function loadNodeFfi(): Promise<Libc> {
  // By a name that is not known before: an older Node has no such module.
  const name = 'node:ffi';
  const ffi = (await import(name)) as NodeFfi;
  const { functions } = ffi.dlopen(null, {
    syscall: { arguments: Array.from({ length: 7 }, () => 'int64'), return: 'int64' },
    __errno_location: { arguments: [], return: 'pointer' },
  });
  const { syscall, __errno_location: errnoLocation } = functions;
  if (syscall === undefined || errnoLocation === undefined) throw new Error('the C library has no syscall');
  const invoke = (
    args: readonly (number | string | Uint8Array)[],
  ): { readonly result: number; readonly errno: number } => {
    // Every argument is a machine word; what it points to must live until the call is over.
    const alive = args.map((arg) => (typeof arg === 'string' ? Buffer.from(`${arg}\0`) : arg));
    const words = alive.map((arg) => (typeof arg === 'number' ? BigInt(arg) : ffi.getRawPointer(arg)));
    const result = Number(syscall(...words, ...Array.from({ length: 7 - words.length }, () => 0n)));
    return { result, errno: result < 0 ? ffi.getInt32(errnoLocation()) : 0 };
  };
  return {
    later: () => async (args) => invoke(args),
    now: () => (args) => {
      const { result, errno } = invoke(args);
      return { result, code: result < 0 ? getSystemErrorName(-errno) : '' };
    },
  };
}
