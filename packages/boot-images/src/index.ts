export { type ArchitectureResult, architectureOf, ownArchitecture } from './architecture.ts';
export { bootImageStatus, type SetOutcome, type StatusSubject } from './boot-image.ts';
export type { BootImageCaches } from './caches.ts';
export type { PassCause, Touched } from './causes.ts';
export { upstreamController, upstreamRefusal } from './coexistence.ts';
export { degradedType, progressingType } from './conditions.ts';
export { decideSet, type SetDecision, type SetFacts, type Skip } from './decide.ts';
export { BootImageError, type BootImageErrorCode } from './errors.ts';
export { type BootImageMetrics, bootImageMetrics } from './metrics.ts';
export { type PassOutcome, runPass } from './pass.ts';
export { createPassState, type PassPorts, type PassState } from './pass-state.ts';
export type {
  CollectedImage,
  ImageFacts,
  Platform,
  PlatformInput,
  PlatformPlan,
  PointedImage,
  Publication,
  PublicationHooks,
  PublishedImage,
} from './platform.ts';
export type { LeafEdit } from './provider-spec.ts';
export { optedInAnnotation, platformSupported, type ReflectInput, type Reflection, reflect } from './reflect.ts';
export { type BootImagesRole, type BootImagesRoleOptions, bootImagesRole } from './role.ts';
export { type Selection, selectionOf } from './selection.ts';
export { type DiskArtifact, parseStream, type Stream } from './stream.ts';
export type { TemplateChange, TemplateSignal } from './template-signal.ts';
export { goldenName, goldenNamespace } from './triggers.ts';
export type { StoryReason } from './update.ts';
export { compareReleases, type DowngradePolicy, rhelVersion } from './version.ts';
export { credentialsKey, type ImageStore, type VSphereOptions, vspherePlatform } from './vsphere/platform.ts';
export type { World } from './world.ts';
