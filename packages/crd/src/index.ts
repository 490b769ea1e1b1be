export { ADMISSION_KINDS, type Asked, askedAbout, preflightAdmission } from './admission.ts';
export { type Advice, type AuthoringRule, authoring } from './authoring.ts';
export { type Bridge, bridge } from './bridge.ts';
export type { Unbridged } from './bridge-node.ts';
export type { Cause, CauseReason, Doubt, Verdict } from './cause.ts';
export { applyDefaults } from './defaults.ts';
export { type Diff, diff, split } from './diff.ts';
export { ERAS, type Era, judge, type ServerEra, type Write } from './eras.ts';
export { CrdError, type CrdErrorCode } from './errors.ts';
export {
  CLASS_MEANINGS,
  type Endpoint,
  FINDING_CLASSES,
  type Finding,
  type FindingClass,
} from './finding.ts';
export { equal, type Json, type JsonObject, parseJson } from './json.ts';
export {
  createLedger,
  LEDGER_COMPONENT,
  type Ledger,
  type LedgerOptions,
  type LedgerStore,
  type LedgerSubject,
  type LedgerView,
  ledgerName,
} from './ledger.ts';
export { type LedgerEntry, type LedgerRecord, lossPlace, readRecord } from './ledger-record.ts';
export { liveVersion } from './live-version.ts';
export { type Loss, losses } from './losses.ts';
export { type Path, pathText, schemaPathText } from './path.ts';
export { judgeKind, type KindJudge, preflight, undecidedKind } from './preflight.ts';
export type { PreflightOptions } from './preflight-object.ts';
export { CORE_FIELDS, type Projection, type ProjectOptions, project } from './project.ts';
export { projectionText } from './projection-text.ts';
export {
  createProjector,
  type ProjectionEvent,
  type Projector,
  type ProjectorOptions,
  type StatusHooks,
  type StatusKeeping,
} from './projector.ts';
export { type Pruned, type PruneResult, prune } from './prune.ts';
export type { Quarantined } from './quarantine.ts';
export { readCrd, readCrds, readManifests } from './read-crd.ts';
export { recall } from './recall.ts';
export { createReport, type FindingGroup, type Report, type ReportBuilder } from './report.ts';
export type { CelRule, Crd, CrdVersion, Schema } from './schema.ts';
export { type Refusal, readRefusal, type ServerCause } from './server-cause.ts';
export {
  nextWrite,
  START,
  type StatusState,
  type StatusStep,
  type StatusWorld,
  type WriteAnswer,
} from './status-machine.ts';
export type { Effect, Half, RuleId, Step } from './step.ts';
export { preflightWebhooks } from './webhooks.ts';
