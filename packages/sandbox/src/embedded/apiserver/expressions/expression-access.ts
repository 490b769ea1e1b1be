import { dnsLabelProblems, dnsSubdomainProblems } from '@drydock/kube/testing/api-server';
import type { UserInfo } from '../contract.ts';
import type { Decision } from '../rbac-authorizer.ts';
import type { AccessRequest } from '../rbac-rules.ts';
import { EvaluationError } from './expression-errors.ts';
import { Opaque, type Value } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';

// Functions that ask the authorizer: `authorizer.group('apps').resource('deployments').namespace('a').check('get').allowed()`.

/** Decides whether a user may do something. */
export type Authorize = (user: UserInfo, request: AccessRequest) => Decision;

/** The user whose permissions an expression checks, and the authorizer. */
interface AuthorizerData {
  readonly user: UserInfo;
  readonly authorize: Authorize;
}

/** A resource as the authorizer sees it. */
export type AccessResource = NonNullable<AccessRequest['resource']>;

interface ResourceCheck extends AuthorizerData {
  readonly resource: AccessResource;
}

const opaque = (kind: Opaque['kind'], data: unknown): Opaque => new Opaque(kind, data, '');

/** The variable `authorizer` of a request. */
export function authorizerOf(user: UserInfo, authorize: Authorize): Value {
  return opaque('authorizer', { user, authorize } satisfies AuthorizerData);
}

/** The variable `authorizer.requestResource` of a request. */
export function requestResourceOf(user: UserInfo, authorize: Authorize, resource: AccessResource): Value {
  return opaque('resourceCheck', { user, authorize, resource } satisfies ResourceCheck);
}

/** Each sets one part of the resource to check. */
const RESOURCE_PARTS: Functions = Object.fromEntries(
  ['subresource', 'namespace', 'name'].map((part) => [
    `resourceCheck.${part}(string):resourceCheck`,
    ({ data }: Opaque, value: string) => {
      const check = data as ResourceCheck;
      return opaque('resourceCheck', { ...check, resource: { ...check.resource, [part]: value } });
    },
  ]),
);

const unchanged = (check: Opaque): Opaque => check;

/** Functions of the authorizer. */
export const ACCESS_FUNCTIONS: Functions = {
  'authorizer.serviceAccount(string,string):authorizer': ({ data }: Opaque, namespace: string, name: string) => {
    if (dnsSubdomainProblems(name).length > 0) throw new EvaluationError('Invalid service account name');
    if (dnsLabelProblems(namespace).length > 0) throw new EvaluationError('Invalid service account namespace');
    const user = {
      username: `system:serviceaccount:${namespace}:${name}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    };
    return authorizerOf(user, (data as AuthorizerData).authorize);
  },
  'authorizer.path(string):pathCheck': ({ data }: Opaque, path: string) =>
    opaque('pathCheck', { ...(data as AuthorizerData), path }),
  'authorizer.group(string):groupCheck': ({ data }: Opaque, group: string) =>
    opaque('groupCheck', { ...(data as AuthorizerData), group }),
  'groupCheck.resource(string):resourceCheck': ({ data }: Opaque, resource: string) => {
    const { user, authorize, group } = data as AuthorizerData & { readonly group: string };
    return requestResourceOf(user, authorize, { group, resource, subresource: '', namespace: '', name: '' });
  },
  ...RESOURCE_PARTS,
  // RBAC rules have no selectors, so a selector never changes the decision.
  'resourceCheck.fieldSelector(string):resourceCheck': unchanged,
  'resourceCheck.labelSelector(string):resourceCheck': unchanged,
  'pathCheck.check(string):decision': ({ data }: Opaque, verb: string) => {
    const { user, authorize, path } = data as AuthorizerData & { readonly path: string };
    return opaque('decision', authorize(user, { verb, path }));
  },
  'resourceCheck.check(string):decision': ({ data }: Opaque, verb: string) => {
    const { user, authorize, resource } = data as ResourceCheck;
    return opaque('decision', authorize(user, { verb, resource }));
  },
  'decision.allowed():bool': ({ data }: Opaque) => (data as Decision).allowed,
  'decision.reason():string': ({ data }: Opaque) => (data as Decision).reason,
  // Evaluating RBAC never fails: a missing role is part of the reason.
  'decision.errored():bool': () => false,
  'decision.error():string': () => '',
};
