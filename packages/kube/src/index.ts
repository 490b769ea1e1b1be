export type { AnswerBounds } from './body.ts';
export { type Cache, type CacheOptions, type Change, createCache } from './cache.ts';
export type {
  CallOptions,
  ChangeOptions,
  Client,
  DeleteOptions,
  FieldOwner,
  JsonPatchOp,
  KubeClient,
  ListPage,
  Observer,
  Preconditions,
  Propagation,
  RawRequest,
  Selector,
  WatchEvent,
  WatchFrom,
} from './client.ts';
export { type Clock, microTime, systemClock } from './clock.ts';
export {
  type Controller,
  type ControllerEnvironment,
  type ControllerSpec,
  controller,
  type Reconcile,
  type ReconcileContext,
  type ReconcileOutcome,
} from './controller.ts';
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
export { type EventInput, type EventRecorder, type EventRecorderOptions, eventRecorder } from './events.ts';
export { eventLoopCheck, type HealthCheck, type HealthOptions, type HealthServer, serveHealth } from './health.ts';
export { jsonEqual } from './json-equal.ts';
export { type ClusterConfig, type Impersonation, type LoadOptions, loadKubeconfig } from './kubeconfig.ts';
export { type Leader, type LeaderOptions, leaderElection } from './leader.ts';
export { type ManagedCache, type Operator, type RunOptions, run, type Service } from './manager.ts';
export { type ControllerMetrics, type KubeMetrics, kubeMetrics, type ReconcileResult } from './metrics.ts';
export { apiVersionOf } from './path.ts';
export {
  and,
  annotationsChanged,
  deleting,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
} from './predicates.ts';
export { type ProcessSignals, processSignals, type SignalSource } from './process-signals.ts';
export {
  type AddOptions,
  LOW_PRIORITY,
  type QueueObserver,
  type QueueOptions,
  type WorkQueue,
  workQueue,
} from './queue.ts';
export { type ReflectOptions, type ReflectorSink, reflect } from './reflector.ts';
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
export { RunError, type RunErrorCode } from './run-error.ts';
export type { RunningReconcile } from './running.ts';
export { forEach, on, ownerOf, type Source, type Watched } from './source.ts';
export {
  type StatusOf,
  type StatusWriter,
  type StatusWriterOptions,
  statusWriter,
  type WithStatus,
  type WriteOptions,
  type WriteResult,
} from './status.ts';
export type { Rate } from './token-bucket.ts';
export type { RequestMetric, TransportOptions } from './transport.ts';
export type { HealthKeeper, WatchHealth } from './watch-health.ts';
