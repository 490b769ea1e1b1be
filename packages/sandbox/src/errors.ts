/** What went wrong, in a word that callers may switch on. */
export type SandboxErrorCode =
  | 'GoMissing'
  | 'GoTooOld'
  | 'BuildFailed'
  | 'ServerExited'
  | 'NotReady'
  | 'CrdRefused'
  | 'BadInput'
  | 'NeedsRealServers'
  | 'Aborted';

/** The one error class of this package. `message` names the object and ends with what to do next. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;
  /** True where the same call may succeed if it is simply repeated. */
  readonly retriable: boolean;

  constructor(code: SandboxErrorCode, message: string, options: { cause?: unknown; retriable?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retriable = options.retriable ?? false;
  }
}

/** The error of an aborted call, with the signal's reason as its cause. */
export function aborted(what: string, signal: AbortSignal): SandboxError {
  return new SandboxError('Aborted', `${what} was aborted; start it again when you need it.`, { cause: signal.reason });
}
