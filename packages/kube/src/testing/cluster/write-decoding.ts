import { exactText } from '../../json/exact-integers.ts';
import { isObject, type JsonObject, objectOf } from './json.ts';
import { METADATA } from './kinds.ts';
import { badRequest, invalid, type Refusal } from './refusal.ts';
import { Undecodable } from './rules.ts';
import { type Nulls, type Schema, type Settled, settle } from './schema.ts';
import { violations } from './validation.ts';
import type { WriteTarget } from './write-target.ts';

/** What a client sent as the kind's type holds it: without undeclared fields, with defaults. */
export function decoded(target: WriteTarget, object: JsonObject, nulls: Nulls = 'drop'): JsonObject {
  const { kind, version } = target;
  const { value, unknown } = read(target, object, nulls);
  checkTypes(target, value);
  if (unknown.length > 0 && target.validation !== 'Ignore') {
    const problems = unknown.map((field) => (field.includes(' ') ? field : `unknown field "${field}"`));
    if (target.validation === 'Strict') {
      throw undecodable(target, `strict decoding error: ${problems.join(', ')}`, object);
    }
    for (const problem of problems) target.warn(problem);
  }
  return kind.builtIn && kind.rules?.read === undefined ? withoutEmptyMaps(value, kind.schema(version)) : value;
}

function read(target: WriteTarget, object: JsonObject, nulls: Nulls): Settled {
  const { kind, version } = target;
  if (kind.rules?.read === undefined) return settle(object, kind.schema(version), kind.builtIn ? 'empty' : nulls);
  try {
    return kind.rules.read(object, version, nulls);
  } catch (error) {
    throw error instanceof Undecodable ? undecodable(target, error.message, object) : error;
  }
}

/** The types of metadata, and of all of a built-in kind. */
function checkTypes(target: WriteTarget, object: JsonObject): void {
  const { kind, version } = target;
  if (kind.rules?.read !== undefined) return;
  const schema = kind.builtIn ? kind.schema(version) : { type: 'object', properties: { metadata: METADATA } };
  const mistyped = violations(object, schema, '').find(({ reason }) => reason === 'FieldValueTypeInvalid');
  if (mistyped === undefined) return;
  const { field = '', message = '' } = mistyped;
  const [, given = ''] = /"(\w+)"$/.exec(message) ?? [];
  const [, wanted = ''] = /of type (\w+)/.exec(message) ?? [];
  const [holder, name = '', inner] = field.split('.');
  const json = given === 'integer' ? 'number' : given === 'boolean' ? 'bool' : given;
  const type = wanted === 'object' && inner === undefined ? 'map[string]string' : wanted;
  const path = holder === 'metadata' ? `ObjectMeta.${name.replace(/\[\d+\]/g, '')}` : `${kind.kind}.${field}`;
  throw undecodable(target, `json: cannot unmarshal ${json} into Go struct field ${path} of type ${type}`, object);
}

function undecodable({ kind, version, patched }: WriteTarget, problem: string, object: JsonObject): Refusal {
  if (patched === true) {
    const text = JSON.stringify(exactText(object));
    const cause = { reason: 'FieldValueInvalid', message: `Invalid value: ${text}: ${problem}`, field: 'patch' };
    return invalid({ group: '', kind: '', plural: '' }, '', [cause]);
  }
  return badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${problem}`);
}

/** Built-in types omit empty maps. */
function withoutEmptyMaps(object: JsonObject, { properties }: Schema): JsonObject {
  const isEmptyMap = (key: string, value: unknown): boolean =>
    isObject(properties?.[key]?.additionalProperties) && Object.keys(objectOf(value)).length === 0;
  return Object.fromEntries(Object.entries(object).filter(([key, value]) => !isEmptyMap(key, value)));
}
