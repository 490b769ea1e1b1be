import { oneLine, quotedText } from '@drydock/api/text';
import { boundedStatus } from './foreign-status.ts';
import type { Status, StatusDetails } from './status-object.ts';

/** What went wrong, stable across API server versions. Compare this, never a message. */
export type ApiErrorCode =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'ApplyConflict'
  | 'Expired'
  | 'Invalid'
  | 'PatchTestFailed'
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'TooLarge'
  | 'TooManyRequests'
  | 'Timeout'
  | 'ServerError'
  | 'Unavailable'
  | 'Connection'
  | 'Tls'
  | 'BrokenStream'
  | 'BadAnswer'
  | 'AnswerTooLarge'
  | 'Credentials'
  | 'Kubeconfig';

/** Everything an `ApiError` is built from. */
export interface ApiErrorInit {
  readonly code: ApiErrorCode;
  /** What was being done to which object, such as `get MachineSet ns/a`. */
  readonly action: string;
  /** What the server (or the system) said. */
  readonly said: string;
  /** They are the words of a server, and are quoted as such. */
  readonly quoted?: boolean;
  /** What is known about it besides. */
  readonly known?: string | undefined;
  readonly status?: number;
  readonly reason?: string;
  readonly details?: StatusDetails;
  /** Milliseconds that the server asked to wait. */
  readonly retryAfter?: number | undefined;
  /** What to do next, where more is known than the code says. */
  readonly next?: string | undefined;
  readonly cause?: unknown;
}

const RETRIABLE: ReadonlySet<ApiErrorCode> = new Set([
  'Conflict',
  'Expired',
  'TooManyRequests',
  'Timeout',
  'ServerError',
  'Unavailable',
  'Connection',
  'BrokenStream',
  'BadAnswer',
]);

const NEXT: Readonly<Record<ApiErrorCode, string>> = {
  NotFound: 'Check the name and the namespace, or create it first.',
  AlreadyExists: 'Read the existing object and change it instead.',
  Conflict: 'Read the object again, decide again, write again.',
  ApplyConflict: 'Another field manager owns a field; leave the field out, or force the apply to take it over.',
  Expired: 'List again.',
  Invalid: 'Correct the named fields; the same write will fail again.',
  PatchTestFailed: 'The object is not in the expected state (or a path is absent); read it again and decide again.',
  BadRequest: 'Correct the request; the same request will fail again.',
  Unauthorized: 'Log in again, or check the token or certificate of the kubeconfig user.',
  Forbidden:
    'Grant the verb on this resource to the user with a Role or ClusterRole; a quota or a rule of admission that refused has to be met or changed.',
  TooLarge: 'Make the object smaller.',
  TooManyRequests: 'Wait as long as the server asks, then repeat.',
  Timeout: 'Repeat later; check the load of the API server and of etcd.',
  ServerError: 'Repeat later; the log of the API server says more.',
  Unavailable: 'Repeat later; check that the API server is ready.',
  Connection: 'Check the server address of the kubeconfig, the network and that the API server runs.',
  Tls: 'Check certificate-authority-data and tls-server-name of the kubeconfig cluster.',
  BrokenStream: 'Resume the watch from the last good version.',
  BadAnswer:
    'Check that the address is that of a Kubernetes API server, not of a proxy, a console or a login page before it.',
  AnswerTooLarge: 'Narrow the request with a selector, or raise maxBody, maxLine or maxListed of the client.',
  Credentials: 'Check the user entry of the kubeconfig.',
  Kubeconfig: 'Correct the kubeconfig or choose another one with --kubeconfig or KUBECONFIG.',
};

/**
 * The one error of this package: a call on the API server that failed, or that could not be made. `code` is stable, `retriable`
 * says whether the same call may succeed later, `retryAfter` (ms) is the server's own wish. Aborted calls are not
 * `ApiError`: they reject with the signal's reason.
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError';
  readonly code: ApiErrorCode;
  /** What the server (or the system) said, without what was being done and what comes next. */
  readonly said: string;
  /** HTTP status, or 0 when there was no answer. */
  readonly status: number;
  /** `reason` of the Status object, such as `AlreadyExists`; '' when there was none. */
  readonly reason: string;
  readonly details: StatusDetails;
  readonly retryAfter: number | undefined;
  readonly retriable: boolean;

  constructor(init: ApiErrorInit) {
    const said = init.quoted === true ? quotedText(init.said) : init.said;
    const known = init.known === undefined ? said : `${said} (${init.known})`;
    super(
      oneLine(`${init.action}: ${sentence(known)} ${init.next ?? NEXT[init.code]}`),
      init.cause === undefined ? {} : { cause: init.cause },
    );
    this.code = init.code;
    this.said = init.said;
    this.status = init.status ?? 0;
    this.reason = init.reason ?? '';
    this.details = init.details ?? {};
    this.retryAfter = init.retryAfter;
    this.retriable = RETRIABLE.has(init.code);
  }
}

/** Thrown by a reconcile whose failure no repetition can cure: counted and logged, not retried until the object changes. */
export class Terminal extends Error {
  override readonly name: string = 'Terminal';
  readonly code = 'Terminal';
  readonly retriable = false;
}

/** What is known about the call that a Status answers. */
export interface StatusContext {
  readonly action: string;
  /** The body was a JSON patch, so a 422 may be a failed `test`. */
  readonly jsonPatch?: boolean;
  /** Milliseconds from the Retry-After header. */
  readonly retryAfter?: number | undefined;
  /** The path names no kind: every API server has it. */
  readonly everywhere?: boolean;
  /** More about the refusal than the server says, such as that the token had expired. */
  readonly known?: string | undefined;
}

/** A 404 that names no object means the kind: `get` of a missing object always names it. */
const UNKNOWN_KIND =
  'If the server does not serve this kind at all: check group and version, or install its CustomResourceDefinition.';

/** Turns a Status (of an answer, or of an ERROR event) into an `ApiError`, its texts cut. `http` is used where the Status has no code. */
export function errorOfStatus(given: Status, http: number, context: StatusContext): ApiError {
  const status = boundedStatus(given);
  const details = status.details ?? {};
  const code = status.code ?? http;
  const asked = details.retryAfterSeconds;
  return new ApiError({
    code: codeOf(code, status, context.jsonPatch === true),
    action: context.action,
    said: status.message ?? `the server answered HTTP ${code}`,
    quoted: status.message !== undefined,
    known: context.known,
    status: code,
    next:
      code === 404 && details.name === undefined
        ? context.everywhere === true
          ? NEXT.BadAnswer
          : UNKNOWN_KIND
        : undefined,
    reason: status.reason ?? '',
    details,
    retryAfter: context.retryAfter ?? (asked === undefined || asked === 0 ? undefined : asked * 1000),
  });
}

function codeOf(code: number, status: Status, jsonPatch: boolean): ApiErrorCode {
  const causes = status.details?.causes ?? [];
  switch (code) {
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotFound';
    case 409:
      if (status.reason === 'AlreadyExists') return 'AlreadyExists';
      return causes.some((cause) => cause.reason === 'FieldManagerConflict') ? 'ApplyConflict' : 'Conflict';
    case 410:
      return 'Expired';
    case 413:
      return 'TooLarge';
    case 422:
      // A failed `test` (and a path that does not exist) comes without causes and without the object's name; a schema
      // rejection names both.
      return jsonPatch && causes.length === 0 && status.details?.name === undefined ? 'PatchTestFailed' : 'Invalid';
    case 429:
      return 'TooManyRequests';
    case 503:
      return 'Unavailable';
    case 504:
      return 'Timeout';
    default:
      if (status.reason === 'ServerTimeout' || status.reason === 'Timeout') return 'Timeout';
      return code >= 500 ? 'ServerError' : 'BadRequest';
  }
}

function has(error: unknown, code: ApiErrorCode): boolean {
  return error instanceof ApiError && error.code === code;
}

/** The object (or its kind) does not exist. */
export function isNotFound(error: unknown): boolean {
  return has(error, 'NotFound');
}

/** What is read, or undefined where the object (or its kind) does not exist. */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** A guarded write lost: the object changed since it was read. Not an apply conflict, which reading again does not cure. */
export function isConflict(error: unknown): boolean {
  return has(error, 'Conflict');
}

/** Another field manager owns a field of this apply. `details.causes` names managers and fields. */
export function isApplyConflict(error: unknown): boolean {
  return has(error, 'ApplyConflict');
}

/** A create met an object of the same name. */
export function isAlreadyExists(error: unknown): boolean {
  return has(error, 'AlreadyExists');
}

/** The resourceVersion or the continue token is too old (HTTP 410). */
export function isExpired(error: unknown): boolean {
  return has(error, 'Expired');
}

/** The schema or an admission rule rejected the object. Not a failed JSON-patch test. */
export function isInvalid(error: unknown): boolean {
  return has(error, 'Invalid');
}

/** The `test` of a JSON patch failed, or one of its paths does not exist: the server cannot tell the two apart either. */
export function isPatchTestFailed(error: unknown): boolean {
  return has(error, 'PatchTestFailed');
}

/** The user may not do this. */
export function isForbidden(error: unknown): boolean {
  return has(error, 'Forbidden');
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed.endsWith('.') || trimmed.endsWith('!') ? trimmed : `${trimmed}.`;
}
