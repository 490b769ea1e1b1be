export type { Caller, Credentials, MethodOptions, ObjectContent, ServiceContent, VimLog } from './call.ts';
export { type Clock, systemClock } from './clock.ts';
export { type ConnectOptions, connectVCenter } from './connect.ts';
export {
  isVimError,
  outcomeUnknown,
  VimError,
  type VimErrorCode,
  type VimErrorInit,
  type VimErrorKind,
} from './errors.ts';
export type { VimFault } from './faults.ts';
export { escapeName, unescapeName } from './names.ts';
export { type OvfDescriptor, readOvf } from './ovf.ts';
export type { TlsTrust } from './tls.ts';
export type {
  ActiveTask,
  CallOptions,
  DiskSummary,
  HostSummary,
  ImportLease,
  ImportRequest,
  LeaseFile,
  ManifestEntry,
  MoRef,
  UploadSource,
  VCenter,
  VmChange,
  VmSummary,
} from './vcenter.ts';
