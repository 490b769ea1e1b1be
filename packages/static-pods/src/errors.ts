import { oneLine } from '@drydock/api/text';
/** Stable codes of {@link StaticPodError}. */
export type StaticPodErrorCode =
  /** An option is missing or makes no sense. */
  | 'USAGE'
  /** A required object does not exist. */
  | 'MISSING'
  /** An object or a file has content that cannot be used. */
  | 'BAD_CONTENT'
  /** A link lies where a directory of this program belongs. */
  | 'FOREIGN_LINK'
  /** A newer revision is being installed. */
  | 'SUPERSEDED'
  /** Installers of other revisions did not end. */
  | 'OTHERS_RUNNING'
  /** The installer's own pod is not among the node's installer pods. */
  | 'NOT_LISTED'
  /** The time for the whole was used up. */
  | 'TIMED_OUT'
  /** Several objects failed, each with its own error in `cause`. */
  | 'INCOMPLETE'
  /** The readiness of the pod could not be found out. */
  | 'UNDECIDED'
  /** The revision is ready, but the operator does not know. */
  | 'UNTOLD';

const NEXT: Readonly<Record<StaticPodErrorCode, string>> = {
  USAGE: 'Correct the flag or the environment variable.',
  MISSING: 'Create it, or list it as optional; nothing that kubelet reads was changed.',
  BAD_CONTENT: 'Correct it at its source, then run it again.',
  FOREIGN_LINK: 'Find out who made it, and remove it; nothing was written there.',
  SUPERSEDED: 'Nothing is left to do for this revision; let the newer one finish.',
  OTHERS_RUNNING: 'Look at the named pods on this node, then run it again.',
  NOT_LISTED:
    "Check the label app=installer and the node of the installer's pod, or say --alone where it is not a pod.",
  TIMED_OUT: 'Look at what it was waiting for, then run it again; it goes on where it stopped.',
  INCOMPLETE: 'See each cause; it is tried again by itself.',
  UNDECIDED: 'See the cause; nothing was changed.',
  UNTOLD:
    'Check that the operator answers and that the kubeconfig may write its status; kubelet starts the monitor again, which then tells it.',
};

const RETRIABLE: ReadonlySet<StaticPodErrorCode> = new Set([
  'OTHERS_RUNNING',
  'TIMED_OUT',
  'INCOMPLETE',
  'UNDECIDED',
  'UNTOLD',
]);

/** The one error of this package. Failures of the disk are `DurableError`, those of the API server `ApiError`; they pass as they are. */
export class StaticPodError extends Error {
  override readonly name = 'StaticPodError';
  readonly code: StaticPodErrorCode;
  /** What it is about: a flag, `Secret ns/name`, a path. */
  readonly object: string;
  /** Whether the same call may succeed later without a change of its arguments. */
  readonly retriable: boolean;

  constructor(code: StaticPodErrorCode, object: string, said: string, cause?: unknown) {
    super(oneLine(`${object}: ${said.replace(/\.$/, '')}. ${NEXT[code]}`), cause === undefined ? {} : { cause });
    this.code = code;
    this.object = object;
    this.retriable = RETRIABLE.has(code);
  }
}

/** A failed validation. `object` is the text's own subject, so only the text is shown. */
export function usage(said: string): StaticPodError {
  return new StaticPodError('USAGE', 'options', said);
}
