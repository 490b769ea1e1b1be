import type { ObjectId } from '../payload/manifest.ts';

/** Names of upstream's for what kept an object from being applied. */
export type ApplyReason =
  | 'UpdatePayloadResourceNotFound'
  | 'UpdatePayloadResourceConflict'
  | 'UpdatePayloadClusterDown'
  | 'UpdatePayloadClusterError'
  | 'UpdatePayloadResourceInvalid'
  | 'UpdatePayloadClusterUnauthorized'
  | 'UpdatePayloadResourceForbidden'
  | 'UpdatePayloadClusterOverloaded'
  | 'UpdatePayloadResourceTypeMissing'
  | 'UpdatePayloadFailed'
  | 'ClusterOperatorNoVersions'
  | 'ClusterOperatorNotAvailable'
  | 'ClusterOperatorDegraded'
  | 'ClusterOperatorUpdating'
  | 'WorkloadNotAvailable'
  | 'WorkloadNotProgressing'
  | 'JobFailed'
  | 'ResourceClaimed';

/** What an error means for the release: only progress, a report, a failure, or a failure if it lasts (40 minutes upstream). */
export type ApplyEffect = 'None' | 'Report' | 'Fail' | 'FailAfterInterval';

/** One object that could not be applied, or is not as it must be. */
export interface ApplyError {
  readonly object: ObjectId;
  readonly file: string;
  readonly line: number;
  readonly reason: ApplyReason;
  readonly effect: ApplyEffect;
  /** A sentence with the object's name. */
  readonly message: string;
  /** What a person does next. */
  readonly nextStep: string;
  /** Since when, where the object itself says so. */
  readonly since?: Date;
}
