import type { Json } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { validate } from '../validate/validate.ts';

/**
 * A value that says nothing, and that the schema takes: its default, null, a member of the enum that means "unknown", or what is empty. undefined: it has none, and inventing one would be a lie.
 */
export function neutralFor(schema: Schema, minor: number): Json | undefined {
  const unknown = schema.enum?.find((value) => typeof value === 'string' && /^(|unknown|none)$/i.test(value));
  const candidates: (Json | undefined)[] = [schema.default, schema.nullable === true ? null : undefined, unknown];
  if (schema.enum === undefined) candidates.push(emptyOf(schema));
  return candidates.find((value) => value !== undefined && isLegal(value, schema, minor));
}

function emptyOf(schema: Schema): Json | undefined {
  switch (schema.type) {
    case 'array':
      return [];
    case 'object':
      return {};
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return schema.minimum;
    default:
      return undefined;
  }
}

/** Whether a value alone satisfies its schema. */
export function isLegal(value: Json, schema: Schema, minor: number): boolean {
  const context = { minor, ratchets: false, causes: [], doubts: [] };
  validate(applyDefaults(value, schema), schema, [], undefined, context);
  return context.causes.length === 0;
}
