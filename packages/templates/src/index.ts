export { type CacheOptions, ovaCache } from './cache.ts';
export { type Clock, wallClock } from './clock.ts';
export { type Candidate, decide, type Observed, type Step, type Uploader, type Wanted } from './decide.ts';
export { isTemplateError, TemplateError, type TemplateErrorCode, type TemplateErrorInit } from './errors.ts';
export type { OvaSource } from './import.ts';
export { versionOf } from './inspect.ts';
export { MARK_KEYS, type Mark, VERIFIED_KEY } from './mark.ts';
export { type Attempt, attemptsOf, uniqueName, upstreamNames } from './names.ts';
export { type ManifestSum, type OpenOva, openOva } from './ova.ts';
export { cleanInventoryPath, joinInventoryPath } from './paths.ts';
export type {
  CollectedTemplate,
  HolderIsLive,
  Placement,
  PublishedTemplate,
  StoreOptions,
  TemplateImage,
  TemplateOperation,
  TemplateProgress,
  TemplateState,
  TemplateStore,
  TemplateWish,
} from './store.ts';
export { type StoreLog, type TemplateStoreOptions, templateStore } from './store-vsphere.ts';
