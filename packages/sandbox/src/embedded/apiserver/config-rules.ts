import {
  type JsonObject,
  jsonEqual,
  type KindRules,
  metadataOf,
  objectOf,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { fieldValues } from './draft.ts';
import { checkImmutable, checkRequired, forbidden, invalidValue, required } from './field-errors.ts';
import type { RulesByKind } from './rules-host.ts';

const KEY_FORMAT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const MAX_BYTES = 1_048_576;

function keyProblem(key: string): string | undefined {
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) return KEY_FORMAT;
  if (key.length > 253) return 'must be no more than 253 characters';
  return key === '.' || key === '..' ? `must not be '${key}'` : undefined;
}

/** What ConfigMaps and Secrets have in common. */
const dataViolations: NonNullable<KindRules['violations']> = (object, old) => {
  const data = objectOf(object['data']);
  const binaryData = objectOf(object['binaryData']);
  const causes: StatusCause[] = [];
  for (const [field, entries] of Object.entries({ data, binaryData })) {
    for (const key of Object.keys(entries)) {
      if (field === 'data' && key in binaryData) {
        causes.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
      }
      const problem = keyProblem(key);
      if (problem !== undefined) causes.push(invalidValue(`${field}[${key}]`, key, problem));
    }
  }
  const values = [...Object.values(data), ...Object.values(binaryData)].map(String);
  if (values.reduce((bytes, value) => bytes + Buffer.byteLength(value), 0) > MAX_BYTES) {
    // The real server's name for the whole object.
    const field = '[]';
    causes.push({ reason: 'FieldValueTooLong', message: `Too long: may not be more than ${MAX_BYTES} bytes`, field });
  }
  if (old?.['immutable'] !== true) return causes;
  const changed = [
    ...(object['immutable'] === true ? [] : ['immutable']),
    ...['data', 'binaryData'].filter((field) => !jsonEqual(object[field] ?? {}, old[field] ?? {})),
  ];
  return [...causes, ...changed.map((field) => forbidden(field, 'field is immutable when `immutable` is set'))];
};

/** Keys that Secrets of a type must have. */
const SECRET_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};
const SERVICE_ACCOUNT = 'kubernetes.io/service-account.name';

function secretViolations(object: JsonObject, old: JsonObject | undefined): readonly StatusCause[] {
  const data = objectOf(object['data']);
  const type = String(object['type']);
  const missing = (SECRET_KEYS[type] ?? []).filter((key) => !(key in data));
  const account = objectOf(metadataOf(object)['annotations'])[SERVICE_ACCOUNT];
  return [
    ...missing.map((key) => required(`data[${key}]`)),
    ...(type === 'kubernetes.io/service-account-token'
      ? checkRequired(`metadata.annotations[${SERVICE_ACCOUNT}]`, account)
      : []),
    ...checkImmutable('', object, old, ['type']),
  ];
}

export const CONFIG_RULES: RulesByKind = {
  ConfigMap: () => ({ violations: dataViolations }),
  Secret: () => ({
    fields: (object) => fieldValues(object, 'type'),
    violations: (object, old, context) => [...dataViolations(object, old, context), ...secretViolations(object, old)],
  }),
};
