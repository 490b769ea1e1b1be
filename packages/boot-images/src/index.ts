export { type ArchitectureResult, architectureOf, ownArchitecture } from './architecture.ts';
export { bootImageStatus, type SetOutcome, type StatusSubject } from './boot-image.ts';
export { type BootImageCaches, createCaches, worldOf } from './caches.ts';
export { upstreamController, upstreamPresent } from './coexistence.ts';
export { degradedType, progressingType } from './conditions.ts';
export { decideSet, type SetDecision, type SetFacts, type Skip } from './decide.ts';
export { BootImageError, type BootImageErrorCode } from './errors.ts';
export { convertStub, stubVersion } from './ignition.ts';
export { type PassCause, runPass } from './pass.ts';
export { createPassState, type PassPorts, type PassState } from './pass-state.ts';
export type {
  CollectedImage,
  ImageFacts,
  Platform,
  PlatformInput,
  PlatformPlan,
  Publication,
  PublicationHooks,
  PublishedImage,
} from './platform.ts';
export { etaSeconds, progressText } from './progress-text.ts';
export { type LeafEdit, leafPatch, machineSetSpecPath } from './provider-spec.ts';
export { type ReferenceSources, referenceIndex } from './references.ts';
export { optedInAnnotation, platformSupported, type ReflectInput, type Reflection, reflect } from './reflect.ts';
export { type BootImagesRole, type BootImagesRoleOptions, bootImagesRole } from './role.ts';
export { labelSelector, type Selection, selectionOf } from './selection.ts';
export { type DiskArtifact, parseStream, type Stream } from './stream.ts';
export { goldenName, goldenNamespace } from './triggers.ts';
export type { StoryReason } from './update.ts';
export { upgradeUserData } from './user-data.ts';
export { compareReleases, type DowngradePolicy, rhelVersion } from './version.ts';
export { type VSphereOptions, vspherePlatform } from './vsphere/platform.ts';
export type { World } from './world.ts';
