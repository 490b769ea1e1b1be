export { type ConnectOptions, connectVCenter, type VCenterConnection } from './connect.ts';
export {
  isVimError,
  outcomeUnknown,
  VimError,
  type VimErrorCode,
  type VimErrorInit,
  type VimErrorKind,
} from './errors.ts';
export { cut, foreignText, MAX_FOREIGN_TEXT, refText } from './foreign-text.ts';
export { checkManifest, type SentFile } from './import/manifest.ts';
export { type OvfDescriptor, type OvfDisk, readOvf } from './import/ovf.ts';
export { type LoginBudget, type LoginBudgetOptions, loginBudget } from './session/login-budget.ts';
export {
  isTold,
  type LoginNote,
  type LoginNotes,
  lateText,
  loginAccount,
  nextLogin,
  readLoginNotes,
} from './session/login-notes.ts';
export type { TlsTrust } from './session/tls.ts';
export type {
  Caller,
  Credentials,
  MethodOptions,
  ObjectContent,
  PasswordVersion,
  ServiceContent,
  VimLog,
} from './soap/call.ts';
export { type Clock, systemClock } from './soap/clock.ts';
export type { VimFault } from './soap/faults.ts';
export { escapeName, unescapeName } from './soap/names.ts';
export { refKey } from './soap/soap.ts';
export type { Decode } from './updates/decode-value.ts';
export type { PropertyWatch, RefusedContainer, UpdateFeed, WatchSpec } from './updates/feed.ts';
export type { ItemRanges } from './updates/item-ranges.ts';
export { eachChild, TextRange } from './updates/markup.ts';
export { type ScannedAnswer, UpdateScanner, type UpdateSink } from './updates/scanner.ts';
export type {
  About,
  ActiveTask,
  CallOptions,
  DatastoreSummary,
  DiskSummary,
  GuestState,
  HostSummary,
  ImportLease,
  ImportRequest,
  LeaseFile,
  Libraries,
  LibraryDownload,
  LibraryEntry,
  LibraryFile,
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
export { child, childText, referenceOf, textOf, type XmlElement } from './xml/xml.ts';
