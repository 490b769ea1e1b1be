import { createHash } from 'node:crypto';
import type { ObjectServer, ServedResource } from './objects.ts';

/** OpenAPI v3 of what is served: an index, and one document for each group and version. */
export interface OpenApiDocuments {
  /** `/openapi/v3`: paths with the hash of each document. */
  index(): unknown;
  /** The text of `/openapi/v3/PATH`; undefined for what is not served. */
  document(path: string): { readonly text: string; readonly hash: string } | undefined;
}

type Schemas = Readonly<Record<string, unknown>>;

/** What the paths of resources can be asked for, besides their verbs. */
const WRITE_PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation'];
const LIST_PARAMETERS = [
  ...['allowWatchBookmarks', 'continue', 'fieldSelector', 'labelSelector', 'limit', 'resourceVersion'],
  ...['resourceVersionMatch', 'sendInitialEvents', 'timeoutSeconds', 'watch'],
];
const PATCH_TYPES = ['apply-patch+yaml', 'json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json'];

/** Documents are made when they are first asked for, and kept until what is served changes. */
export function openApiDocuments(
  objects: Pick<ObjectServer, 'resources' | 'schemas' | 'onServed'>,
): OpenApiDocuments & Disposable {
  const made = new Map<string, { readonly text: string; readonly hash: string }>();
  const changes = objects.onServed(() => made.clear());

  const document: OpenApiDocuments['document'] = (path) => {
    const known = made.get(path);
    if (known !== undefined) return known;
    const [, group = '', version = ''] = /^(?:api|apis\/([^/]+))\/([^/]+)$/.exec(path) ?? [];
    const resources = objects.resources().filter((one) => one.group === group && one.version === version);
    if (resources.length === 0) return undefined;
    const schemas = objects.schemas(group, version) ?? {};
    const text = JSON.stringify({
      openapi: '3.0.0',
      info: { title: 'Kubernetes', version: 'v1.34.4' },
      paths: Object.fromEntries(resources.flatMap((resource) => pathsOf(resource, schemas))),
      components: { schemas },
    });
    const hash = createHash('sha512').update(text).digest('hex').toUpperCase();
    made.set(path, { text, hash });
    return { text, hash };
  };

  return {
    document,
    index: () => {
      const names = new Set(
        objects.resources().map(({ group, version }) => (group === '' ? `api/${version}` : `apis/${group}/${version}`)),
      );
      const paths = [...names].map((name) => {
        const hash = document(name)?.hash ?? '';
        return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }] as const;
      });
      return { paths: Object.fromEntries(paths) };
    },
    [Symbol.dispose]: () => changes[Symbol.dispose](),
  };
}

function pathsOf(resource: ServedResource, schemas: Schemas): readonly (readonly [string, object])[] {
  const { group, version, plural, namespaced, verbs, kind } = resource;
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = namespaced ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`;
  const gvk = { group, version, kind };
  const operation = (verb: string, action: string, parameters: readonly string[], body?: object): object => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    parameters: parameters.map((name) => ({ in: 'query', name, schema: { type: 'string', uniqueItems: true } })),
    ...(body === undefined ? {} : { requestBody: { content: body } }),
    responses: { [verb === 'create' ? 201 : 200]: { description: 'OK', content: contentOf(gvk, schemas) } },
  });
  const has = (verb: string): boolean => verbs.includes(verb);
  const content = contentOf(gvk, schemas);
  const patches = Object.fromEntries(
    PATCH_TYPES.map((type) => [`application/${type}`, { schema: { type: 'object' } }]),
  );
  const list = {
    ...(has('list') ? { get: operation('list', 'list', LIST_PARAMETERS) } : {}),
    ...(has('create') ? { post: operation('create', 'post', WRITE_PARAMETERS, content) } : {}),
    ...(has('deletecollection')
      ? { delete: operation('delete', 'deletecollection', ['dryRun', ...LIST_PARAMETERS]) }
      : {}),
  };
  const one = {
    ...(has('get') ? { get: operation('get', 'get', []) } : {}),
    ...(has('update') ? { put: operation('update', 'put', WRITE_PARAMETERS, content) } : {}),
    ...(has('patch') ? { patch: operation('patch', 'patch', [...WRITE_PARAMETERS, 'force'], patches) } : {}),
    ...(has('delete') ? { delete: operation('delete', 'delete', ['dryRun', 'propagationPolicy']) } : {}),
  };
  const paths: (readonly [string, object])[] = [];
  if (namespaced && has('list')) paths.push([`${base}/${plural}`, { get: operation('list', 'list', LIST_PARAMETERS) }]);
  if (Object.keys(list).length > 0) paths.push([collection, list]);
  if (Object.keys(one).length > 0) paths.push([`${collection}/{name}`, one]);
  return paths;
}

/** The content of a kind: a reference to its schema, where the document has it. */
function contentOf(
  gvk: { readonly group: string; readonly version: string; readonly kind: string },
  schemas: Schemas,
): object {
  const name = Object.keys(schemas).find((key) => {
    const kinds = (schemas[key] as Readonly<Record<string, unknown>>)['x-kubernetes-group-version-kind'];
    const [only, ...others] = Array.isArray(kinds) ? (kinds as readonly (typeof gvk)[]) : [];
    return others.length === 0 && only?.group === gvk.group && only.version === gvk.version && only.kind === gvk.kind;
  });
  const schema = name === undefined ? { type: 'object' } : { $ref: `#/components/schemas/${name}` };
  return { 'application/json': { schema } };
}
