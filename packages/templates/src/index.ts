export { type CacheOptions, ovaCache } from './cache.ts';
export { type Clock, wallClock } from './clock.ts';
export { decide } from './decide.ts';
export { isTemplateError, TemplateError, type TemplateErrorCode, type TemplateErrorInit } from './errors.ts';
export type { OvaSource } from './import.ts';
export { versionOf } from './inspect.ts';
export type {
  AdoptRequest,
  GcRequest,
  Generation,
  ListedTemplate,
  Plan,
  PlannedStep,
  PlanOptions,
  PlanRequest,
  RevertRequest,
  TemplateRole,
  Verification,
  VerificationCheck,
} from './library.ts';
export type { Candidate, Content, Machine, Observed, Step, Uploader, Wanted } from './machine.ts';
export { MARK_ATTRIBUTE, MARK_KEYS, type Mark, type Replaced, VERIFIED_KEY } from './mark.ts';
export { type Attempt, attemptsOf, NAME_LIMIT, retiredName, uniqueName, upstreamNames } from './names.ts';
export { type ManifestSum, type OpenOva, openOva } from './ova.ts';
export { cleanInventoryPath, joinInventoryPath } from './paths.ts';
export type {
  CollectedTemplate,
  CollectOptions,
  HolderIsLive,
  Placement,
  PlannedOptions,
  Publication,
  PublishedTemplate,
  PublishOptions,
  StoreOptions,
  TemplateImage,
  TemplateOperation,
  TemplateProgress,
  TemplateState,
  TemplateStore,
  TemplateWish,
} from './store.ts';
export { type StoreLog, type TemplateStoreOptions, templateStore } from './store-vsphere.ts';
