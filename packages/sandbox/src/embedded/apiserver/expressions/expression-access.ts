import type { UserInfo } from '../contract.ts';
import type { Decision } from '../rbac-authorizer.ts';
import type { AccessRequest } from '../rbac-rules.ts';
import { add } from './expression-functions.ts';
import { EvaluationError, Opaque, type Value } from './expression-values.ts';

// The functions that ask who may do what: `authorizer.group('apps').resource('deployments').namespace('a').check('get').allowed()`.

/** Answers whether a user may do something. */
export type Authorize = (user: UserInfo, request: AccessRequest) => Decision;

/** Whose rights an expression asks for, and who answers. */
interface Asker {
  readonly user: UserInfo;
  readonly authorize: Authorize;
}

/** A resource as the authorizer sees it. */
export type AccessResource = NonNullable<AccessRequest['resource']>;

interface ResourceCheck extends Asker {
  readonly resource: AccessResource;
}

const opaque = (kind: Opaque['kind'], data: unknown): Opaque => new Opaque({ kind, data, text: '' });

/** The variable `authorizer` of a request. */
export function authorizerOf(user: UserInfo, authorize: Authorize): Value {
  return opaque('authorizer', { user, authorize } satisfies Asker);
}

/** The variable `authorizer.requestResource` of a request. */
export function requestResourceOf(user: UserInfo, authorize: Authorize, resource: AccessResource): Value {
  return opaque('resourceCheck', { user, authorize, resource } satisfies ResourceCheck);
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

add('authorizer.serviceAccount(string,string):authorizer', (on: Opaque, namespace: string, name: string) => {
  if (!NAME.test(name) || name.length > 253) throw new EvaluationError('Invalid service account name');
  if (!LABEL.test(namespace) || namespace.length > 63) throw new EvaluationError('Invalid service account namespace');
  const user = {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  };
  return authorizerOf(user, (on.data as Asker).authorize);
});
add('authorizer.path(string):pathCheck', (on: Opaque, path: string) =>
  opaque('pathCheck', { ...(on.data as Asker), path }),
);
add('authorizer.group(string):groupCheck', (on: Opaque, group: string) =>
  opaque('groupCheck', { ...(on.data as Asker), group }),
);
add('groupCheck.resource(string):resourceCheck', (on: Opaque, resource: string) => {
  const { user, authorize, group } = on.data as Asker & { readonly group: string };
  return requestResourceOf(user, authorize, { group, resource, subresource: '', namespace: '', name: '' });
});
for (const part of ['subresource', 'namespace', 'name'] as const) {
  add(`resourceCheck.${part}(string):resourceCheck`, (on: Opaque, value: string) => {
    const check = on.data as ResourceCheck;
    return opaque('resourceCheck', { ...check, resource: { ...check.resource, [part]: value } });
  });
}
// Roles name no selectors, so a selector never changes what they answer.
for (const selector of ['fieldSelector', 'labelSelector'])
  add(`resourceCheck.${selector}(string):resourceCheck`, (on: Opaque) => on);
add('pathCheck.check(string):decision', (on: Opaque, verb: string) => {
  const { user, authorize, path } = on.data as Asker & { readonly path: string };
  return opaque('decision', authorize(user, { verb, path }));
});
add('resourceCheck.check(string):decision', (on: Opaque, verb: string) => {
  const { user, authorize, resource } = on.data as ResourceCheck;
  return opaque('decision', authorize(user, { verb, resource }));
});
add('decision.allowed():bool', ({ data }: Opaque) => (data as Decision).allowed);
add('decision.reason():string', ({ data }: Opaque) => (data as Decision).reason);
// Evaluating roles cannot fail: a role that is missing is part of the reason.
add('decision.errored():bool', () => false);
add('decision.error():string', () => '');
