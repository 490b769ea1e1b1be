export type { GuestState } from '@drydock/vsphere';
export type { Clock } from './clock.ts';
export { SILENCE_MS } from './decide/claim.ts';
export { decide } from './decide/decide.ts';
export type { Candidate, Content, Machine, Observed, Step, Uploader, Wanted } from './decide/machine.ts';
export { isTemplateError, TemplateError, type TemplateErrorCode, type TemplateErrorInit } from './errors.ts';
export { type CacheOptions, ovaCache } from './image/cache.ts';
export { importBytes } from './image/disk-space.ts';
export { findItem as findLibraryItem, type LibraryImage, libraryLocation } from './image/library-item.ts';
export { type LocationOptions, requestLocation, throughProxies } from './image/location.ts';
export { type ManifestSum, type OpenOva, openOva } from './image/ova.ts';
export type { OvaSource } from './image/ova-source.ts';
export { type ManifestCheck, manifestCheck } from './image/sums.ts';
export type { TarMember } from './image/tar.ts';
export type {
  AdoptRequest,
  GcRequest,
  Generation,
  ImportAmounts,
  ListedTemplate,
  Plan,
  PlannedStep,
  PlanRequest,
  RevertRequest,
  TemplateRole,
  Verification,
  VerificationCheck,
} from './library.ts';
export { BIRTH_KEY, CONTENT_KEY } from './mark/birth-mark.ts';
export { changedKeys, changedKeyText } from './mark/changed-keys.ts';
export {
  keyIdOf,
  keysOfSecret,
  keysOfText,
  type ListedKey,
  listKeys,
  type MarkKeys,
  NO_KEYS,
  type ReadKeys,
} from './mark/keys.ts';
export { unreadableEntries } from './mark/ledger.ts';
export type { LedgerStore } from './mark/ledger-store.ts';
export { OWNERSHIP } from './mark/ownership-record.ts';
export { holdAttribute } from './mark/pointers.ts';
export type { Uptime } from './mark/sightings.ts';
export type { ClusterRecords, Proof } from './mark/witness.ts';
export type { Mark } from './mark.ts';
export { NAME_LIMIT, retiredName, upstreamNames } from './names.ts';
export { hostFault } from './observe/place.ts';
export type {
  CollectedTemplate,
  CollectOptions,
  HolderIsLive,
  NeededTemplate,
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
export { KEPT_PER_PLACE } from './verbs/collect.ts';
export type { Placement, Publication, TemplateImage, TemplateWish } from './wish.ts';
