export { type Credential, type Credentials, fixedCredentials } from './access/credentials.ts';
export { type ClusterConfig, type Impersonation, type LoadOptions, loadKubeconfig } from './access/kubeconfig.ts';
export { type Cache, type CacheOptions, type Change, createCache } from './cache/cache.ts';
export { compareVersions } from './cache/versions.ts';
export type { WatchHealth } from './cache/watch-health.ts';
export type {
  CallOptions,
  ChangeOptions,
  Client,
  DeleteOptions,
  FieldOwner,
  JsonPatchOp,
  KubeClient,
  ListPage,
  ObjectWriteOptions,
  Observer,
  Preconditions,
  Propagation,
  RawRequest,
  Selector,
  WatchEvent,
  WatchFrom,
} from './client/client.ts';
export { fencedClient } from './client/fenced.ts';
export { apiVersionOf } from './client/path.ts';
export { createClient } from './client/rest.ts';
export { type Clock, systemClock } from './clock.ts';
export {
  type Controller,
  type ControllerEnvironment,
  type ControllerSpec,
  controller,
  type Reconcile,
  type ReconcileContext,
  type ReconcileOutcome,
} from './controller/controller.ts';
export { type ControllerMetrics, type KubeMetrics, kubeMetrics, type ReconcileResult } from './controller/metrics.ts';
export {
  and,
  annotationsChanged,
  deleting,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
} from './controller/predicates.ts';
export {
  type AddOptions,
  LOW_PRIORITY,
  type QueueObserver,
  type QueueOptions,
  type WorkQueue,
  workQueue,
} from './controller/queue.ts';
export type { RunningReconcile } from './controller/running.ts';
export { forEach, on, ownerOf, type Source, type Watched, whenever } from './controller/source.ts';
export type { Rate } from './controller/token-bucket.ts';
export {
  ApiError,
  type ApiErrorCode,
  type ApiErrorInit,
  ifFound,
  isAlreadyExists,
  isApplyConflict,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  isPatchTestFailed,
  Terminal,
} from './errors.ts';
export { withExact } from './json/exact-integers.ts';
export { type HealthCheck, type HealthChecks, serveHealth } from './manager/health.ts';
export { type Leader, type LeaderOptions, leaderElection } from './manager/leader.ts';
export { type ManagedCache, type Operator, type RunOptions, run, type Service } from './manager/manager.ts';
export { type ProcessSignals, processSignals, type SignalSource } from './manager/process-signals.ts';
export { RunError, type RunErrorCode } from './manager/run-error.ts';
export {
  type Key,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
} from './resource.ts';
export type { StatusCause, StatusDetails } from './status-object.ts';
export type { AnswerBounds } from './transport/body.ts';
export { type PortForwarder, portForwarder } from './transport/port-forward.ts';
export type { RequestMetric, TransportOptions } from './transport/transport.ts';
export {
  type ConfigMapStore,
  type ConfigMapStoreOptions,
  configMapStore,
  configMapStoreRules,
  type PolicyRule,
} from './writers/config-map-store.ts';
export { type EventInput, type EventRecorder, type EventRecorderOptions, eventRecorder } from './writers/events.ts';
export {
  type StatusOf,
  type StatusWriter,
  type StatusWriterOptions,
  statusWriter,
  type WithStatus,
  type WriteOptions,
  type WriteResult,
} from './writers/status.ts';
export {
  type NotedStatus,
  readStatusNote,
  STATUS_NOTE,
  type StatusChannel,
  type StatusChannelOptions,
  type StatusNote,
  type StatusNotice,
  statusChannel,
} from './writers/status-channel.ts';
