export { type Bridge, bridge, carriedOver } from './bridge/bridge.ts';
export type { BridgeNote, Unbridged } from './bridge/bridge-node.ts';
export type { Stores } from './bridge/storage-version.ts';
export { type Advice, type AuthoringRule, authoring } from './diff/authoring.ts';
export { schemaAt } from './diff/cause-rule.ts';
export { type Diff, diff, split } from './diff/diff.ts';
export {
  CLASS_MEANINGS,
  type Endpoint,
  FINDING_CLASSES,
  type Finding,
  type FindingClass,
} from './diff/finding.ts';
export { createReport, type FindingGroup, type Report, type ReportBuilder } from './diff/report.ts';
export type { Effect, Half, RuleId, Step } from './diff/step.ts';
export { type WayVerdict, type Weight, wayOf, weightOf } from './diff/verdict.ts';
export { CrdError, type CrdErrorCode } from './errors.ts';
export { ADMISSION_KINDS, type Asked, askedAbout, mayAsk, preflightAdmission } from './preflight/admission.ts';
export type { LabelsOf } from './preflight/admission-filter.ts';
export { judgeKind, type KindJudge, preflight, undecidedKind } from './preflight/preflight.ts';
export type { Backend, PreflightOptions } from './preflight/preflight-object.ts';
export { preflightWebhooks } from './preflight/webhooks.ts';
export {
  definitionName,
  type FollowedOptions,
  type FollowedProjector,
  followedProjector,
  type WatchedDefinition,
} from './project/followed-projector.ts';
export { withKeyed } from './project/keyed.ts';
export {
  createLedger,
  LEDGER_COMPONENT,
  type Ledger,
  type LedgerOptions,
  type LedgerStore,
  type LedgerSubject,
  type LedgerView,
  ledgerName,
} from './project/ledger.ts';
export { isSameLoss, type LedgerEntry, type LedgerRecord, lossPlace, readRecord } from './project/ledger-record.ts';
export { type LiveOptions, type LiveVersion, liveVersion, SERVER_LAG_MS } from './project/live-version.ts';
export { type Loss, losses } from './project/losses.ts';
export { CORE_FIELDS, type Projection, type ProjectOptions, project } from './project/project.ts';
export { projectionText } from './project/projection-text.ts';
export {
  createProjector,
  type ProjectionEvent,
  type Projector,
  type ProjectorOptions,
  type StatusHooks,
  type StatusKeeping,
} from './project/projector.ts';
export type { Quarantined } from './project/quarantine.ts';
export { recall } from './project/recall.ts';
export {
  frozenSchema,
  ROLLBACK,
  ROLLBACK_SCHEMAS,
  type RollbackMarker,
  readRollbackMarker,
  rollbackAnnotations,
} from './project/rollback-marker.ts';
export { type Refusal, readRefusal, type ServerCause } from './project/server-cause.ts';
export {
  nextWrite,
  START,
  type StatusState,
  type StatusStep,
  type StatusWorld,
  type WriteAnswer,
} from './project/status-machine.ts';
export { equal, isObject, type Json, type JsonObject, jsonText } from './schema/json.ts';
export { type Path, pathText, schemaPathText } from './schema/path.ts';
export { readCrd, readCrds } from './schema/read-crd.ts';
export { readManifests } from './schema/read-manifests.ts';
export type { CelRule, Crd, CrdVersion, Schema } from './schema/schema.ts';
export { schemaHash } from './schema/schema-hash.ts';
export type { Cause, CauseReason, Doubt, Verdict } from './validate/cause.ts';
export { applyDefaults } from './validate/defaults.ts';
export { ERAS, type Era, judge, type ServerEra, type Write } from './validate/eras.ts';
export { type Pruned, type PruneResult, prune } from './validate/prune.ts';
