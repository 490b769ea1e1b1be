import type { JsonObject, KindRules, Schema, ServedKind } from '@drydock/kube/testing/api-server';
import { DEFAULTS } from './defaults.ts';
import type { Draft } from './draft.ts';
import { groupEventFields } from './event-forms.ts';
import { decodeObject } from './go-codec.ts';
import { kindRules } from './kind-rules.ts';
import { type RecordedResource, recordedServer } from './recorded.ts';
import { schemaOfType, typeOfKind } from './recorded-schema.ts';
import type { RulesHost } from './rules-host.ts';

/** A recorded resource with its place. */
export interface BuiltInResource {
  readonly group: string;
  readonly version: string;
  readonly recorded: RecordedResource;
}

/** What the recorded server serves and the embedded one does not: a second form of objects that are stored in another one. */
export const NOT_SERVED: readonly string[] = ['autoscaling/v1/horizontalpodautoscalers'];

/** All that the recorded server serves, in the order of discovery. */
export function builtInResources(): readonly BuiltInResource[] {
  return allResources().filter(
    ({ group, version, recorded }) => !NOT_SERVED.includes(`${group}/${version}/${recorded.resource}`),
  );
}

function allResources(): readonly BuiltInResource[] {
  return recordedServer().groups.flatMap(({ metadata, versions }) =>
    versions.flatMap(({ version, resources }) =>
      resources.map((recorded) => ({ group: metadata?.name ?? '', version, recorded })),
    ),
  );
}

/** The kinds of Kubernetes itself that are stored: those of the recorded server, with the code that the real one has for them. */
export function builtInKinds(host: RulesHost): readonly ServedKind[] {
  const kinds = builtInResources()
    .filter(({ recorded }) => recorded.verbs.includes('list'))
    .map((one) => builtInKind(one, host));
  const events = kinds.find(({ group, plural }) => group === '' && plural === 'events');
  if (events === undefined) throw new TypeError('no events were recorded');
  return kinds.map((kind) => {
    if (kind.group !== 'events.k8s.io' || kind.plural !== 'events') return kind;
    return { ...kind, storedAs: events, storageVersion: STORED, rules: { ...kind.rules, fields: groupEventFields } };
  });
}

/** The name of the form that objects of a kind with two forms are stored in. */
export const STORED = 'stored';

function builtInKind({ group, version, recorded }: BuiltInResource, host: RulesHost): ServedKind {
  const { resource: plural, scope, responseKind, subresources = [] } = recorded;
  const kind = responseKind?.kind ?? '';
  const names = subresources.map(({ subresource }) => subresource);
  const status = names.includes('status');
  const schema = once((): Schema => schemaOfType(typeOfKind(group, version, kind)));
  return {
    group,
    versions: [version],
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    status,
    builtIn: true,
    createOnPut: recorded.verbs.includes('update') && CREATED_ON_PUT.has(`${group}/${plural}`),
    subresources: names.filter((name) => name !== 'status'),
    schema: () => schema(),
    rules: rulesOf(group, version, kind, status, host),
  };
}

/** Kinds whose objects a PUT creates. */
const CREATED_ON_PUT = new Set([
  '/endpoints',
  '/events',
  '/limitranges',
  '/services',
  'coordination.k8s.io/leases',
  'discovery.k8s.io/endpointslices',
  'events.k8s.io/events',
  'node.k8s.io/runtimeclasses',
  'rbac.authorization.k8s.io/clusterroles',
  'rbac.authorization.k8s.io/clusterrolebindings',
  'rbac.authorization.k8s.io/roles',
  'rbac.authorization.k8s.io/rolebindings',
]);

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function rulesOf(group: string, version: string, kind: string, status: boolean, host: RulesHost): KindRules {
  const name = group === '' ? kind : `${group}/${kind}`;
  const type = once(() => typeOfKind(group, version, kind));
  const defaults = DEFAULTS[name];
  const own = kindRules(name, host);
  return {
    ...own,
    read: (object: JsonObject) => {
      const unknown: string[] = [];
      const value = decodeObject(object, type(), unknown) as Draft;
      defaults?.(value);
      return { value, unknown };
    },
    empty: () => emptyObject(type()),
    create: (object, context) => {
      const made = status ? { ...object, status: emptyObject(type())['status'] ?? {} } : object;
      return own.create?.(made, context) ?? made;
    },
    violations: (object, old, context) => own.violations?.(object, old, context) ?? [],
  };
}

const EMPTY = new Map<string, JsonObject>();

function emptyObject(type: string): JsonObject {
  const known = EMPTY.get(type) ?? decodeObject({}, type, []);
  EMPTY.set(type, known);
  return known;
}
