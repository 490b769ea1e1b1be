export type {
  CallOptions,
  Client,
  FieldOwner,
  JsonPatchOp,
  KubeClient,
  ListPage,
  Observer,
  Preconditions,
  RawRequest,
  Selector,
  WatchEvent,
  WatchFrom,
} from './client.ts';
export { type Credential, type Credentials, fixedCredentials } from './credentials.ts';
export {
  ApiError,
  type ApiErrorCode,
  type ApiErrorInit,
  isAlreadyExists,
  isApplyConflict,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  isPatchTestFailed,
  type StatusCause,
  type StatusDetails,
  Terminal,
} from './errors.ts';
export { type ClusterConfig, type Impersonation, type LoadOptions, loadKubeconfig } from './kubeconfig.ts';
export {
  type Key,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
} from './resource.ts';
export { createClient } from './rest.ts';
export type { RequestMetric, TransportOptions } from './transport.ts';
// Queue, controllers, leader election, events, manager, health, metrics, generator:
