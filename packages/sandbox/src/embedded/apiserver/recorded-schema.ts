import type { Schema } from '@drydock/kube/testing/api-server';
import { type RecordedSchema, recordedTypes, refOf } from './recorded.ts';

/** A schema of one of Kubernetes' own types, with what strategic merge patches need. */
export interface TypeSchema extends Schema {
  readonly properties?: Readonly<Record<string, TypeSchema>>;
  readonly items?: TypeSchema;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

const made = new Map<string, TypeSchema>();

/** The schema of a type, without references: types that hold themselves are circles. */
export function schemaOfType(name: string): TypeSchema {
  const known = made.get(name);
  if (known !== undefined) return known;
  const schema: Record<string, unknown> = {};
  // Before its fields, which may lead back to it.
  made.set(name, schema);
  Object.assign(schema, inlined(recordedTypes().schemas[name] ?? {}));
  return schema;
}

const KEPT = ['type', 'format', 'required', 'enum'];

function inlined(recorded: RecordedSchema): TypeSchema {
  const ref = refOf(recorded);
  const own = Object.entries(recorded).filter(([key]) => KEPT.includes(key) || key.startsWith('x-kubernetes-'));
  if (ref !== undefined) {
    const target = schemaOfType(ref);
    // A circle that is not closed yet has nothing to copy.
    return own.length === 0 ? target : { ...target, ...Object.fromEntries(own) };
  }
  const { properties, items, additionalProperties, default: given } = recorded;
  const open = recorded.type === undefined || (recorded.type === 'object' && properties === undefined);
  return {
    ...Object.fromEntries(own),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, inlined(one)])) }),
    ...(items === undefined ? {} : { items: inlined(items) }),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: inlined(additionalProperties) } : {}),
    ...(given === undefined || typeof given === 'object' ? {} : { default: given }),
    ...(open && additionalProperties === undefined
      ? { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-map-type': 'atomic' }
      : {}),
  };
}

const INDEX = new Map<string, string>();

/** The name of the type of a kind. */
export function typeOfKind(group: string, version: string, kind: string): string {
  if (INDEX.size === 0) {
    for (const [name, schema] of Object.entries(recordedTypes().schemas)) {
      for (const of of schema['x-kubernetes-group-version-kind'] ?? []) {
        if (name.endsWith(`.${of.kind}`)) INDEX.set(`${of.group}/${of.version}/${of.kind}`, name);
      }
    }
  }
  const found = INDEX.get(`${group}/${version}/${kind}`);
  if (found === undefined) throw new TypeError(`no type of ${group}/${version} ${kind} was recorded`);
  return found;
}
