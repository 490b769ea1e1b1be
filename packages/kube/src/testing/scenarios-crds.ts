import type { KubeObject, Resource } from '../resource.ts';

/** A kind with a status subresource and one field of each sort that a structural schema knows. */
export interface Widget extends KubeObject {
  readonly spec?: {
    readonly size?: number;
    readonly colour?: string;
    readonly note?: string | null;
    readonly engine?: { readonly kind?: string; readonly power?: number };
    readonly parts?: readonly { readonly name: string; readonly count?: number; readonly maker?: string }[];
    readonly tags?: readonly string[];
    readonly steps?: readonly { readonly name?: string; readonly at?: number }[];
    readonly settings?: Readonly<Record<string, string>>;
    readonly point?: { readonly x?: number; readonly y?: number };
    readonly free?: unknown;
    readonly port?: number | string;
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status?: string; readonly reason?: string }[];
    readonly history?: readonly { readonly version?: string; readonly completionTime?: string | null }[];
  };
}

/** The resource of {@link Widget}. */
export const WIDGET: Resource<Widget> = {
  group: 'scenarios.drydock.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
};

/** A kind without a status subresource whose schema says nothing: its structure is that of its JSON. */
export interface Parcel extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** The resource of {@link Parcel}. */
export const PARCEL: Resource<Parcel> = {
  group: 'scenarios.drydock.dev',
  version: 'v1',
  kind: 'Parcel',
  plural: 'parcels',
  scope: 'Cluster',
};

const text = { type: 'string' };
const whole = { type: 'integer', format: 'int64' };

const widgetSpec = {
  type: 'object',
  properties: {
    size: { ...whole, default: 1, minimum: 0 },
    colour: { ...text, enum: ['red', 'green', 'blue'], default: 'red' },
    note: { ...text, nullable: true, maxLength: 20 },
    engine: {
      type: 'object',
      required: ['kind'],
      properties: { kind: { ...text, minLength: 1 }, power: { ...whole, default: 10 } },
    },
    parts: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: text, count: { ...whole, default: 1 }, maker: text },
      },
    },
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    steps: { type: 'array', items: { type: 'object', properties: { name: text, at: whole } } },
    settings: { type: 'object', additionalProperties: text },
    point: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { x: whole, y: whole } },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    port: { 'x-kubernetes-int-or-string': true },
  },
};

const widgetStatus = {
  type: 'object',
  properties: {
    phase: { ...text, enum: ['Ready', 'Waiting'] },
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: { type: 'object', required: ['type'], properties: { type: text, status: text, reason: text } },
    },
    history: {
      type: 'array',
      items: {
        type: 'object',
        properties: { version: text, completionTime: { ...text, format: 'date-time', nullable: true } },
      },
    },
  },
};

/** A CRD of one version. */
export function crdOf(resource: Resource<KubeObject>, schema: unknown, status: boolean): KubeObject {
  const { group, version, kind, plural, scope } = resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...(status ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  } as KubeObject;
}

/** The CRDs that every implementation must serve before the scenarios run. */
export const SCENARIO_CRDS: readonly KubeObject[] = [
  crdOf(WIDGET, { type: 'object', properties: { spec: widgetSpec, status: widgetStatus } }, true),
  crdOf(PARCEL, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, false),
];
