import {
  compilePattern,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  PatternError,
  type Schema,
  type StatusCause,
  settle,
  violations,
} from '@drydock/kube/testing/api-server';
import { textOf } from './draft.ts';
import { ruleProblem } from './expressions/expression-rules.ts';
import { checkSupported, duplicate, forbidden, invalidValue, required } from './field-errors.ts';

/** A schema of a CRD. A nested schema is one inside of `allOf`, `anyOf`, `oneOf` or `not`: it only validates values. */
interface SchemaNode {
  readonly schema: Schema;
  readonly at: string;
  readonly place: 'root' | 'field' | 'item' | 'nested' | 'metadata';
}

/** What is wrong with the schema of a version: what no schema may contain, and what keeps it from being structural. */
export function schemaViolations(root: Schema, path: string, optionalOldSelf: boolean): StatusCause[] {
  const nodes: SchemaNode[] = [];
  collect({ schema: root, at: path, place: 'root' }, nodes);
  const structural = nodes.flatMap(structuralViolations);
  return [
    ...nodes.flatMap(generalViolations),
    ...structural,
    // The server checks these only in a structural schema.
    ...(structural.length === 0 ? nodes.flatMap((node) => structuralOnlyViolations(node, optionalOldSelf)) : []),
  ];
}

function collect(node: SchemaNode, nodes: SchemaNode[]): void {
  nodes.push(node);
  const { schema, at, place } = node;
  if (place === 'metadata') return;
  const { properties = {}, additionalProperties, items } = schema;
  const child = (inner: Schema, path: string, as: SchemaNode['place']): void =>
    collect({ schema: inner, at: `${at}.${path}`, place: place === 'nested' ? 'nested' : as }, nodes);
  for (const key of Object.keys(properties).sort()) {
    const inner = properties[key];
    if (inner === undefined) continue;
    child(inner, `properties[${key}]`, place === 'root' && key === 'metadata' ? 'metadata' : 'field');
  }
  if (isObject(additionalProperties)) child(additionalProperties as Schema, 'additionalProperties', 'field');
  if (items !== undefined) child(items, 'items', 'item');
  for (const field of ['oneOf', 'anyOf', 'allOf'] as const) {
    if (field === 'anyOf' && isIntOrStringChoice(node)) continue;
    for (const [index, branch] of (schema[field] ?? []).entries()) child(branch, `${field}[${index}]`, 'nested');
  }
  if (schema.not !== undefined) child(schema.not, 'not', 'nested');
}

/** `anyOf: [{type: integer}, {type: string}]` of an int-or-string: the one nested schema that may have a type. */
function isIntOrStringChoice({ schema, place }: SchemaNode): boolean {
  if (schema['x-kubernetes-int-or-string'] !== true && place !== 'nested') return false;
  return JSON.stringify(schema.anyOf) === '[{"type":"integer"},{"type":"string"}]';
}

const MISSING_TYPE: Readonly<Record<string, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function structuralViolations({ schema, at, place }: SchemaNode): readonly StatusCause[] {
  if (place === 'metadata') return [];
  const { type = '' } = schema;
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  if (place === 'nested') {
    return ['type', 'description', 'default', 'nullable']
      .filter((field) => !intOrString && ![undefined, '', false].includes((schema as JsonObject)[field] as undefined))
      .map((field) => forbidden(`${at}.${field}`, 'must be empty to be structural'));
  }
  const mayLackType = place !== 'root' && (intOrString || schema['x-kubernetes-preserve-unknown-fields'] === true);
  const causes: StatusCause[] = [];
  if (type === '' && !mayLackType) causes.push(required(`${at}.type`, MISSING_TYPE[place]));
  if (place === 'root' && type !== '' && type !== 'object') {
    causes.push(invalidValue(`${at}.type`, type, 'must be object at the root'));
  }
  if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
    causes.push(invalidValue(`${at}.type`, type, 'must be object if x-kubernetes-embedded-resource is true'));
  }
  return causes;
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function generalViolations({ schema, at, place }: SchemaNode): readonly StatusCause[] {
  if (place === 'metadata') return metadataSchemaViolations(schema, at);
  const { type = '', properties = {}, additionalProperties, items, pattern } = schema;
  const causes: StatusCause[] = [];
  if (type !== '' && place !== 'nested') causes.push(...checkSupported(`${at}.type`, type, TYPES));
  if (type === 'array' && place !== 'nested' && items === undefined) {
    causes.push(required(`${at}.items`, 'must be specified'));
  }
  if ((schema as JsonObject)['uniqueItems'] === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    causes.push(forbidden(`${at}.uniqueItems`, detail));
  }
  if (additionalProperties !== undefined && Object.keys(properties).length > 0) {
    causes.push(forbidden(`${at}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'));
  } else if (additionalProperties === false) {
    causes.push(forbidden(`${at}.additionalProperties`, 'additionalProperties cannot be set to false'));
  }
  if (pattern !== undefined) causes.push(...patternViolations(pattern, `${at}.pattern`));
  return [...causes, ...listViolations(schema, at), ...mapTypeViolations(schema, at)];
}

function structuralOnlyViolations({ schema, at, place }: SchemaNode, optionalOldSelf: boolean): readonly StatusCause[] {
  if (place === 'metadata') return [];
  const { type } = schema;
  const causes: StatusCause[] = [];
  if (schema['x-kubernetes-preserve-unknown-fields'] === true && type !== undefined && type !== 'object') {
    const detail = 'must be object if x-kubernetes-preserve-unknown-fields is true';
    causes.push(invalidValue(`${at}.type`, type, detail));
  }
  const self = place === 'root' ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema;
  causes.push(...ruleViolations(self, at, optionalOldSelf));
  if (schema.default !== undefined && place !== 'nested') causes.push(...defaultViolations(schema, `${at}.default`));
  return causes;
}

function metadataSchemaViolations(schema: Schema, path: string): StatusCause[] {
  const names = Object.keys(schema.properties ?? {});
  const fields = Object.keys(schema).filter((key) => !['type', 'properties', 'description'].includes(key));
  if (fields.length === 0 && names.every((name) => ['name', 'generateName'].includes(name))) return [];
  const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
  return [forbidden(path, detail)];
}

function patternViolations(pattern: string, field: string): StatusCause[] {
  const compiled = compilePattern(pattern);
  if (!(compiled instanceof PatternError)) return [];
  return [invalidValue(field, pattern, `must be a valid regular expression, but isn't: ${compiled.message}`)];
}

function listViolations(schema: Schema, at: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (type !== undefined) {
    causes.push(...checkSupported(`${at}.x-kubernetes-list-type`, type, ['atomic', 'map', 'set']));
    if (schema.type !== 'array') {
      causes.push(
        invalidValue(`${at}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'),
      );
    }
  }
  if (type === 'map') return [...causes, ...mapListViolations(schema, keys, at)];
  if (keys.length > 0) {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    causes.push(invalidValue(`${at}.x-kubernetes-list-type`, type ?? null, detail));
  }
  return causes;
}

function mapListViolations({ items }: Schema, keys: readonly string[], at: string): StatusCause[] {
  const causes: StatusCause[] = [];
  if (keys.length === 0) {
    causes.push(required(`${at}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'));
  }
  if (items !== undefined && items.type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    causes.push(invalidValue(`${at}.items.type`, items.type ?? '', detail));
  }
  for (const [index, key] of keys.entries()) {
    const field = `${at}.x-kubernetes-list-map-keys[${index}]`;
    if (keys.indexOf(key) < index) causes.push(duplicate(field, key));
    const property = items?.properties?.[key];
    if (property === undefined) causes.push(invalidValue(field, key, 'entries must all be names of item properties'));
    else if (property.default === undefined && items?.required?.includes(key) !== true) {
      const detail =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      causes.push(required(`${at}.items.properties[${key}].default`, detail));
    }
  }
  return causes;
}

function mapTypeViolations(schema: Schema, at: string): readonly StatusCause[] {
  const type = schema['x-kubernetes-map-type'];
  return type === undefined ? [] : checkSupported(`${at}.x-kubernetes-map-type`, type, ['atomic', 'granular']);
}

function defaultViolations(schema: Schema, field: string): readonly StatusCause[] {
  const withoutDefault = { ...schema, default: undefined };
  const { value, unknown } = settle(
    { value: schema.default },
    { type: 'object', properties: { value: withoutDefault } },
    'keep',
  );
  if (unknown.length > 0) return [invalidValue(field, schema.default, 'must not have unknown fields')];
  return violations(value['value'], withoutDefault, field);
}

function ruleViolations(schema: Schema, at: string, optionalOldSelf: boolean): StatusCause[] {
  const rules = listOf((schema as JsonObject)['x-kubernetes-validations']).map(objectOf);
  const empty = rules.findIndex((rule) => textOf(rule['rule']).trim() === '');
  if (empty >= 0) return [required(`${at}.x-kubernetes-validations[${empty}].rule`, 'rule is not specified')];
  return rules.flatMap((rule, index) => {
    const field = `${at}.x-kubernetes-validations[${index}]`;
    const causes: StatusCause[] = [];
    const text = String(rule['rule']);
    // A server without ratcheting does not know `optionalOldSelf`.
    const optional = optionalOldSelf && rule['optionalOldSelf'] === true;
    if (optional && !/\boldSelf\b/.test(text)) {
      causes.push(invalidValue(`${field}.optionalOldSelf`, true, 'may not be set if oldSelf is not used in rule'));
    }
    const problem = ruleProblem(text, schema, optional);
    if (problem !== undefined) {
      const message = `Invalid value: ${ruleText(rule, optionalOldSelf)}: compilation failed: ${problem}`;
      causes.push({ reason: 'FieldValueInvalid', message, field: `${field}.rule` });
    }
    const message = textOf(rule['messageExpression']);
    const messageProblem = message === '' ? undefined : ruleProblem(message, schema, optional, 'string');
    if (messageProblem !== undefined) {
      const detail = `messageExpression compilation failed: ${messageProblem}`;
      causes.push(invalidValue(`${field}.messageExpression`, message, detail));
    }
    return causes;
  });
}

/** A rule as messages show it: the server's own struct as JSON, with the characters that Go escapes. */
function ruleText(rule: JsonObject, optionalOldSelf: boolean): string {
  return JSON.stringify({
    Rule: rule['rule'] ?? '',
    Message: rule['message'] ?? '',
    MessageExpression: rule['messageExpression'] ?? '',
    Reason: rule['reason'] ?? null,
    FieldPath: rule['fieldPath'] ?? '',
    OptionalOldSelf: optionalOldSelf ? (rule['optionalOldSelf'] ?? null) : null,
  }).replaceAll(/[<>&]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
}
