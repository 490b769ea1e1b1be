export type { Credentials } from './api.ts';
export { type BuildOptions, build, type GoServer } from './build.ts';
export type { Subject } from './certificate.ts';
export { SandboxError, type SandboxErrorCode } from './errors.ts';
export { type Sandbox, type SandboxOptions, startSandbox, type VCenterSandbox } from './sandbox.ts';
export type { Server } from './server-process.ts';
export { type ActiveRule, connectSwitchboard, type Switchboard } from './switchboard.ts';
export type { Rule, RuleState, VmView } from './switchboard-types.ts';
export type { VCenterEndpoint, VCenterModel, VCenterOptions } from './vcenter.ts';
