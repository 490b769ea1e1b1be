export { type ClusterAdmission, clusterAdmission } from './admission.ts';
export { type ClusterCrds, type ClusterEra, CRD, clusterCrds, clusterEra, eraOf } from './cluster-schemas.ts';
export { conversionBackends } from './conversion-backend.ts';
export { PreflightError, type PreflightErrorCode } from './errors.ts';
export { type ProbeRequest, probe, probeRequests } from './probe.ts';
export { KINDS_AT_ONCE, type ScanOptions, type ScanProgress, scan } from './scan.ts';
export { leftShadows, type ProbeCluster, type Shadow, sweepShadows } from './shadow.ts';
