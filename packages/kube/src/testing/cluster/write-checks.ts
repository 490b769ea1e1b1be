import type { StatusCause } from '../../status-object.ts';
import { type JsonObject, objectOf, shown } from './json.ts';
import { apiVersionOf, isNamespace, type ServedKind } from './kinds.ts';
import { metadataOf, metadataViolations, nameOf } from './metadata.ts';
import { badRequest, invalid, namespaceTerminating, notFound, serverError } from './refusal.ts';
import { type Store, storeId } from './store.ts';
import { typedViolation } from './typed.ts';
import { violations } from './validation.ts';
import { contextOf, type WriteTarget } from './write-target.ts';

// Checks that throw a `Refusal`.

/** Metadata, and the rules or the schema of the kind. */
export function checkObject(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): void {
  const { kind, version } = target;
  const { rules } = kind;
  const context = contextOf(target);
  for (const text of rules?.warnings?.(object, old, context) ?? []) target.warn(text);
  const found = rules?.violations?.(object, old, context) ?? [
    ...dataViolations(object, kind),
    ...violations(object, kind.schema(version), '', old),
  ];
  const causes = [...metadataViolations(object, kind), ...found];
  if (causes.length > 0) throw invalid(kind, nameOf(object), causes);
}

/** Keys of ConfigMaps and Secrets. */
function dataViolations(object: JsonObject, kind: ServedKind): StatusCause[] {
  if (!kind.builtIn || (kind.kind !== 'ConfigMap' && kind.kind !== 'Secret')) return [];
  const keys = Object.keys(objectOf(object['data'])).filter((key) => !/^[-._a-zA-Z0-9]+$/.test(key));
  return keys.map((key) => {
    const problem = `a valid config key must consist of alphanumeric characters, '-', '_' or '.'`;
    return { reason: 'FieldValueInvalid', message: `Invalid value: "${key}": ${problem}`, field: `data[${key}]` };
  });
}

/** The namespace of a new object exists and is not being deleted. */
export function checkNamespaceOpen(store: Store, { kind, namespace }: WriteTarget, name: string): void {
  if (!kind.namespaced || namespace === undefined) return;
  const found = findNamespace(store, namespace);
  if (found === undefined) throw notFound({ group: '', kind: 'Namespace', plural: 'namespaces' }, namespace);
  if (metadataOf(found)['deletionTimestamp'] !== undefined) throw namespaceTerminating(kind, name, namespace);
}

function findNamespace(store: Store, name: string): JsonObject | undefined {
  for (const [kind] of store.all()) if (isNamespace(kind)) return store.get(kind, storeId(undefined, name));
  return undefined;
}

/** The namespace in a body is that of the request. */
export function checkNamespace({ kind, namespace }: WriteTarget, body: JsonObject): void {
  const given = metadataOf(body)['namespace'];
  if (!kind.namespaced || namespace === undefined || given === undefined || given === '' || given === namespace) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** The name in a body is that of the request. */
export function checkName({ name }: WriteTarget, body: JsonObject): void {
  const given = nameOf(body);
  if (given === name) return;
  throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
}

/** The body of an apply. */
export function checkApplied(target: WriteTarget, body: JsonObject): void {
  const { kind, version } = target;
  if (body['apiVersion'] !== apiVersionOf(kind, version) || body['kind'] !== kind.kind) {
    const [group = '', given = ''] = shown(body['apiVersion'] ?? '/').split('/');
    throw badRequest(`invalid object type: ${group}/${given}, Kind=${shown(body['kind'] ?? '')}`);
  }
  if (metadataOf(body)['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
  checkName(target, body);
}

/** The fields of an apply have the types of the schema. */
export function checkTyped({ kind, version, name }: WriteTarget, body: JsonObject): void {
  const violation = typedViolation(body, kind.schema(version), '');
  if (violation === undefined) return;
  const { namespace } = metadataOf(body);
  const object = `${typeof namespace === 'string' ? namespace : ''}/${name}`;
  const type = `${kind.group}/${version}, Kind=${kind.kind}`;
  throw serverError(`failed to create typed patch object (${object}; ${type}): ${violation}`);
}
