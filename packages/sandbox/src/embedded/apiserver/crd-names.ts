import { type JsonObject, listOf, metadataOf, objectOf } from '@drydock/kube/testing/api-server';
import { conditionOf } from './object-fields.ts';

// The status that the controllers of CustomResourceDefinitions write: the accepted names, and whether the kind is served.

export interface CrdCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

function requestedNames(crd: JsonObject): JsonObject {
  return objectOf(objectOf(crd['spec'])['names']);
}

function acceptedNames(crd: JsonObject): JsonObject {
  return objectOf(objectOf(crd['status'])['acceptedNames']);
}

/** The names that are unique in a group: the plural, the singular and the short names. */
function resourceNames(names: JsonObject): readonly string[] {
  return [names['plural'], names['singular'], ...listOf(names['shortNames'])].filter(
    (name): name is string => typeof name === 'string' && name !== '',
  );
}

/** The status that a CRD should have, given the other CRDs of its group. */
export function crdStatus(crd: JsonObject, others: readonly JsonObject[], now: string): JsonObject {
  const status = objectOf(crd['status']);
  const group = objectOf(crd['spec'])['group'];
  const { name } = metadataOf(crd);
  const rivals = others.filter((one) => objectOf(one['spec'])['group'] === group && metadataOf(one)['name'] !== name);
  const takenNames = new Set(rivals.flatMap((one) => resourceNames(acceptedNames(one))));
  const takenKinds = new Set(rivals.flatMap((one) => [acceptedNames(one)['kind'], acceptedNames(one)['listKind']]));
  const names = requestedNames(crd);
  const had = acceptedNames(crd);
  const given: Record<string, unknown> = {};
  let problem: { readonly reason: string; readonly message: string } | undefined;
  const inUse = (reason: string, value: unknown): void => {
    problem = { reason, message: `${JSON.stringify(value)} is already in use` };
  };
  for (const [field, reason] of [
    ['plural', 'PluralConflict'],
    ['singular', 'SingularConflict'],
  ] as const) {
    if (takenNames.has(String(names[field]))) {
      inUse(reason, names[field]);
      given[field] = had[field];
    } else given[field] = names[field];
  }
  const shorts = listOf(names['shortNames']);
  const busy = shorts.filter((one) => takenNames.has(String(one)));
  if (busy.length > 0) {
    inUse('ShortNamesConflict', busy[0]);
    given['shortNames'] = had['shortNames'];
  } else if (shorts.length > 0) given['shortNames'] = shorts;
  for (const [field, reason] of [
    ['kind', 'KindConflict'],
    ['listKind', 'ListKindConflict'],
  ] as const) {
    if (takenKinds.has(names[field])) {
      inUse(reason, names[field]);
      given[field] = had[field] ?? (field === 'kind' ? '' : undefined);
    } else given[field] = names[field];
  }
  if (listOf(names['categories']).length > 0) given['categories'] = names['categories'];
  const conditions = new Map(
    listOf(status['conditions']).map((one) => [String(objectOf(one)['type']), one as unknown as CrdCondition]),
  );
  const set = (type: string, value: 'True' | 'False', reason: string, message: string): void => {
    const old = conditions.get(type);
    const same = old?.status === value && old.reason === reason && old.message === message;
    if (same) return;
    const lastTransitionTime = old?.status === value ? old.lastTransitionTime : now;
    conditions.set(type, { type, status: value, reason, message, lastTransitionTime });
  };
  if (problem === undefined) {
    set('NamesAccepted', 'True', 'NoConflicts', 'no conflicts found');
    set('Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted');
  } else {
    set('NamesAccepted', 'False', problem.reason, problem.message);
    // An established CRD stays established.
    if (conditions.get('Established')?.status !== 'True')
      set('Established', 'False', 'NotAccepted', 'not all names are accepted');
  }
  const clean = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...status, acceptedNames: clean, conditions: [...conditions.values()] };
}

/** Whether a CRD's kind is served. */
export function isEstablished(crd: JsonObject): boolean {
  return conditionOf(crd, 'Established') === 'True';
}
