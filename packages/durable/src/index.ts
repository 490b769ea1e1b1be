export { DurableError, type DurableErrorCode, type DurableErrorInit } from './errors.ts';
export {
  type Content,
  type FileSystem,
  isStagingName,
  realFileSystem,
  type ReplaceOptions,
  replaceFileDurable,
  stagingName,
  syncDirectory,
  type WriteOptions,
  writeFileDurable,
} from './file.ts';
