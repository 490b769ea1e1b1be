export { type CertLoopEnvironment, runCertSync } from './certs/cert-loop.ts';
export {
  type CertSource,
  type CertSyncEnvironment,
  type CertSyncResult,
  type CertSyncSpec,
  syncCerts,
  validateCertSync,
} from './certs/cert-sync.ts';
export { StaticPodError, type StaticPodErrorCode } from './errors.ts';
export { type InstallEnvironment, type InstallResult, install } from './install/install.ts';
export type { InstallersSpec } from './install/installers.ts';
export {
  type MonitorEnvironment,
  type MonitorOutcome,
  type MonitorSpec,
  monitorStartup,
  validateMonitor,
} from './monitor/monitor.ts';
export type { Readiness } from './monitor/monitor-step.ts';
export { askAddress, askCommand, askPod, askServer, type ReadinessSpec } from './monitor/readiness.ts';
export { type KeepLimits, type KeepSet, keepSet, type NodeRevisions } from './prune/keep-set.ts';
export { type PruneResult, type PruneSpec, prune } from './prune/prune.ts';
export { type DoctorSpec, doctor, type Finding } from './recover/doctor.ts';
export { type RecoverSpec, recoverNode } from './recover/recover-node.ts';
export { type WayBack, waysBack } from './recover/ways-back.ts';
export type { Environment, Notice } from './revision/environment.ts';
export type { SourceNames } from './revision/fetch.ts';
export { type InstallSpec, validateInstall } from './revision/install-spec.ts';
export type { Source, SourceKind } from './revision/object-files.ts';
export { Node, Pod, type PodMutation } from './revision/pod.ts';
