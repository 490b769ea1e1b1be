export { type Clock, wallClock } from './clock.ts';
export { decide } from './decide/decide.ts';
export type { Candidate, Content, Machine, Observed, Step, Uploader, Wanted } from './decide/machine.ts';
export { isTemplateError, TemplateError, type TemplateErrorCode, type TemplateErrorInit } from './errors.ts';
export { type CacheOptions, ovaCache } from './image/cache.ts';
export { type ManifestSum, type OpenOva, openOva } from './image/ova.ts';
export type { OvaSource } from './image/ova-source.ts';
export type {
  AdoptRequest,
  GcRequest,
  Generation,
  ListedTemplate,
  Plan,
  PlannedStep,
  PlanRequest,
  RevertRequest,
  TemplateRole,
  Verification,
  VerificationCheck,
} from './library.ts';
export { MARK_ATTRIBUTE, MARK_KEYS, type Mark, type Replaced, VERIFIED_KEY } from './mark.ts';
export { type Attempt, attemptsOf, NAME_LIMIT, retiredName, uniqueName, upstreamNames } from './names.ts';
export { cleanInventoryPath, joinInventoryPath } from './paths.ts';
export type {
  CollectedTemplate,
  CollectOptions,
  HolderIsLive,
  PlannedOptions,
  PlanOptions,
  PublishedTemplate,
  PublishOptions,
  StoreOptions,
  TemplateOperation,
  TemplateProgress,
  TemplateState,
  TemplateStore,
} from './store.ts';
export { type StoreLog, type TemplateStoreOptions, templateStore } from './store-vsphere.ts';
export { versionOf } from './verbs/inspect.ts';
export type { Placement, Publication, TemplateImage, TemplateWish } from './wish.ts';
