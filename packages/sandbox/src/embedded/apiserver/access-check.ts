import { type ApiFailure, forbidden } from './api-failure.ts';
import type { UserInfo } from './objects.ts';
import type { Authorizer } from './rbac-authorizer.ts';
import type { AccessRequest } from './rbac-rules.ts';
import type { RequestInfo } from './request-info.ts';

/** The question that a request puts to the authorizer. */
export function accessRequestOf({ verb, path, resource }: RequestInfo): AccessRequest {
  if (resource === undefined) return { verb, path };
  const { group, subresource, namespace, authorizedName: name } = resource;
  return { verb, resource: { group, resource: resource.resource, subresource, namespace, name } };
}

/** 403 with the server's words, or undefined where the user may. */
export function refusalOf(authorizer: Authorizer, user: UserInfo, request: AccessRequest): ApiFailure | undefined {
  const { allowed, reason } = authorizer.authorize(user, request);
  if (allowed) return undefined;
  const why = reason === '' ? '' : `: ${reason}`;
  const who = `User ${JSON.stringify(user.username)} cannot ${request.verb}`;
  const { resource, path = '' } = request;
  if (resource === undefined) return forbidden('', '', '', `${who} path ${JSON.stringify(path)}${why}`);
  const { group, subresource, namespace, name } = resource;
  const combined = subresource === '' ? resource.resource : `${resource.resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const what = `resource ${JSON.stringify(combined)} in API group ${JSON.stringify(group)} ${where}`;
  return forbidden(group, resource.resource, name, `${who} ${what}${why}`);
}
