import {
  isObject,
  type JsonObject,
  jsonEqual,
  listOf,
  metadataOf,
  objectOf,
  type Schema,
  type StatusCause,
  settle,
  violations,
} from '@drydock/kube/testing/api-server';
import { duplicate, forbidden, isLabel1035, required, unsupported, wrong } from './checks.ts';
import { textOf } from './draft.ts';
import { ruleProblem } from './expressions/expression-rules.ts';

// What the server refuses in a CustomResourceDefinition.

/** Keeps a CRD until its objects are gone. */
export const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const DNS_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/** What is wrong with a CRD; `optionalOldSelf` says whether rules may have optional old values. */
export function crdViolations(
  object: JsonObject,
  old: JsonObject | undefined,
  optionalOldSelf: boolean,
): readonly StatusCause[] {
  const causes: StatusCause[] = [];
  const spec = objectOf(object['spec']);
  const names = objectOf(spec['names']);
  const group = textOf(spec['group']);
  const plural = textOf(names['plural']);
  const { name } = metadataOf(object);
  if (old === undefined && name !== `${plural}.${group}`)
    if (name !== undefined && name !== '')
      causes.push(wrong('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  if (group === '') causes.push(required('spec.group'));
  else if (!group.includes('.')) causes.push(wrong('spec.group', group, 'should be a domain with at least one dot'));
  const scopes = ['Cluster', 'Namespaced'];
  const scope = textOf(spec['scope']);
  if (scope === '') causes.push(required('spec.scope'));
  else if (!scopes.includes(scope)) causes.push(unsupported('spec.scope', scope, scopes));
  causes.push(...versionViolations(spec, old, optionalOldSelf));
  causes.push(...nameViolations(names));
  causes.push(...conversionViolations(objectOf(spec['conversion'])));
  if (old !== undefined) {
    const before = objectOf(old['spec']);
    const established = listOf(objectOf(old['status'])['conditions']).some(
      (one) => objectOf(one)['type'] === 'Established' && objectOf(one)['status'] === 'True',
    );
    const fixed = established ? (['scope', 'group'] as const) : [];
    for (const field of fixed) {
      if (spec[field] !== before[field]) causes.push(wrong(`spec.${field}`, spec[field], 'field is immutable'));
    }
    for (const field of established ? ['kind', 'plural'] : []) {
      const was = objectOf(before['names'])[field];
      if (names[field] !== was) causes.push(wrong(`spec.names.${field}`, names[field], 'field is immutable'));
    }
    causes.push(...storedVersionViolations(object));
  } else if (listOf(objectOf(object['status'])['storedVersions']).length === 0) {
    causes.push(wrong('status.storedVersions', null, 'must have at least one stored version'));
  }
  return causes;
}

/** What is stored in a version keeps that version in the CRD. */
export function storedVersionViolations(object: JsonObject): StatusCause[] {
  const known = listOf(objectOf(object['spec'])['versions']).map((one) => objectOf(one)['name']);
  const stored = listOf(objectOf(object['status'])['storedVersions']);
  if (stored.length === 0) return [];
  return stored.flatMap((version, at) => {
    if (known.includes(version)) return [];
    const name = String(version);
    const said = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    return [wrong(`status.storedVersions[${at}]`, version, said)];
  });
}

function nameViolations(names: JsonObject): StatusCause[] {
  const causes: StatusCause[] = [];
  const check = (field: string, value: unknown, mixed: boolean): void => {
    const text = textOf(value);
    if (text === '') {
      causes.push(required(`spec.names.${field}`));
      return;
    }
    if (isLabel1035(mixed ? text.toLowerCase() : text)) return;
    const said = `${mixed ? 'may have mixed case, but should otherwise match: ' : ''}${DNS_1035}`;
    causes.push(wrong(`spec.names.${field}`, value, said));
  };
  check('plural', names['plural'], false);
  check('singular', names['singular'], false);
  check('kind', names['kind'], true);
  check('listKind', names['listKind'], true);
  for (const [list, what] of [
    ['shortNames', names['shortNames']],
    ['categories', names['categories']],
  ] as const) {
    for (const [at, one] of listOf(what).entries()) {
      if (!isLabel1035(String(one))) causes.push(wrong(`spec.names.${list}[${at}]`, one, DNS_1035));
    }
  }
  if (names['kind'] !== undefined && names['kind'] === names['listKind']) {
    causes.push(wrong('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same'));
  }
  return causes;
}

function conversionViolations(conversion: JsonObject): StatusCause[] {
  const { strategy, webhook } = conversion;
  const strategies = ['None', 'Webhook'];
  if (!strategies.includes(String(strategy))) return [unsupported('spec.conversion.strategy', strategy, strategies)];
  const client = objectOf(webhook)['clientConfig'];
  if (strategy === 'None') {
    return webhook === undefined
      ? []
      : [forbidden('spec.conversion.webhookClientConfig', 'should not be set when strategy is not set to Webhook')];
  }
  const causes: StatusCause[] = [];
  if (!isObject(client)) {
    causes.push(required('spec.conversion.webhookClientConfig', 'required when strategy is set to Webhook'));
  } else if ((client['url'] === undefined) === (client['service'] === undefined)) {
    causes.push(required('spec.conversion.webhookClientConfig', 'exactly one of url or service is required'));
  }
  const versions = listOf(objectOf(webhook)['conversionReviewVersions']);
  if (versions.length === 0) causes.push(required('spec.conversion.conversionReviewVersions'));
  else if (!versions.includes('v1') && !versions.includes('v1beta1')) {
    const said = 'must include at least one of v1, v1beta1';
    causes.push(wrong('spec.conversion.conversionReviewVersions', versions, said));
  }
  return causes;
}

function versionViolations(spec: JsonObject, old: JsonObject | undefined, optionalOldSelf: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  const versions = listOf(spec['versions']).map(objectOf);
  const internal = versions.map(internalVersion);
  const names = new Set<unknown>();
  let unique = true;
  for (const [at, version] of versions.entries()) {
    if (names.has(version['name'])) unique = false;
    names.add(version['name']);
    if (!isLabel1035(textOf(version['name'])))
      causes.push(wrong(`spec.versions[${at}].name`, version['name'], DNS_1035));
  }
  if (!unique) causes.push(wrong('spec.versions', internal, 'must contain unique version names'));
  const stored = versions.filter((one) => one['storage'] === true).length;
  if (stored !== 1) {
    causes.push(
      wrong(
        'spec.versions',
        versions.length === 0 ? null : internal,
        'must have exactly one version marked as storage version',
      ),
    );
  }
  // What all versions share the server moves to one place, and names it there.
  const schemas = versions.map((one) => objectOf(one['schema'])['openAPIV3Schema']);
  const shared = versions.length === 1 || schemas.every((one) => jsonEqual(one ?? null, schemas[0] ?? null));
  const before = listOf(objectOf(old?.['spec'])['versions']).map(objectOf);
  for (const [at, version] of versions.entries()) {
    const schema = schemas[at];
    const path = shared ? 'spec.validation.openAPIV3Schema' : `spec.versions[${at}].schema.openAPIV3Schema`;
    if (!isObject(schema)) {
      causes.push(required(`spec.versions[${at}].schema.openAPIV3Schema`));
      continue;
    }
    if (shared && at > 0) continue;
    const was = before.find((one) => one['name'] === version['name']);
    if (was !== undefined && jsonEqual(objectOf(was['schema'])['openAPIV3Schema'], schema)) continue;
    causes.push(...schemaViolations(schema as Schema, path, optionalOldSelf));
    causes.push(...subresourceViolations(version, `spec.versions[${at}].subresources`));
  }
  return causes;
}

/** How messages show a version: the server's own struct. */
function internalVersion(version: JsonObject): JsonObject {
  return {
    Name: version['name'] ?? '',
    Served: version['served'] ?? false,
    Storage: version['storage'] ?? false,
    Deprecated: version['deprecated'] ?? false,
    DeprecationWarning: version['deprecationWarning'] ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  };
}

function subresourceViolations(version: JsonObject, path: string): StatusCause[] {
  const scale = objectOf(version['subresources'])['scale'];
  if (!isObject(scale)) return [];
  const causes: StatusCause[] = [];
  for (const [field, part] of [
    ['specReplicasPath', '.spec.'],
    ['statusReplicasPath', '.status.'],
  ] as const) {
    const value = textOf(scale[field]);
    if (value === '') causes.push(required(`${path}.scale.${field}`));
    else if (!value.startsWith(part)) {
      causes.push(wrong(`${path}.scale.${field}`, value, `should be a json path under ${part.slice(0, -1)}`));
    }
  }
  return causes;
}

const VALUE_FIELDS = ['oneOf', 'anyOf', 'allOf', 'not'] as const;

/** What keeps a schema from being structural, and what it says that no schema may. */
function schemaViolations(root: Schema, path: string, optionalOldSelf: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  const structural: StatusCause[] = [];
  /** What is looked at only in a structural schema. */
  const later: StatusCause[] = [];
  const walk = (schema: Schema, at: string, place: 'root' | 'field' | 'item' | 'nested'): void => {
    const { type, properties, additionalProperties, items } = schema;
    const free =
      schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
    if (place !== 'nested') {
      if ((type ?? '') === '' && (place === 'root' || !free)) {
        const said =
          place === 'root'
            ? 'must not be empty at the root'
            : place === 'item'
              ? 'must not be empty for specified array items'
              : 'must not be empty for specified object fields';
        structural.push(required(`${at}.type`, said));
      } else if (place === 'root' && type !== 'object') {
        structural.push(wrong(`${at}.type`, type, 'must be object at the root'));
      }
      if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
        structural.push(wrong(`${at}.type`, type ?? '', 'must be object if x-kubernetes-embedded-resource is true'));
      }
    } else {
      const kept = schema['x-kubernetes-int-or-string'] === true;
      for (const [field, value] of [
        ['type', type],
        ['description', (schema as JsonObject)['description']],
        ['default', schema.default],
        ['nullable', schema.nullable],
      ] as const) {
        if (value !== undefined && value !== '' && value !== false && !kept) {
          structural.push(forbidden(`${at}.${field}`, 'must be empty to be structural'));
        }
      }
    }
    if (type !== undefined && type !== '' && !TYPES.includes(type) && place !== 'nested') {
      causes.push(unsupported(`${at}.type`, type, TYPES));
    }
    if (type === 'array' && place !== 'nested') {
      if (items === undefined) causes.push(required(`${at}.items`, 'must be specified'));
    }
    if ((schema as JsonObject)['uniqueItems'] === true) {
      causes.push(
        forbidden(
          `${at}.uniqueItems`,
          'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
        ),
      );
    }
    if (additionalProperties !== undefined && properties !== undefined && Object.keys(properties).length > 0) {
      causes.push(forbidden(`${at}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'));
    } else if (additionalProperties === false) {
      causes.push(forbidden(`${at}.additionalProperties`, 'additionalProperties cannot be set to false'));
    }
    if (schema.pattern !== undefined) causes.push(...patternViolations(schema.pattern, `${at}.pattern`));
    if (schema['x-kubernetes-preserve-unknown-fields'] === true && type !== undefined && type !== 'object') {
      later.push(wrong(`${at}.type`, type, 'must be object if x-kubernetes-preserve-unknown-fields is true'));
    }
    causes.push(...listViolations(schema, at));
    later.push(
      ...ruleViolations(
        place === 'root' ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema,
        at,
        optionalOldSelf,
      ),
    );
    if (schema.default !== undefined && place !== 'nested') later.push(...defaultViolations(schema, at));
    const nested = place === 'nested' ? 'nested' : undefined;
    for (const key of Object.keys(properties ?? {}).sort()) {
      const inner = properties?.[key];
      if (inner === undefined) continue;
      const metadata = place === 'root' && key === 'metadata';
      if (metadata) causes.push(...metadataSchemaViolations(inner, `${at}.properties[metadata]`));
      else walk(inner, `${at}.properties[${key}]`, nested ?? 'field');
    }
    if (isObject(additionalProperties))
      walk(additionalProperties as Schema, `${at}.additionalProperties`, nested ?? 'field');
    if (items !== undefined) walk(items, `${at}.items`, nested ?? 'item');
    for (const field of VALUE_FIELDS) {
      const value = schema[field];
      if (value === undefined || (field === 'anyOf' && isIntOrStringChoice(schema, place, value))) continue;
      const branches: readonly (readonly [Schema, string])[] = Array.isArray(value)
        ? (value as readonly Schema[]).map((one, index) => [one, `${at}.${field}[${index}]`] as const)
        : [[value as Schema, `${at}.${field}`]];
      for (const [branch, where] of branches) walk(branch, where, 'nested');
    }
  };
  walk(root, path, 'root');
  return [...causes, ...structural, ...(structural.length === 0 ? later : [])];
}

/** `anyOf: [{type: integer}, {type: string}]` of an int-or-string, the one place where a branch may have a type; also in its first `allOf`. */
function isIntOrStringChoice(schema: Schema, place: string, anyOf: unknown): boolean {
  if (schema['x-kubernetes-int-or-string'] !== true && place !== 'nested') return false;
  return JSON.stringify(anyOf) === '[{"type":"integer"},{"type":"string"}]';
}

function metadataSchemaViolations(schema: Schema, path: string): StatusCause[] {
  const allowed = ['name', 'generateName'];
  const names = Object.keys(schema.properties ?? {});
  const fields = Object.keys(schema).filter((key) => key !== 'type' && key !== 'properties' && key !== 'description');
  if (fields.length === 0 && names.every((name) => allowed.includes(name))) return [];
  const said = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
  return [forbidden(path, said)];
}

function patternViolations(pattern: string, field: string): StatusCause[] {
  try {
    new RegExp(pattern.replace(/^\(\?[ims]+\)/, ''));
    return [];
  } catch {
    const open = (pattern.match(/\(/g) ?? []).length > (pattern.match(/\)/g) ?? []).length;
    const why = open ? `missing closing ): \`${pattern}\`` : `invalid or unsupported syntax: \`${pattern}\``;
    return [wrong(field, pattern, `must be a valid regular expression, but isn't: error parsing regexp: ${why}`)];
  }
}

function listViolations(schema: Schema, at: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const type = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  if (type !== undefined) {
    const types = ['atomic', 'map', 'set'];
    if (!types.includes(type)) causes.push(unsupported(`${at}.x-kubernetes-list-type`, type, types));
    if (schema.type !== 'array')
      causes.push(wrong(`${at}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'));
  }
  if (type === 'map') {
    if (keys === undefined || keys.length === 0) {
      causes.push(required(`${at}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'));
    }
    const { items } = schema;
    if (items !== undefined && items.type !== 'object') {
      causes.push(
        wrong(`${at}.items.type`, items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map"),
      );
    }
    const seen = new Set<string>();
    for (const [index, key] of (keys ?? []).entries()) {
      const field = `${at}.x-kubernetes-list-map-keys[${index}]`;
      if (seen.has(key)) causes.push(duplicate(field, key));
      seen.add(key);
      const property = items?.properties?.[key];
      if (property === undefined) causes.push(wrong(field, key, 'entries must all be names of item properties'));
      else if (property.default === undefined && items?.required?.includes(key) !== true) {
        const where = `${at}.items.properties[${key}].default`;
        causes.push(
          required(
            where,
            'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
          ),
        );
      }
    }
  } else if (keys !== undefined && keys.length > 0) {
    causes.push(
      wrong(`${at}.x-kubernetes-list-type`, type ?? null, 'must be map if x-kubernetes-list-map-keys is non-empty'),
    );
  }
  const map = schema['x-kubernetes-map-type'];
  if (map !== undefined && map !== 'atomic' && map !== 'granular') {
    causes.push(unsupported(`${at}.x-kubernetes-map-type`, map, ['atomic', 'granular']));
  }
  return causes;
}

function defaultViolations(schema: Schema, at: string): StatusCause[] {
  const { value, unknown } = settle(
    { value: schema.default },
    { type: 'object', properties: { value: { ...schema, default: undefined } } },
    'keep',
  );
  if (unknown.length > 0) return [wrong(`${at}.default`, schema.default, 'must not have unknown fields')];
  return violations(value['value'], { ...schema, default: undefined }, `${at}.default`).map((cause) => cause);
}

function ruleViolations(schema: Schema, at: string, optionalOldSelf: boolean): StatusCause[] {
  const rules = listOf((schema as JsonObject)['x-kubernetes-validations']).map(objectOf);
  if (rules.some((rule) => textOf(rule['rule']).trim() === '')) {
    const index = rules.findIndex((rule) => textOf(rule['rule']).trim() === '');
    return [required(`${at}.x-kubernetes-validations[${index}].rule`, 'rule is not specified')];
  }
  return rules.flatMap((rule, index) => {
    const field = `${at}.x-kubernetes-validations[${index}]`;
    const causes: StatusCause[] = [];
    const text = String(rule['rule']);
    // A server without ratcheting does not know of optional old values.
    const optional = optionalOldSelf && rule['optionalOldSelf'] === true;
    if (optional && !/\boldSelf\b/.test(text)) {
      causes.push(wrong(`${field}.optionalOldSelf`, true, 'may not be set if oldSelf is not used in rule'));
    }
    const problem = ruleProblem(text, schema, optional);
    if (problem !== undefined) {
      causes.push(wrongText(`${field}.rule`, internalRule(rule, optionalOldSelf), `compilation failed: ${problem}`));
    }
    const message = rule['messageExpression'];
    if (typeof message === 'string' && message !== '') {
      const wrongMessage = ruleProblem(message, schema, optional, 'string');
      if (wrongMessage !== undefined) {
        const said = `messageExpression compilation failed: ${wrongMessage}`;
        causes.push(wrong(`${field}.messageExpression`, message, said));
      }
    }
    return causes;
  });
}

/** How messages show a rule: the server's own struct, as Go writes it. */
function internalRule(rule: JsonObject, optionalOldSelf: boolean): string {
  const {
    rule: Rule = '',
    message = '',
    messageExpression = '',
    reason = null,
    fieldPath = '',
    optionalOldSelf: own = null,
  } = rule;
  const struct = {
    Rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf ? own : null,
  };
  return JSON.stringify(struct).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e').replaceAll('&', '\\u0026');
}

function wrongText(field: string, value: string, said: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${said}`, field };
}
