export type { Courier, CourierOptions } from './delivery/courier.ts';
export {
  type KnownObject,
  type Lookup,
  parseNamespacedName,
  type Resolution,
  type Signal,
} from './delivery/resolve.ts';
export { createWatcher, type Watcher, type WatcherOptions } from './delivery/watcher.ts';
export { WatchError, type WatchErrorCode } from './errors.ts';
export { asyncSignalEnabled } from './kubernetes/async-signal.ts';
export { vmOperator, vmOperatorRefusal } from './kubernetes/coexistence.ts';
export { credentialsOf, LOGIN_NOW_ANNOTATION, passwordVersion } from './kubernetes/credentials.ts';
export { kindsServed, missingKinds } from './kubernetes/kinds.ts';
export { type Holding, WatchService } from './kubernetes/service.ts';
export { ZONE_FINALIZER } from './kubernetes/zone.ts';
export { type WatchMetrics, type WatchReport, watchMetrics } from './metrics.ts';
export { MACHINE_UUID_INDEX, machineOf, machineUuids } from './openshift/machines.ts';
export { type TemplateChange, type TemplateWatch, templateWatch } from './openshift/templates.ts';
export { type VmWatchRole, type VmWatchRoleOptions, vmWatchRole } from './role.ts';
export type { ChangeKind, DirtyMachine } from './watch/dirty-machine.ts';
export { IGNORED_KEYS } from './watch/ignored-keys.ts';
export type { Ledger } from './watch/ledger.ts';
export type { Connect, VCenterLink } from './watch/link.ts';
export { type Links, links } from './watch/links.ts';
export { keepHeapSmall } from './watch/small-heap.ts';
export type { WatchState, WatchStateName } from './watch/state.ts';
export type { Supervisor } from './watch/supervisor.ts';
export type { WatchLog } from './watch/watch-log.ts';
export { NAMESPACED_NAME, WATCHED_PATHS } from './watch/watched-paths.ts';
