import { oneLine } from '@drydock/api/text';
/** Stable codes of {@link DurableError}. */
export type DurableErrorCode =
  | 'INVALID'
  | 'EXISTS'
  | 'READ_FAILED'
  | 'WRITE_FAILED'
  | 'SYNC_FAILED'
  | 'RENAME_FAILED'
  | 'EXCHANGE_FAILED'
  | 'EXCHANGE_UNAVAILABLE'
  | 'DIRECTORY_SYNC_FAILED'
  | 'RECOVERY_FAILED'
  | 'LOCK_FAILED'
  | 'LOCK_TIMEOUT'
  | 'UNTRUSTED'
  | 'STALLED';

/** The part of an operation in which it failed. */
export type Stage =
  | 'validate'
  | 'lock'
  | 'prepare'
  | 'write'
  | 'fsync-file'
  | 'fsync-dir'
  | 'exchange'
  | 'fsync-parent'
  | 'recover'
  | 'cleanup';

/** What a reader finds under the target's name. */
export type Visible = 'old' | 'new' | 'unknown';

/** Where and how far an operation got before it failed. */
export interface DurableErrorInit {
  readonly code: DurableErrorCode;
  readonly stage: Stage;
  readonly path: string;
  readonly visible: Visible;
  /** What was found instead of what was expected, where no system call failed. */
  readonly message?: string;
  readonly cause?: unknown;
}

const NEXT: Readonly<Record<DurableErrorCode, string>> = {
  INVALID: 'Nothing was touched; correct the name or the content.',
  EXISTS: 'Nothing was touched; choose another name, or change what is there with syncDir.',
  READ_FAILED: 'Check the device and the permissions, then run it again.',
  WRITE_FAILED: 'Check space and permissions, then run it again.',
  SYNC_FAILED: 'The device may have lost data; check it, then run it again from the start.',
  RENAME_FAILED: 'Check the permissions of the directory, then run it again.',
  EXCHANGE_FAILED: 'See what the cause says of the two directories, then run it again.',
  EXCHANGE_UNAVAILABLE:
    "Move the target to ext4, xfs, btrfs or tmpfs, or allow the journaled way with exchange: 'auto'.",
  DIRECTORY_SYNC_FAILED: 'Check the device, then run it again.',
  RECOVERY_FAILED: 'Check the device and the permissions, then run recover again; it goes on where it stopped.',
  LOCK_FAILED: 'Check the path and the permissions of the lock file.',
  LOCK_TIMEOUT: 'Find out who holds the lock (lslocks), or allow more time.',
  UNTRUSTED: 'Nothing was touched; make root, or the user who runs this, the owner, and let nobody else write there.',
  STALLED: 'The device does not answer; check it, restart, and run recover before anything else.',
};

const STATE: Readonly<Record<Visible, string>> = {
  old: 'The old content is untouched.',
  new: 'The new content is visible, but a power cut may bring the old back.',
  unknown: 'Whether the old or the new content is visible is not known.',
};

/** What an errno of `renameat2(RENAME_EXCHANGE)` means (measured on Linux 6.18; overlayfs as in its kernel documentation). */
const EXCHANGE: Readonly<Record<string, string>> = {
  ENOENT: 'one of the two directories is missing',
  EXDEV: 'the two lie on different file systems, or an overlay file system has one of them in a lower layer',
  EBUSY: 'one of the two is a mount point',
  EINVAL: 'the file system cannot exchange',
  ENOSYS: 'the kernel or a seccomp filter does not know the call',
  EPERM: 'a seccomp filter or an immutable directory forbids it',
  ENOTSUP: 'this platform cannot exchange',
  EOPNOTSUPP: 'the file system cannot exchange',
};

/** The one error of this package: says what a reader sees and what a power cut leaves. */
export class DurableError extends Error {
  override readonly name = 'DurableError';
  readonly code: DurableErrorCode;
  readonly stage: Stage;
  readonly path: string;
  readonly visible: Visible;
  /** Whether the new content is sure to survive a power cut: never after an error. */
  readonly durable = false;
  /** The errno's name where a system call failed (`ENOSPC`, `EIO`). */
  readonly errno: string | undefined;
  /** Whether the same call may succeed later without a change of its arguments. */
  readonly retriable: boolean;
  #cleanup: unknown;

  constructor(init: DurableErrorInit) {
    const errno = errnoOf(init.cause);
    const said = init.message ?? (init.cause instanceof Error ? init.cause.message : String(init.cause));
    const why = init.stage === 'exchange' && errno !== undefined && errno in EXCHANGE ? ` (${EXCHANGE[errno]})` : '';
    const state = init.stage === 'validate' || init.stage === 'lock' ? '' : ` ${STATE[init.visible]}`;
    super(oneLine(`${init.path}: ${init.stage} failed: ${said}${why}.${state} ${NEXT[init.code]}`), {
      cause: init.cause,
    });
    this.code = init.code;
    this.stage = init.stage;
    this.path = init.path;
    this.visible = init.visible;
    this.errno = errno;
    this.retriable =
      init.code !== 'INVALID' &&
      init.code !== 'EXISTS' &&
      init.code !== 'EXCHANGE_UNAVAILABLE' &&
      init.code !== 'UNTRUSTED';
  }

  /** A second failure, while the staging was removed; `recover` removes it later. The message tells of it too. */
  get cleanup(): unknown {
    return this.#cleanup;
  }

  set cleanup(problem: unknown) {
    this.#cleanup = problem;
    const said = problem instanceof Error ? problem.message : String(problem);
    this.message += ` What was staged could not be removed either: ${said}. recover removes it later.`;
  }
}

/** The errno's name of what a system call threw. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** Runs one step; what it throws becomes a `DurableError` with the place. What already is one passes. */
export async function during<T>(
  where: Omit<DurableErrorInit, 'cause' | 'message'>,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof DurableError) throw cause;
    // A call that never came back may still take effect.
    const stalled = errnoOf(cause) === 'ESTALLED';
    const visible = stalled && where.stage === 'exchange' ? 'unknown' : where.visible;
    throw new DurableError({ ...where, code: stalled ? 'STALLED' : where.code, visible, cause });
  }
}

/** A `DurableError` about an argument, thrown before any I/O. */
export function invalid(path: string, message: string): DurableError {
  return new DurableError({ code: 'INVALID', stage: 'validate', path, visible: 'old', message });
}
