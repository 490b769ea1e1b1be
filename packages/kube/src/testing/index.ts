export { parseExact } from '../json/exact-integers.ts';
export { settle, type VirtualClock, virtualClock } from './clock.ts';
export type { MemoryClientOptions } from './cluster/client.ts';
export { fastClock } from './cluster/fast-clock.ts';
export { faultyWire, type WireFaults } from './cluster/faults.ts';
export {
  type ClusterCall,
  type ClusterContext,
  type ClusterHook,
  type ClusterPhase,
  type ClusterVerb,
  KubeClientKilled,
  type MemoryKubeClient,
} from './cluster/hooks.ts';
export { httpAnswer } from './cluster/http.ts';
export {
  type ClusterChange,
  type ClusterSnapshot,
  type MemoryCluster,
  type MemoryClusterOptions,
  memoryCluster,
} from './cluster.ts';
export { failureOf } from './failure.ts';
export type { ClusterScenario, ScenarioCluster } from './scenarios.ts';
export { PARCEL, type Parcel, SCENARIO_CRDS, WIDGET, type Widget } from './scenarios-crds.ts';
export { CLUSTER_SCENARIOS } from './scenarios-table.ts';
export {
  type Answer,
  CONFIG_MAP,
  type ConfigMap,
  type MisbehavingServer,
  misbehavingServer,
  type SeenRequest,
  sendJson,
  sendStatus,
} from './server.ts';
export { until } from './until.ts';
