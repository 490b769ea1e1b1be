import { oneLine } from '@drydock/api/text';
/** Why a watch cannot do what it should; stable. */
export type WatchErrorCode = 'CredentialsMissing' | 'Closed' | 'KindsMissing';

const NEXT: Readonly<Record<WatchErrorCode, string>> = {
  CredentialsMissing: 'Add the keys to the Secret; the watch notices.',
  Closed: 'The process is stopping.',
  KindsMissing: 'Install the CRDs of api/optional; the process notices.',
};

/** The one error of this package; the text ends with what to do next. */
export class WatchError extends Error {
  override readonly name = 'WatchError';
  readonly code: WatchErrorCode;

  /** `message`: what happened, to which object, as a clause without a final full stop; no secret. */
  constructor(code: WatchErrorCode, message: string) {
    super(oneLine(`${message}. ${NEXT[code]}`));
    this.code = code;
  }
}
