export { type CommitResult, commitTree, type TreeSpec } from './commit-tree.ts';
export {
  DurableError,
  type DurableErrorCode,
  type DurableErrorInit,
  during,
  type Stage,
  type Visible,
} from './errors.ts';
export {
  type Content,
  type FileResult,
  type FileSink,
  fsyncPath,
  type ReplaceOptions,
  replaceFileDurable,
  replaceSymlinkDurable,
  syncDirectory,
  type WriteOptions,
  writeFileDurable,
} from './file.ts';
export { type FileLock, type LockOptions, lockFile } from './lock.ts';
export { isStagingName, type LeftoverKind, stagingName } from './names.ts';
export { nodeOps } from './node-ops.ts';
export {
  type Entry,
  type EntryKind,
  type EntryStat,
  type FsCall,
  type FsOps,
  type FsTap,
  isChange,
  type OpenFile,
  type OpenHow,
  tapOps,
} from './ops.ts';
export { makeDirectoryDurable } from './parents.ts';
export { type ExchangeSupport, probeExchange } from './probe.ts';
export {
  type Inspection,
  inspect,
  type Leftover,
  type RecoverOptions,
  type RecoverResult,
  recover,
} from './recover.ts';
export { type RemoveResult, removeTreeDurable } from './remove-tree.ts';
export type { DurableOptions, StallOptions } from './session.ts';
export type { ExchangePolicy } from './swap.ts';
export {
  compareDirectory,
  type DirectoryMatch,
  type DirectoryResult,
  type DirectorySpec,
  type SyncDirOptions,
  type SyncDirResult,
  type SyncDirsResult,
  syncDir,
  syncDirs,
} from './sync-dir.ts';
export type { FileSpec } from './tree.ts';
export { checkTrusted } from './trust.ts';
