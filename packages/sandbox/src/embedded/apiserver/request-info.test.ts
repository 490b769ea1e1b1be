import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestInfoOf } from './request-info.ts';

test('a request line names verb, namespace, resource and name as authorization sees them', () => {
  const read = (method: string, target: string): string => {
    const { verb, path, resource } = requestInfoOf(method, target);
    if (resource === undefined) return `${verb} ${path}`;
    const { group, version, namespace, resource: plural, subresource, authorizedName } = resource;
    return `${verb} ${group}/${version} ${namespace}|${plural}|${authorizedName}|${subresource}`;
  };
  const cases: readonly (readonly [string, string, string])[] = [
    ['GET', '/api/v1/pods', 'list /v1 |pods||'],
    ['GET', '/api/v1/pods?watch=1', 'watch /v1 |pods||'],
    ['GET', '/api/v1/pods?watch=false', 'list /v1 |pods||'],
    ['GET', '/api/v1/watch/namespaces/a/pods', 'watch /v1 a|pods||'],
    ['GET', '/api/v1/namespaces/a', 'get /v1 a|namespaces|a|'],
    ['PUT', '/api/v1/namespaces/a/finalize', 'update /v1 a|namespaces|a|finalize'],
    ['GET', '/api/v1/namespaces/a/pods/b/status', 'get /v1 a|pods|b|status'],
    ['DELETE', '/apis/apps/v1/namespaces/a/deployments', 'deletecollection apps/v1 a|deployments||'],
    ['GET', '/apis/apps/v1/deployments?fieldSelector=metadata.name%3Db', 'list apps/v1 |deployments|b|'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name!=b', 'list /v1 |pods||'],
    ['POST', '/api/v1/namespaces/a/pods/b/eviction', 'create /v1 a|pods|b|eviction'],
    ['GET', '/apis/apps/v1', 'get /apis/apps/v1'],
    ['GET', '/healthz', 'get /healthz'],
    ['POST', '/version', 'post /version'],
    ['GET', '/api/v1/namespaces/a/configmaps/b%2Fc', 'get /v1 a|configmaps|b/c|'],
  ];
  for (const [method, target, info] of cases) assert.equal(read(method, target), info, `${method} ${target}`);
});
