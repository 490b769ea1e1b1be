export type { Caller, Credentials, MethodOptions, ObjectContent, ServiceContent, VimLog } from './call.ts';
export { type Clock, systemClock } from './clock.ts';
export { type ConnectOptions, connectVCenter, type VCenterConnection } from './connect.ts';
export {
  isVimError,
  outcomeUnknown,
  VimError,
  type VimErrorCode,
  type VimErrorInit,
  type VimErrorKind,
} from './errors.ts';
export type { VimFault } from './faults.ts';
export { checkManifest, type SentFile } from './manifest.ts';
export { escapeName, unescapeName } from './names.ts';
export { type OvfDescriptor, readOvf } from './ovf.ts';
export type { TlsTrust } from './tls.ts';
export type { PropertyWatch, UpdateFeed, WatchSpec } from './updates/feed.ts';
export type { ItemRanges } from './updates/item-ranges.ts';
export { eachChild, TextRange } from './updates/markup.ts';
export { type Decode, type ScannedAnswer, UpdateScanner, type UpdateSink } from './updates/scanner.ts';
export type {
  About,
  ActiveTask,
  CallOptions,
  DiskSummary,
  HostSummary,
  ImportLease,
  ImportRequest,
  LeaseFile,
  MachineDisks,
  ManifestEntry,
  MoRef,
  NamedPlace,
  SessionCount,
  UploadSource,
  VCenter,
  VmChange,
  VmSummary,
} from './vcenter.ts';
export { child, childText, referenceOf, textOf, type XmlElement } from './xml.ts';
