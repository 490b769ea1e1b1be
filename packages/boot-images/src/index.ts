export type { BootImageCaches } from './caches.ts';
export { type ArchitectureResult, architectureOf, ownArchitecture } from './decide/architecture.ts';
export { upstreamController, upstreamRefusal } from './decide/coexistence.ts';
export { decideSet, type SetDecision, type SetFacts, type Skip } from './decide/decide.ts';
export { optedInAnnotation, platformSupported, type ReflectInput, type Reflection, reflect } from './decide/reflect.ts';
export { type Selection, selectionOf } from './decide/selection.ts';
export { BootImageError, type BootImageErrorCode } from './errors.ts';
export { type BootImageMetrics, bootImageMetrics } from './metrics.ts';
export type { LeafEdit } from './observe/provider-spec.ts';
export { type DiskArtifact, parseStream, type Stream } from './observe/stream.ts';
export { compareReleases, type DowngradePolicy, rhelVersion } from './observe/version.ts';
export type { World } from './observe/world.ts';
export { type PassOutcome, runPass } from './pass/pass.ts';
export { createPassState, type PassPorts, type PassState } from './pass/pass-state.ts';
export type { StoryReason } from './pass/update.ts';
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
export { type BootImagesRole, type BootImagesRoleOptions, bootImagesRole } from './role.ts';
export { bootImageStatus, type SetOutcome, type StatusSubject } from './status/boot-image.ts';
export { degradedType, progressingType } from './status/conditions.ts';
export { machineApiNamespace } from './user-data/user-data.ts';
export { credentialsKey, type ImageStore, type VSphereOptions, vspherePlatform } from './vsphere/platform.ts';
export type { PassCause, Touched } from './wakes/causes.ts';
export type { TemplateChange, TemplateSignal } from './wakes/template-signal.ts';
export { goldenName, goldenNamespace } from './wakes/triggers.ts';
