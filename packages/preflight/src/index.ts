export { type ClusterCrds, clusterCrds, eraOf, serverMinor } from './cluster-schemas.ts';
export { gather, type ProbeRequest, probe } from './probe.ts';
export { type ScanOptions, type ScanProgress, scan } from './scan.ts';
export { type ProbeCluster, sweepShadows } from './shadow.ts';
