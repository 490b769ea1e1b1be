// The API server in memory, without its clients: one store, one way to read, write and watch. `memoryCluster` puts clients around it for tests of crashes;
// the sandbox puts Kubernetes' own kinds, admission and a wire around it. Begin with `server.ts`, then `writes.ts`; `rules.ts` has what can be plugged in.
export { type Clock, systemClock } from '../../clock.ts';
export { exactText, parseExact, withDigitsOf } from '../../json/exact-integers.ts';
export { jsonEqual } from '../../json/json-equal.ts';
export type { Status, StatusCause } from '../../status-object.ts';
export { compilePattern, PatternError } from './go-patterns.ts';
export { canonical, isObject, type JsonObject, listOf, objectOf, own, put, shown, without } from './json.ts';
export { kindOfCrd, METADATA, type ServedKind, served, whole } from './kinds.ts';
export { metadataOf, nameOf, seconds, withMetadata } from './metadata.ts';
export {
  dns1035LabelProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from './object-names.ts';
export { jsonPatch, mergePatch } from './patches.ts';
export type { Admission, OtherRequest, ServerPorts } from './ports.ts';
export {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  invalid,
  invalidOptions,
  noObject,
  notFound,
  notServed,
  Refusal,
  serverError,
} from './refusal.ts';
export { type KindRules, type RuleContext, Undecodable } from './rules.ts';
export { itemSchema, keySchema, mapKeys, type Schema, type Settled, settle, UNKNOWN } from './schema.ts';
export { createServer, type Server, type ServerAnswer, type ServerRequest, STRATEGIC_MERGE_PATCH } from './server.ts';
export { inTime, type Steps, waitFor } from './steps.ts';
export { createStore, type Store, type StoredEvent, type StoreOptions, storeId } from './store.ts';
export { correlated, violations } from './validation.ts';
export type { Listener } from './watching.ts';
