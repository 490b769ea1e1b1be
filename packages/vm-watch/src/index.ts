export type { Courier, CourierOptions } from './courier.ts';
export { IGNORED_KEYS } from './ignored-keys.ts';
export type { ChangeKind, DirtyMachine, Ledger } from './ledger.ts';
export { type KnownObject, type Lookup, parseNamespacedName, type Resolution, type Signal } from './resolve.ts';
export type { WatchState, WatchStateName } from './state.ts';
export type { Supervisor, WatchLog } from './supervisor.ts';
export { NAMESPACED_NAME, WATCHED_PATHS } from './watched-paths.ts';
export { createWatcher, type Watcher, type WatcherOptions } from './watcher.ts';
