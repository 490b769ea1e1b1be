import {
  dns1035LabelProblems,
  isObject,
  type JsonObject,
  jsonEqual,
  listOf,
  metadataOf,
  objectOf,
  type Schema,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { isEstablished } from './crd-names.ts';
import { schemaViolations } from './crd-schema-checks.ts';
import { textOf } from './draft.ts';
import { checkImmutable, checkRequired, checkSupported, forbidden, invalidValue, required } from './field-errors.ts';

// Validation of CustomResourceDefinitions.

/** The finalizer that keeps a CRD until its objects are deleted. */
export const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

/** What is wrong with a CRD; `optionalOldSelf` says whether its rules may set the field of that name. */
export function crdViolations(
  object: JsonObject,
  old: JsonObject | undefined,
  optionalOldSelf: boolean,
): readonly StatusCause[] {
  const spec = objectOf(object['spec']);
  const names = objectOf(spec['names']);
  const group = textOf(spec['group']);
  const { name } = metadataOf(object);
  const causes: StatusCause[] = [];
  if (old === undefined && name !== `${textOf(names['plural'])}.${group}`) {
    causes.push(invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (group === '') causes.push(required('spec.group'));
  else if (!group.includes('.')) {
    causes.push(invalidValue('spec.group', group, 'should be a domain with at least one dot'));
  }
  const scope = textOf(spec['scope']);
  if (scope === '') causes.push(required('spec.scope'));
  else causes.push(...checkSupported('spec.scope', scope, ['Cluster', 'Namespaced']));
  causes.push(
    ...versionViolations(spec, old, optionalOldSelf),
    ...nameViolations(names),
    ...conversionViolations(objectOf(spec['conversion'])),
  );
  if (old !== undefined) return [...causes, ...updateViolations(object, old)];
  if (listOf(objectOf(object['status'])['storedVersions']).length === 0) {
    causes.push(invalidValue('status.storedVersions', null, 'must have at least one stored version'));
  }
  return causes;
}

function updateViolations(object: JsonObject, old: JsonObject): readonly StatusCause[] {
  const [spec, before] = [objectOf(object['spec']), objectOf(old['spec'])];
  const stored = storedVersionViolations(object);
  if (!isEstablished(old)) return stored;
  return [
    ...checkImmutable('spec', spec, before, ['scope', 'group']),
    ...checkImmutable('spec.names', objectOf(spec['names']), objectOf(before['names']), ['kind', 'plural']),
    ...stored,
  ];
}

/** A CRD keeps each version in which objects may be stored. */
export function storedVersionViolations(object: JsonObject): StatusCause[] {
  const known = listOf(objectOf(object['spec'])['versions']).map((one) => objectOf(one)['name']);
  const stored = listOf(objectOf(object['status'])['storedVersions']);
  if (stored.length === 0) return [];
  return stored.flatMap((version, at) => {
    if (known.includes(version)) return [];
    const name = String(version);
    const said = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    return [invalidValue(`status.storedVersions[${at}]`, version, said)];
  });
}

function nameViolations(names: JsonObject): StatusCause[] {
  const causes: StatusCause[] = [];
  const check = (field: string, value: unknown, text = String(value), prefix = ''): void => {
    const problems = dns1035LabelProblems(text).join(',');
    if (problems !== '') causes.push(invalidValue(`spec.names.${field}`, value, `${prefix}${problems}`));
  };
  for (const field of ['plural', 'singular', 'kind', 'listKind']) {
    const text = textOf(names[field]);
    if (text === '') causes.push(required(`spec.names.${field}`));
    else if (!field.toLowerCase().endsWith('kind')) check(field, text);
    else check(field, text, text.toLowerCase(), 'may have mixed case, but should otherwise match: ');
  }
  for (const field of ['shortNames', 'categories']) {
    for (const [at, value] of listOf(names[field]).entries()) check(`${field}[${at}]`, value);
  }
  if (names['kind'] !== undefined && names['kind'] === names['listKind']) {
    causes.push(invalidValue('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same'));
  }
  return causes;
}

function conversionViolations({ strategy, webhook }: JsonObject): readonly StatusCause[] {
  const unsupported = checkSupported('spec.conversion.strategy', strategy, ['None', 'Webhook']);
  if (unsupported.length > 0) return unsupported;
  const field = 'spec.conversion.webhookClientConfig';
  if (strategy === 'None') {
    return webhook === undefined ? [] : [forbidden(field, 'should not be set when strategy is not set to Webhook')];
  }
  const causes: StatusCause[] = [];
  const client = objectOf(webhook)['clientConfig'];
  if (!isObject(client)) causes.push(required(field, 'required when strategy is set to Webhook'));
  else if ((client['url'] === undefined) === (client['service'] === undefined)) {
    causes.push(required(field, 'exactly one of url or service is required'));
  }
  const versions = listOf(objectOf(webhook)['conversionReviewVersions']);
  if (versions.length === 0) causes.push(required('spec.conversion.conversionReviewVersions'));
  else if (!versions.includes('v1') && !versions.includes('v1beta1')) {
    const detail = 'must include at least one of v1, v1beta1';
    causes.push(invalidValue('spec.conversion.conversionReviewVersions', versions, detail));
  }
  return causes;
}

function versionViolations(spec: JsonObject, old: JsonObject | undefined, optionalOldSelf: boolean): StatusCause[] {
  const versions = listOf(spec['versions']).map(objectOf);
  if (versions.length === 0) return [required('spec.versions')];
  const causes = versions.flatMap(({ name }, at) => {
    const problems = dns1035LabelProblems(textOf(name)).join(',');
    return problems === '' ? [] : [invalidValue(`spec.versions[${at}].name`, name, problems)];
  });
  const internal = versions.map(internalVersion);
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    causes.push(invalidValue('spec.versions', internal, 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage === true).length !== 1) {
    causes.push(invalidValue('spec.versions', internal, 'must have exactly one version marked as storage version'));
  }
  const schemas = versions.map((version) => objectOf(version['schema'])['openAPIV3Schema']);
  // The server moves a schema that all versions share to one place, and reports it there.
  const shared = schemas.every((schema) => jsonEqual(schema ?? null, schemas[0] ?? null));
  const before = listOf(objectOf(old?.['spec'])['versions']).map(objectOf);
  for (const [at, version] of versions.entries()) {
    const schema = schemas[at];
    const ownPath = `spec.versions[${at}].schema.openAPIV3Schema`;
    if (!isObject(schema)) {
      causes.push(required(ownPath));
      continue;
    }
    if (shared && at > 0) continue;
    const was = before.find(({ name }) => name === version['name']);
    if (was !== undefined && jsonEqual(objectOf(was['schema'])['openAPIV3Schema'], schema)) continue;
    const path = shared ? 'spec.validation.openAPIV3Schema' : ownPath;
    causes.push(
      ...schemaViolations(schema as Schema, path, optionalOldSelf),
      ...scaleViolations(version, `spec.versions[${at}].subresources.scale`),
    );
  }
  return causes;
}

/** A version as messages show it: the server's own struct. */
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

function scaleViolations(version: JsonObject, path: string): readonly StatusCause[] {
  const scale = objectOf(version['subresources'])['scale'];
  if (!isObject(scale)) return [];
  return Object.entries({ specReplicasPath: '.spec', statusReplicasPath: '.status' }).flatMap(([field, parent]) => {
    const value = textOf(scale[field]);
    if (value === '' || value.startsWith(`${parent}.`)) return checkRequired(`${path}.${field}`, value);
    return [invalidValue(`${path}.${field}`, value, `should be a json path under ${parent}`)];
  });
}
