import { type JsonObject, objectOf, type ServedKind } from '@drydock/kube/testing/api-server';
import { versionOf } from './crd-kinds.ts';
import type { CrdRegistry } from './crd-registry.ts';
import { recordedDocument } from './recorded.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.';

/** The schemas of a group and version of custom kinds, as their OpenAPI document has them; undefined where there are none. */
export function customDocument(
  registry: CrdRegistry,
  kinds: readonly ServedKind[],
  group: string,
  version: string,
): Readonly<Record<string, unknown>> | undefined {
  const own = kinds.filter((kind) => !kind.builtIn && kind.group === group && kind.versions.includes(version));
  if (own.length === 0) return undefined;
  const shared = recordedDocument('', 'v1');
  const document: Record<string, unknown> = Object.fromEntries(
    Object.entries(shared).filter(([name]) => name.startsWith(META)),
  );
  const prefix = `${group.split('.').toReversed().join('.')}.${version}`;
  for (const kind of own) {
    const crd = registry.crdOf(kind);
    if (crd === undefined) continue;
    const schema = objectOf(objectOf(versionOf(crd, version)['schema'])['openAPIV3Schema']);
    const gvk = { group, version, kind: kind.kind };
    document[`${prefix}.${kind.kind}`] = {
      ...published(schema),
      'x-kubernetes-group-version-kind': [gvk],
    };
    document[`${prefix}.${kind.kind}List`] = listSchema(kind, `${prefix}.${kind.kind}`, {
      ...gvk,
      kind: `${kind.kind}List`,
    });
  }
  return document;
}

const VERSION_SAID =
  'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources';
const KIND_SAID =
  'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds';

function published(schema: JsonObject): JsonObject {
  const properties = objectOf(schema['properties']);
  const metadata = {
    description:
      "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    allOf: [{ $ref: `#/components/schemas/${META}ObjectMeta` }],
  };
  return {
    ...schema,
    type: 'object',
    properties: {
      ...properties,
      apiVersion: { description: VERSION_SAID, type: 'string' },
      kind: { description: KIND_SAID, type: 'string' },
      metadata,
    },
  };
}

function listSchema(kind: ServedKind, item: string, gvk: JsonObject): JsonObject {
  return {
    description: `${kind.kind}List is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: { description: VERSION_SAID, type: 'string' },
      kind: { description: KIND_SAID, type: 'string' },
      metadata: {
        description:
          'Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
        allOf: [{ $ref: `#/components/schemas/${META}ListMeta` }],
      },
      items: {
        description: `List of ${kind.plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`,
        type: 'array',
        items: { $ref: `#/components/schemas/${item}` },
      },
    },
    'x-kubernetes-group-version-kind': [gvk],
  };
}
