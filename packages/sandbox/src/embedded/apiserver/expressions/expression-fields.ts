import type { Schema } from '@drydock/kube/testing/api-server';

/** Words that are no identifiers in expressions. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set([
  ...['as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop', 'package'],
  ...['namespace', 'return', 'var', 'void', 'while'],
]);
const KEYWORDS: ReadonlySet<string> = new Set([...RESERVED_WORDS, 'true', 'false', 'null', 'in']);

/** A declared field: its JSON name and its schema. */
interface Field {
  readonly name: string;
  readonly schema: Schema;
}

const TEXT: Schema = { type: 'string' };
const EMBEDDED_RESOURCE: Readonly<Record<string, Schema>> = {
  apiVersion: TEXT,
  kind: TEXT,
  metadata: { type: 'object', properties: { name: TEXT, generateName: TEXT } },
};

const known = new WeakMap<Schema, ReadonlyMap<string, Field>>();

/** The fields of an object by their escaped names, which expressions use. */
export function fieldsOf(schema: Schema): ReadonlyMap<string, Field> {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const embedded = schema['x-kubernetes-embedded-resource'] === true ? EMBEDDED_RESOURCE : {};
  const fields = new Map(
    [...Object.entries(schema.properties ?? {}), ...Object.entries(embedded)].map(
      ([name, of]) => [escaped(name), { name, schema: of }] as const,
    ),
  );
  known.set(schema, fields);
  return fields;
}

function escaped(name: string): string {
  if (KEYWORDS.has(name)) return `__${name}__`;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}
