export type { BootImageCaches } from './caches.ts';
export { isOwnCanary } from './canary/decide.ts';
export { isRotationCanary } from './cluster-api/canary.ts';
export { type Identity, identityOf, serverOf } from './cluster-api/identity.ts';
export { CORE as CLUSTER_API, type ServedKinds, servedKinds } from './cluster-api/kinds.ts';
export { type OpenShift, releaseImages } from './cluster-api/openshift.ts';
export type { PlannedRotation } from './cluster-api/plan.ts';
export { type ClusterApiRole, type ClusterApiRoleOptions, clusterApiRole } from './cluster-api/role.ts';
export { type RotatedSets, rotatedPlaces, rotatedSets } from './cluster-api/sets-now.ts';
export { type Stage, type StageOptions, serverOfWish, stageOf } from './cluster-api/stage.ts';
export { rotatedStandings } from './cluster-api/standing.ts';
export { ownArchitecture } from './decide/architecture.ts';
export { upstreamController, upstreamRefusal } from './decide/coexistence.ts';
export type { Skip } from './decide/decide.ts';
export { type ReflectInput, type Reflection, reflect } from './decide/reflect.ts';
export { BootImageError, type BootImageErrorCode } from './errors.ts';
export {
  type ExplainedAnswer,
  type ExplainedQuestion,
  type ExplainPorts,
  type Explanation,
  explainSet,
} from './explain.ts';
export type { ImageFacts, Verified } from './image-facts.ts';
export { type MachineImage, type MachineImages, machineImages } from './machine-images.ts';
export { type BootImageMetrics, bootImageMetrics } from './metrics.ts';
export { idOf, type KeptSet, keptSets } from './observe/kept-set.ts';
export { lightMachineSet } from './observe/light.ts';
export type { LeafEdit } from './observe/provider-spec.ts';
export { clusterRecords } from './observe/records.ts';
export { referenceIndex } from './observe/references.ts';
export type { DiskArtifact, Stream } from './observe/stream.ts';
export { buildDate, compareReleases, type DowngradePolicy } from './observe/version.ts';
export { platformOf, type World } from './observe/world.ts';
export { pinnedWorld } from './pass/pinned-world.ts';
export { type CarriedOut, type CarryOutHooks, carryOut } from './plan/carry-out.ts';
export { carryOutRotations, type RotationCarryPorts } from './plan/carry-out-rotations.ts';
export { type ClusterPlan, planCluster } from './plan/cluster-plan.ts';
export { type ClusterStep, editLines, stepTitle } from './plan/cluster-step.ts';
export { planDifference } from './plan/difference.ts';
export { collectRotations, foreseeRotationCollections } from './plan/rotation-collections.ts';
export { planPart, withRotations } from './plan/rotations.ts';
export { type PlanRun, type PlanRunOptions, planRun } from './plan-run.ts';
export type {
  CollectedImage,
  Platform,
  PlatformInput,
  PlatformPlan,
  PointedImage,
  Publication,
  PublicationHooks,
  PublishedImage,
} from './platform.ts';
export { cloudPlatforms, isServed, type LazyPlatforms, lazyPlatforms, type Platforms } from './platforms.ts';
export { type PolicySubject, type PolicyVerdict, policyFor } from './policy/policy-for.ts';
export { type PolicyWorld, policyStatuses } from './policy/policy-statuses.ts';
export { isPaced as isPacedPolicy } from './policy/turns.ts';
export { type BootImagesRole, type BootImagesRoleOptions, bootImagesRole } from './role.ts';
export { publicationWord } from './shared-names/name.ts';
export { underOneName } from './shared-names/under-one-name.ts';
export type { Stamp } from './skew/stamp.ts';
export { type SetPlace, type Standings, type StandingsInput, standings } from './standing.ts';
export { imageOf as bootImageOf } from './status/boot-image-store.ts';
export { degradedType, progressingType } from './status/conditions.ts';
export { type PinEntry, pinsOf } from './status/pin-history.ts';
export { lacksPinWriter, type PinWriters, pinWriters } from './status/pin-writers.ts';
export {
  type ClusterTree,
  clusterTree,
  type TreePolicy,
  type TreeRegion,
  type TreeRelease,
  type TreeSet,
} from './tree.ts';
export { machineApiNamespace } from './user-data/machine-api.ts';
export { emptyOldStub } from './user-data/old-stub.ts';
export type { StubSecret } from './user-data/user-data.ts';
export { createVerdict, type Verdict, type VerdictOptions } from './verdict/cluster-operator.ts';
export { neededTemplate } from './vsphere/needed.ts';
export type { ImageStore, TemplatePublication, VSphereOptions } from './vsphere/options.ts';
export { credentialsKey, vspherePlatform } from './vsphere/platform.ts';
export { UNPROVEN } from './vsphere/provenance.ts';
export { placementsOf } from './vsphere/site.ts';
export type { TemplateChange, TemplateSignal } from './wakes/template-signal.ts';
export { goldenName, goldenNamespace } from './wakes/triggers.ts';
export { type Goal, goalsOf, keepsName, revertGoal } from './way-back/goal.ts';
export { type HistoryEntry, IMAGE_GONE } from './way-back/history.ts';
export { type NeededImage, neededBy } from './way-back/needed.ts';
export { livePin, type Pin, pinnedName, pinText, samePin } from './way-back/pin.ts';
export { worldNow } from './world-now.ts';
