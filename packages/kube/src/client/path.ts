import { ApiError } from '../errors.ts';
import { type Key, type KubeObject, keyText, type Resource } from '../resource.ts';
import type { Selector } from './client.ts';

type AnyResource = Resource<KubeObject>;

/** `machine.openshift.io/v1beta1`, or `v1` for the core group. */
export function apiVersionOf(resource: AnyResource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** `get MachineSet openshift-machine-api/a`: how errors name what was being done. */
export function actionText(verb: string, resource: AnyResource, key?: Key): string {
  return key === undefined ? `${verb} ${resource.kind}s` : `${verb} ${resource.kind} ${keyText(key)}`;
}

/** The path of a collection; without a namespace it spans all of them. */
export function collectionPath(resource: AnyResource, namespace: string | undefined): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope =
    namespace === undefined || resource.scope === 'Cluster' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${resource.plural}`;
}

/** The path of one object, or of its subresource. Throws BadRequest for a key that cannot name an object of the kind. */
export function objectPath(resource: AnyResource, key: Key, subresource?: 'status'): string {
  if (key.name === '' || key.name === '.' || key.name === '..' || (resource.scope === 'Namespaced' && !key.namespace)) {
    throw new ApiError({
      code: 'BadRequest',
      action: `address ${resource.kind} ${keyText(key)}`,
      said: resource.scope === 'Namespaced' && !key.namespace ? 'the kind needs a namespace' : 'the name is empty',
    });
  }
  const path = `${collectionPath(resource, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** A query string with a leading `?`, or ''. Undefined values are left out. */
export function queryText(params: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(params).filter((param): param is [string, string] => (param[1] ?? '') !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

/** The query parameters of a selector. */
export function selectorParams(where: Selector | undefined): Record<string, string | undefined> {
  return { labelSelector: where?.labels, fieldSelector: where?.fields };
}
