export { type CertLoopEnvironment, runCertSync } from './cert-loop.ts';
export {
  type CertSource,
  type CertSyncEnvironment,
  type CertSyncResult,
  type CertSyncSpec,
  syncCerts,
  validateCertSync,
} from './cert-sync.ts';
export { type DoctorSpec, doctor, type Finding } from './doctor.ts';
export type { Environment, Notice } from './environment.ts';
export { StaticPodError, type StaticPodErrorCode } from './errors.ts';
export type { SourceNames } from './fetch.ts';
export { type InstallEnvironment, type InstallResult, install } from './install.ts';
export { type InstallSpec, validateInstall } from './install-spec.ts';
export type { InstallersSpec } from './installers.ts';
export { type KeepLimits, type KeepSet, keepSet, type NodeRevisions } from './keep-set.ts';
export {
  type MonitorEnvironment,
  type MonitorOutcome,
  type MonitorSpec,
  monitorStartup,
  validateMonitor,
} from './monitor.ts';
export type { Readiness } from './monitor-step.ts';
export type { Source, SourceKind } from './object-files.ts';
export { Node, Pod, type PodMutation } from './pod.ts';
export { type PruneResult, type PruneSpec, prune } from './prune.ts';
export { askServer, type ReadinessSpec } from './readiness.ts';
export { type RecoverSpec, recoverNode } from './recover-node.ts';
export { type WayBack, waysBack } from './ways-back.ts';
