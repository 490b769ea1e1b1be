import { oneLine } from '@drydock/api/text';

/** Why a process must end, or could not stop cleanly. */
export type RunErrorCode = 'LeaseLost' | 'LeaseNotHeld' | 'StopTimeout' | 'PartEnded';

const NEXT: Readonly<Record<RunErrorCode, string>> = {
  LeaseLost:
    'Another process may lead now. The operator contests the Lease again by itself; run any other command again.',
  LeaseNotHeld: 'Nothing was written; the replica that holds the lease does this work.',
  StopTimeout: 'The lease was kept so that it expires by itself; look at the log for what did not end.',
  PartEnded: 'Restart this process; the cause says what went wrong.',
};

/** The error that ends a manager. Never retriable in this process. */
export class RunError extends Error {
  override readonly name: string = 'RunError';
  readonly code: RunErrorCode;
  readonly retriable = false;

  constructor(code: RunErrorCode, said: string, cause?: unknown) {
    super(oneLine(`${said}. ${NEXT[code]}`), cause === undefined ? {} : { cause });
    this.code = code;
  }
}
