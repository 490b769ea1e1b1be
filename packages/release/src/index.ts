export { keptTo, planDifference } from './apply/agreement.ts';
export { applyPayload } from './apply/apply.ts';
export type { ApplyEffect, ApplyError, ApplyReason } from './apply/apply-error.ts';
export { type DeletedData, deletedData, type Held, heldBy } from './apply/deletions.ts';
export type { Difference } from './apply/difference.ts';
export { evaluateClusterOperator, type OperatorVerdict } from './apply/health/cluster-operator.ts';
export { type ConfigMapInventoryOptions, configMapInventory } from './apply/inventory/config-maps.ts';
export type { InventoryEntry, WrittenKeys } from './apply/inventory/entry.ts';
export type { Inventory, InventoryChanges, InventoryStore } from './apply/inventory/inventory.ts';
export type { LiveLook, LiveObjects } from './apply/live.ts';
export { type ApplyMemory, applyMemory } from './apply/memory.ts';
export { findOrphans, type Orphan, type OrphanPorts, removeOrphan } from './apply/orphans.ts';
export type { ApplyMode, ApplyOwner } from './apply/owner.ts';
export { type ApplyPlan, type PlannedObject, type PlannedPhase, planPayload } from './apply/plan.ts';
export { type ApplyStep, losesData, stepFor } from './apply/step.ts';
export { type WatchedObjects, type WatchedOptions, watchedObjects } from './apply/watched.ts';
export type {
  ApplyOutcome,
  ApplyPorts,
  ApplyProgress,
  ApplyWish,
  PendingDeletion,
  Waiting,
} from './apply/wish.ts';
export { type DefinitionChange, type ObjectChange, type PayloadDiff, payloadDiff } from './compare/payload-diff.ts';
export { ReleaseError, type ReleaseErrorCode } from './errors.ts';
export { type Graph, initialGraph, type Node, reconcileGraph, updateGraph } from './graph/graph.ts';
export { type Action, type Audience, actionOf, openshiftAudience } from './inclusion/annotations.ts';
export {
  type Capabilities,
  type CapabilityWish,
  capabilitiesFor,
  implicitlyEnabled,
  withImplicit,
} from './inclusion/capabilities.ts';
export { type Override, type Selected, type SelectionOptions, select } from './inclusion/selection.ts';
export type { ClusterVersionTrust } from './manager/cluster-version-face.ts';
export type { Account } from './manager/face.ts';
export { markHeapAtOnce } from './manager/heap.ts';
export type { Retrieve } from './manager/loaded-release.ts';
export { type ReleaseMetrics, releaseMetrics } from './manager/metrics.ts';
export { type PayloadWay, payloadWay } from './manager/payload-way.ts';
export {
  type ReleaseRole,
  type ReleaseRoleOptions,
  releaseRole,
  SIGNATURES,
} from './manager/role.ts';
export { upstreamManager } from './manager/upstream-manager.ts';
export { targetServer } from './manager/way-back-judge.ts';
export { type PayloadFiles, readPayloadDirectory } from './payload/directory.ts';
export { idText, type Manifest, type ObjectId, readManifestFile } from './payload/manifest.ts';
export { manifestsDigest } from './payload/manifests-digest.ts';
export { type LoadOptions, loadPayload, type Payload } from './payload/payload.ts';
export type { ReleaseMetadata } from './payload/release-metadata.ts';
export { versionHash } from './payload/version-hash.ts';
export { junitOf } from './rehearse/junit.ts';
export { pageOf } from './rehearse/page.ts';
export type { RehearsalCluster, RehearsalPorts } from './rehearse/ports.ts';
export {
  cellTitle,
  type RehearsalCell,
  type RehearsalReport,
  type RehearsalWish,
  rehearse,
} from './rehearse/rehearsal.ts';
export type { ReleaseParts } from './rehearse/rehearsed-release.ts';
export { nextRescueStep, type RescueIntent, type RescueStep, rescuePlan } from './rescue/decide.ts';
export {
  observePatient,
  type Patient,
  type RescuePorts,
  type RescueWish,
  type Verdict,
} from './rescue/patient.ts';
export type { Proof } from './rescue/proof.ts';
export { RESCUE_RECORDS, type RescueRecord, type RescueRecords, rescueRecords } from './rescue/record.ts';
export { type RescueOptions, type RescueOutcome, rescue } from './rescue/rescue.ts';
export { type Restoration, restoration, undoRescue } from './rescue/undo.ts';
export { isStop } from './rollback/accepted.ts';
export { rollbackDifference } from './rollback/agreement.ts';
export { everyServer, type ServerSurvey, surveyServers } from './rollback/api-servers.ts';
export { nextRollbackStep, type RollbackStanding, type RollbackStep } from './rollback/decide.ts';
export type { Definition, DefinitionState } from './rollback/definitions.ts';
export { configMapKept, type KeptOfKind, type KeptValues } from './rollback/kept-values.ts';
export { type RollbackMemory, rollbackMemory } from './rollback/memory.ts';
export { planRollback, type RollbackPlan, type RollbackPlanStep } from './rollback/plan.ts';
export { type HealedPlace, type WayPreflight, wayPreflight } from './rollback/preflight.ts';
export { type RestoredValues, restoreKept } from './rollback/restore.ts';
export { observeRollback, rollBack } from './rollback/rollback.ts';
export {
  type BlockingObject,
  type Columns,
  type KeptDefinition,
  type KeptOrphan,
  ROLLBACK_PHASES,
  type RollbackEnd,
  type RollbackOutcome,
  type RollbackPhase,
  type RollbackPorts,
  type RollbackProgress,
  type RollbackWish,
} from './rollback/wish.ts';
export type { BlobSource } from './source/blobs.ts';
export { imageOf } from './source/image-manifest.ts';
export { ociLayout } from './source/oci-layout.ts';
export {
  hostArchitecture,
  type ImagePayload,
  type PayloadImageOptions,
  readPayloadImage,
} from './source/payload-image.ts';
export { type ImageReference, parseReference } from './source/reference.ts';
export { type RegistryOptions, registryImage } from './source/registry.ts';
export { type RegistryLogins, readLogins } from './source/registry-login.ts';
export {
  type Acceptance,
  type AcceptanceStep,
  type Attempt,
  accept,
  type Consent,
  type Signed,
} from './state/acceptance.ts';
export {
  type ConditionsInput,
  conditionsOf,
  type StateCondition,
  type StoredCondition,
  type WayBackState,
  type Work,
  withConditions,
} from './state/conditions.ts';
export { type Failing, type Failure, failingOf, type Since, sinceAfter } from './state/failing.ts';
export { type Attained, type HistoryEntry, MAX_HISTORY, mergeHistory, pruneHistory } from './state/history.ts';
export { modeOf } from './state/mode.ts';
export {
  PRECONDITIONS,
  type PreconditionName,
  type PreconditionWorld,
  unmetPreconditions,
} from './state/preconditions.ts';
export { type Release, type Target, type TargetWish, targetOf } from './state/target.ts';
export type { Unmet } from './state/unmet.ts';
export { notUpgradeableOperators, type UpgradeRisk, type UpgradeWorld, upgradeRisks } from './state/upgradeable.ts';
export { type WayBack, type WayBackFinding, wayBackRefusal } from './state/way-back.ts';
export { configMapSignatures, type KeptSignatures, keptSignatures } from './verify/kept-signatures.ts';
export { type KeyRing, MAX_RING, readKeyRing } from './verify/key-rings.ts';
export { type VerifierSource, verifierIn } from './verify/payload-verifier.ts';
export { folderStore, httpStore, type SignatureStore, type StoreOptions } from './verify/signature-stores.ts';
export { type Verification, verifyDigest } from './verify/verifier.ts';
