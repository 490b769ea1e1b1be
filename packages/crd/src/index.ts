export type { Cause, CauseReason, Doubt, Verdict } from './cause.ts';
export { applyDefaults } from './defaults.ts';
export { ERAS, type Era, judge, type ServerEra, type Write } from './eras.ts';
export { CrdError, type CrdErrorCode } from './errors.ts';
export { equal, type Json, type JsonObject, parseJson } from './json.ts';
export { type Path, pathText, schemaPathText } from './path.ts';
export { type Pruned, type PruneResult, prune } from './prune.ts';
export { readCrd, readCrds } from './read-crd.ts';
export type { CelRule, Crd, CrdVersion, Schema } from './schema.ts';
