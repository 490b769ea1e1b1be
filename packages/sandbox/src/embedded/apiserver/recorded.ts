import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

// What `recording/record-kinds.ts` has recorded of the real API server. Each part is read when it is needed first.

const FILE = join(import.meta.dirname, 'recorded-kinds.bin');

/** A resource of aggregated discovery. */
export interface RecordedResource {
  readonly resource: string;
  readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind: string } | null;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly subresource: string;
    readonly responseKind?: { readonly group?: string; readonly version?: string; readonly kind: string } | null;
    readonly verbs: readonly string[];
  }[];
}

/** A group of aggregated discovery. */
export interface RecordedGroup {
  readonly metadata?: { readonly name?: string };
  readonly versions: readonly { readonly version: string; readonly resources: readonly RecordedResource[] }[];
}

/** A schema of an OpenAPI v3 document, without descriptions. */
export interface RecordedSchema {
  readonly $ref?: string;
  readonly allOf?: readonly RecordedSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, RecordedSchema>>;
  readonly additionalProperties?: RecordedSchema | boolean;
  readonly items?: RecordedSchema;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

/** Schemas and how Go writes their fields, by name of the type. */
export interface RecordedTypes {
  readonly schemas: Readonly<Record<string, RecordedSchema>>;
  readonly go: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const file = once(() => readFileSync(FILE));

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function part(index: number): unknown {
  const bytes = file();
  let from = 12;
  for (let at = 0; at < index; at += 1) from += bytes.readUInt32LE(at * 4);
  return JSON.parse(gunzipSync(bytes.subarray(from, from + bytes.readUInt32LE(index * 4))).toString('utf8'));
}

/** What the recorded server served, by default. */
export const recordedServer: () => { readonly kubernetes: string; readonly groups: readonly RecordedGroup[] } = once(
  () => part(0) as { readonly kubernetes: string; readonly groups: readonly RecordedGroup[] },
);

/** The types of its kinds. */
export const recordedTypes: () => RecordedTypes = once(() => part(1) as RecordedTypes);

/** Descriptions, by type and field; '' is the type itself. */
export const recordedDocs: () => Readonly<Record<string, Readonly<Record<string, string>>>> = once(
  () => part(2) as Readonly<Record<string, Readonly<Record<string, string>>>>,
);

/** The name of the type that a schema refers to. */
export function refOf(schema: RecordedSchema): string | undefined {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  return ref?.slice('#/components/schemas/'.length);
}

/** The schemas of a group and version, with descriptions and all that they refer to, as the OpenAPI document of the recorded server has them. */
export function recordedDocument(group: string, version: string): Readonly<Record<string, unknown>> {
  const { schemas } = recordedTypes();
  const docs = recordedDocs();
  const out: Record<string, unknown> = {};
  const add = (name: string): void => {
    const schema = schemas[name];
    if (schema === undefined || name in out) return;
    const { '': description, ...fields } = docs[name] ?? {};
    const properties = Object.entries(schema.properties ?? {}).map(([field, one]) => {
      const said = fields[field];
      return [field, said === undefined ? one : { description: said, ...one }] as const;
    });
    out[name] = {
      ...(description === undefined ? {} : { description }),
      ...schema,
      ...(schema.properties === undefined ? {} : { properties: Object.fromEntries(properties) }),
    };
    for (const ref of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) add(ref[1] ?? '');
  };
  for (const [name, schema] of Object.entries(schemas)) {
    const kinds = schema['x-kubernetes-group-version-kind'];
    if (kinds?.some((one) => one.group === group && one.version === version) === true) add(name);
  }
  return out;
}
