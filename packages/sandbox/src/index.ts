export type { Credentials } from './api.ts';
export { type Backend, backendLine, backendOf, NEEDS_REAL, withoutRealServers } from './backend.ts';
export { missingServers } from './binaries.ts';
export { type BuildOptions, build, type GoServer, type Neighbour, type Tool } from './build.ts';
export { type Authority, createAuthority, type Identity, type Subject } from './certificate.ts';
export { crdFolder, crdFolders } from './crd-copy.ts';
export { CRD_HISTORIES, type CrdHistory } from './crd-histories.ts';
export {
  type EmbeddedVCenter,
  type EmbeddedVCenterOptions,
  startEmbeddedVCenter,
} from './embedded/vcenter/embedded-vcenter.ts';
export { API_SERVER_ERAS, type ApiServerEra } from './era.ts';
export { SandboxError, type SandboxErrorCode } from './errors.ts';
export { type NeighbourOptions, type RunningNeighbour, startNeighbour } from './neighbour.ts';
export { cacheDirectory } from './paths.ts';
export {
  type Sandbox,
  type SandboxOptions,
  startSandbox,
  type VCenterSandbox,
  type WorkloadsSandbox,
} from './sandbox.ts';
export type { Server } from './server-process.ts';
export { type ActiveRule, connectSwitchboard, type RunningTask, type Switchboard } from './switchboard.ts';
export type { Call, DiskView, Fault, NameChange, NameGap, Rule, RuleState, VmView } from './switchboard-types.ts';
export { toolPath } from './tool.ts';
export type { VCenterEndpoint, VCenterModel, VCenterOptions } from './vcenter.ts';
export { recordProcess, type ScratchFolder, scratchFolder } from './workdir.ts';
export type { PodBehaviour, PodRule, Workloads, WorkloadsOptions } from './workloads.ts';
