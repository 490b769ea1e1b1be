export { DurableError, type DurableErrorCode, type DurableErrorInit } from './errors.ts';
export {
  type Content,
  type FileSystem,
  isStagingName,
  type ReplaceOptions,
  realFileSystem,
  replaceFileDurable,
  stagingName,
  syncDirectory,
  type WriteOptions,
  writeFileDurable,
} from './file.ts';
