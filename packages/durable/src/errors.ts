/** How far a write got before it failed. */
export interface DurableErrorInit {
  readonly code: DurableErrorCode;
  readonly path: string;
  /** The system call or step that failed. */
  readonly step: string;
  /** Whether a reader may see the new content now. */
  readonly visible: boolean;
  /** Whether the new content survives a power cut. */
  readonly durable: boolean;
  readonly cause: unknown;
}

/** Stable codes of {@link DurableError}. */
export type DurableErrorCode = 'WRITE_FAILED' | 'SYNC_FAILED' | 'RENAME_FAILED' | 'DIRECTORY_SYNC_FAILED';

const NEXT: Record<DurableErrorCode, string> = {
  WRITE_FAILED: 'The old content is untouched; check space and permissions, then write again.',
  SYNC_FAILED: 'The device may have lost data; check it, then write again from the start.',
  RENAME_FAILED: 'The old content is untouched; check the permissions of the directory, then write again.',
  DIRECTORY_SYNC_FAILED: 'The new content is visible but may not survive a power cut; write again.',
};

/** The one error of this package: says what a reader sees and what a power cut leaves. */
export class DurableError extends Error {
  override readonly name = 'DurableError';
  readonly code: DurableErrorCode;
  readonly path: string;
  readonly visible: boolean;
  readonly durable: boolean;
  /** Writing again may help when the cause was a full or busy disk. */
  readonly retriable: boolean = true;

  constructor(init: DurableErrorInit) {
    const said = init.cause instanceof Error ? init.cause.message : String(init.cause);
    const next =
      init.code === 'WRITE_FAILED' && init.visible ? 'The content is incomplete; write again.' : NEXT[init.code];
    super(`${init.path}: ${init.step} failed: ${said}. ${next}`, { cause: init.cause });
    this.code = init.code;
    this.path = init.path;
    this.visible = init.visible;
    this.durable = init.durable;
  }
}
