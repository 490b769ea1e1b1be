import { oneLine } from '@drydock/api/text';

/** `SHADOWS_LEFT`: a probe could not remove its definitions. */
export type PreflightErrorCode = 'SHADOWS_LEFT';

/** What this package refuses or fails at, beside the `ApiError` of its calls. */
export class PreflightError extends Error {
  override readonly name = 'PreflightError';
  readonly code: PreflightErrorCode;

  constructor(code: PreflightErrorCode, message: string, options: ErrorOptions = {}) {
    super(oneLine(message), options);
    this.code = code;
  }
}
