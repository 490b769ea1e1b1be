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

const REFERENCE_FIELDS = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

function commonFields(event: JsonObject, reference: string): Readonly<Record<string, string>> {
  const involved = objectOf(event['involvedObject']);
  return {
    ...Object.fromEntries(REFERENCE_FIELDS.map((name) => [`${reference}.${name}`, textOf(involved[name])])),
    reason: textOf(event['reason']),
    type: textOf(event['type']),
  };
}

/** The values of a stored event that field selectors of core events may name. */
export function coreEventFields(event: JsonObject): Readonly<Record<string, string>> {
  return {
    ...commonFields(event, 'involvedObject'),
    reportingComponent: textOf(event['reportingComponent']),
    source: textOf(objectOf(event['source'])['component']),
  };
}

/** The values of a stored event that field selectors of `events.k8s.io` may name. */
export function groupEventFields(event: JsonObject): Readonly<Record<string, string>> {
  return { ...commonFields(event, 'regarding'), reportingController: textOf(event['reportingComponent']) };
}
