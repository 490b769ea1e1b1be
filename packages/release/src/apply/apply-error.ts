import { ApiError, type ApiErrorCode } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';
import { idText, type Manifest, type ObjectId, whereOf } from '../payload/manifest.ts';

/** What kept an object from being applied, and what a person does next. Names of upstream's, but the last. */
const NEXT = {
  UpdatePayloadResourceNotFound: 'See who deleted it, or what should have made it.',
  UpdatePayloadResourceConflict:
    'See who else changes it: `kubectl get --show-managed-fields` names them. It is tried again.',
  UpdatePayloadClusterDown: 'See whether the API server runs. It is tried again.',
  UpdatePayloadClusterError: 'See what the API server and its webhooks log. It is tried again.',
  UpdatePayloadResourceInvalid: 'Correct the manifest and build the payload again.',
  UpdatePayloadClusterUnauthorized: 'See the login of whoever applies.',
  UpdatePayloadResourceForbidden: 'Grant the right to whoever applies.',
  UpdatePayloadClusterOverloaded: 'See what loads the API server. It is tried again.',
  UpdatePayloadResourceTypeMissing:
    'Install the definition of the kind, or bring it in the payload before its objects.',
  UpdatePayloadFailed: 'See the message. It is tried again.',
  ClusterOperatorNoVersions: 'Give the manifest status.versions, and build the payload again.',
  ClusterOperatorNotAvailable: 'See the conditions of the ClusterOperator and the log of its operator.',
  ClusterOperatorDegraded: 'See the conditions of the ClusterOperator and the log of its operator.',
  ClusterOperatorUpdating: 'Wait, or see the log of its operator.',
  WorkloadNotAvailable: 'See its pods and events: `kubectl describe` shows them.',
  WorkloadNotProgressing: 'See its pods and events: `kubectl describe` shows them.',
  JobFailed: 'See the log of its pods; delete the Job to have it made again.',
  PlanMoved: 'See what changed it, and plan again.',
  ResourceClaimed: 'Leave it out of one of the two, or delete the owner that is not needed any more.',
} as const;

/** See {@link ApplyError.reason}. */
export type ApplyReason = keyof typeof NEXT;

/** What an error means for the release: only progress, a report, a failure, or a failure if it lasts (40 minutes upstream). */
export type ApplyEffect = 'None' | 'Report' | 'Fail' | 'FailAfterInterval';

/** One object that could not be applied, or is not as it must be. */
export interface ApplyError {
  readonly object: ObjectId;
  readonly file: string;
  readonly line: number;
  readonly reason: ApplyReason;
  readonly effect: ApplyEffect;
  /** With the object's name, file and line. */
  readonly message: string;
  /** What a person does next. */
  readonly nextStep: string;
  /** Since when, where the object itself says so. */
  readonly since?: Date;
}

/** What is wrong with one object. */
export interface Fault {
  readonly reason: ApplyReason;
  readonly effect: ApplyEffect;
  /** A clause or a sentence without the object's name. */
  readonly message: string;
  readonly since?: Date;
}

/** The error of one manifest. */
export function applyError(manifest: Manifest, { reason, effect, message, since }: Fault): ApplyError {
  return {
    object: manifest.id,
    file: manifest.file,
    line: manifest.line,
    reason,
    effect,
    message: `${idText(manifest.id)} (${whereOf(manifest)}): ${message}`,
    nextStep: NEXT[reason],
    ...(since === undefined ? {} : { since }),
  };
}

/** What is wrong with an object by what a call for it threw. Rethrows what is no error of a call, nor of a payload. */
export function faultOf(error: unknown): Fault {
  if (error instanceof ReleaseError)
    return { reason: 'UpdatePayloadResourceInvalid', effect: 'Fail', message: error.message };
  if (!(error instanceof ApiError)) throw error;
  return { reason: reasonOf(error), effect: 'Fail', message: error.message };
}

const REASONS: Partial<Record<ApiErrorCode, ApplyReason>> = {
  AlreadyExists: 'UpdatePayloadResourceConflict',
  Conflict: 'UpdatePayloadResourceConflict',
  ApplyConflict: 'UpdatePayloadResourceConflict',
  Invalid: 'UpdatePayloadResourceInvalid',
  BadRequest: 'UpdatePayloadResourceInvalid',
  PatchTestFailed: 'UpdatePayloadResourceInvalid',
  TooLarge: 'UpdatePayloadResourceInvalid',
  Unauthorized: 'UpdatePayloadClusterUnauthorized',
  Credentials: 'UpdatePayloadClusterUnauthorized',
  Forbidden: 'UpdatePayloadResourceForbidden',
  TooManyRequests: 'UpdatePayloadClusterOverloaded',
  Timeout: 'UpdatePayloadClusterDown',
  Unavailable: 'UpdatePayloadClusterDown',
  Connection: 'UpdatePayloadClusterDown',
  Tls: 'UpdatePayloadClusterDown',
  BrokenStream: 'UpdatePayloadClusterDown',
  ServerError: 'UpdatePayloadClusterError',
  BadAnswer: 'UpdatePayloadClusterError',
};

function reasonOf({ code, details }: ApiError): ApplyReason {
  // Of a kind that is not served the server names no object.
  if (code === 'NotFound')
    return details.name === undefined ? 'UpdatePayloadResourceTypeMissing' : 'UpdatePayloadResourceNotFound';
  return REASONS[code] ?? 'UpdatePayloadFailed';
}
