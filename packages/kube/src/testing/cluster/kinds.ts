import type { KubeObject, Resource } from '../../resource.ts';
import { isObject, type JsonObject, listOf, objectOf } from './json.ts';
import type { KindRules } from './rules.ts';
import { EMBEDDED, type Schema, UNKNOWN } from './schema.ts';

/** One kind that the cluster serves. */
export interface ServedKind {
  readonly group: string;
  /** All served versions; the objects are the same in each but for their apiVersion. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** It has a status subresource: the two halves are written apart. */
  readonly status: boolean;
  /** Part of Kubernetes itself: no generation, and a PUT without resourceVersion is taken. */
  readonly builtIn: boolean;
  /** A PUT of an absent object creates it. */
  readonly createOnPut?: boolean;
  /** The schema of a version, with that of metadata. */
  schema(version: string): Schema;
  /** Of custom kinds with several: the one that objects are stored in. */
  readonly storageVersion?: string;
  /** The kind whose objects these are, in another form: the server's `convert` port makes one of the other, and `stored` of its own. */
  readonly storedAs?: ServedKind;
  /** Subresources besides `status`, which the server's `other` port answers. */
  readonly subresources?: readonly string[];
  /** The kind's own code. */
  readonly rules?: KindRules;
}

/** The apiVersion of a kind's objects in a version. */
export function apiVersionOf({ group }: Pick<ServedKind, 'group'>, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** A stored object with apiVersion and kind, which are not stored. */
export function served(object: JsonObject, kind: ServedKind, version: string): JsonObject {
  return { apiVersion: apiVersionOf(kind, version), kind: kind.kind, ...object };
}

export function isNamespace({ kind, group }: ServedKind): boolean {
  return kind === 'Namespace' && group === '';
}

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'object', additionalProperties: text };
const set: Schema = { type: 'array', items: text, 'x-kubernetes-list-type': 'set' };
const mapList = (key: string, items: Schema = UNKNOWN): Schema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
});

export const METADATA: Schema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(
      [
        'name',
        'generateName',
        'namespace',
        'uid',
        'resourceVersion',
        'selfLink',
        'creationTimestamp',
        'deletionTimestamp',
      ].map((name) => [name, { type: 'string' }]),
    ),
    generation: { type: 'integer' },
    deletionGracePeriodSeconds: { type: 'integer' },
    labels: texts,
    annotations: texts,
    finalizers: set,
    ownerReferences: mapList('uid', { type: 'object', 'x-kubernetes-map-type': 'atomic', ...UNKNOWN }),
    managedFields: { type: 'array', items: UNKNOWN },
  },
};

EMBEDDED.set('apiVersion', text).set('kind', text).set('metadata', METADATA);

export function whole(schema: Schema): Schema {
  return {
    ...schema,
    properties: { ...schema.properties, apiVersion: text, kind: text, metadata: METADATA },
  };
}

/** The schema's own places are all unknown, so ownership follows the JSON. */
const OPEN: Schema = whole({ type: 'object', ...UNKNOWN });

interface BuiltIn {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly cluster?: true;
  readonly status?: true;
  readonly createOnPut?: true;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const conditions = mapList('type');
const statusWith = (properties: Readonly<Record<string, Schema>>): Schema => ({
  ...UNKNOWN,
  type: 'object',
  properties,
});

const BUILT_IN: readonly BuiltIn[] = [
  {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    cluster: true,
    status: true,
    properties: { spec: UNKNOWN, status: statusWith({ conditions }) },
  },
  {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    properties: { data: texts, binaryData: texts, immutable: { type: 'boolean' } },
  },
  {
    group: '',
    version: 'v1',
    kind: 'Secret',
    plural: 'secrets',
    properties: { data: texts, type: { ...text, default: 'Opaque' }, immutable: { type: 'boolean' } },
  },
  {
    group: '',
    version: 'v1',
    kind: 'Node',
    plural: 'nodes',
    cluster: true,
    status: true,
    properties: { spec: UNKNOWN, status: statusWith({ conditions, addresses: mapList('type') }) },
  },
  { group: '', version: 'v1', kind: 'Pod', plural: 'pods', status: true },
  { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' },
  { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', createOnPut: true },
  { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', createOnPut: true },
  { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', status: true },
  {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    cluster: true,
    status: true,
  },
];

/** The kinds of Kubernetes itself that the cluster knows. Their schemas say no more than ownership and selection need. */
export function builtInKinds(): readonly ServedKind[] {
  return BUILT_IN.map(({ group, version, kind, plural, cluster, status, createOnPut, properties }) => {
    const schema = properties === undefined ? OPEN : whole({ type: 'object', properties });
    return {
      group,
      versions: [version],
      kind,
      plural,
      namespaced: cluster !== true,
      status: status === true,
      builtIn: true,
      ...(createOnPut === undefined ? {} : { createOnPut }),
      schema: () => schema,
    };
  });
}

/** A custom kind without a schema, with a status subresource. */
export function openKind({ group, version, kind, plural, scope }: Resource<KubeObject>): ServedKind {
  const namespaced = scope === 'Namespaced';
  return { group, versions: [version], kind, plural, namespaced, status: true, builtIn: false, schema: () => OPEN };
}

/** The kind of a CustomResourceDefinition. Throws for what is none. */
export function kindOfCrd(crd: unknown): ServedKind {
  const spec = objectOf(objectOf(crd)['spec']);
  const names = objectOf(spec['names']);
  const { kind, plural } = names;
  const { group, scope } = spec;
  if (typeof kind !== 'string' || typeof plural !== 'string' || typeof group !== 'string') {
    throw new TypeError('a CRD must have spec.group, spec.names.kind and spec.names.plural');
  }
  const versions = listOf(spec['versions'])
    .map(objectOf)
    .filter((version) => version['served'] === true);
  const schemas = new Map(
    versions.map((version) => {
      const schema = objectOf(version['schema'])['openAPIV3Schema'];
      return [String(version['name']), isObject(schema) ? whole(schema as Schema) : OPEN] as const;
    }),
  );
  const stored = listOf(spec['versions'])
    .map(objectOf)
    .find(({ storage }) => storage === true)?.['name'];
  return {
    group,
    versions: [...schemas.keys()],
    ...(typeof stored === 'string' ? { storageVersion: stored } : {}),
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    // Per version in the API; nobody sets it for one version alone.
    status: versions.some((version) => isObject(objectOf(version['subresources'])['status'])),
    builtIn: false,
    schema: (version) => schemas.get(version) ?? OPEN,
  };
}
