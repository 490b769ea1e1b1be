import { type JsonObject, objectOf } from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import { decodeObject } from './go-codec.ts';
import { typeOfKind } from './recorded-schema.ts';

// Events are served in two groups, in two forms: one object, whose fields have other names. They are stored as those of the core group.

/** Fields of the core group's form, by those of `events.k8s.io`. */
const CORE: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
  reportingController: 'reportingComponent',
};
const EVENTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(CORE).map(([events, core]) => [core, events]),
);

function renamed(object: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const { apiVersion: _version, kind: _kind, ...rest } = object;
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [names[key] ?? key, value]));
}

/** An event of `events.k8s.io` as it is stored. */
export function storedEvent(object: JsonObject): JsonObject {
  return decodeObject(renamed(object, CORE), typeOfKind('', 'v1', 'Event'), []);
}

/** A stored event as `events.k8s.io` has it. */
export function eventOfGroup(object: JsonObject): JsonObject {
  return decodeObject(renamed(object, EVENTS), typeOfKind('events.k8s.io', 'v1', 'Event'), []);
}

/** What field selectors of `events.k8s.io` may name, of a stored event. */
export function eventFields(object: JsonObject): Readonly<Record<string, string>> {
  const about = objectOf(object['involvedObject']);
  const names = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
  return {
    ...Object.fromEntries(names.map((name) => [`regarding.${name}`, textOf(about[name])])),
    reason: textOf(object['reason']),
    type: textOf(object['type']),
    reportingController: textOf(object['reportingComponent']),
  };
}
