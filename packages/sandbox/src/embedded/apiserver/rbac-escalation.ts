import { isDeepStrictEqual } from 'node:util';
import { type ApiFailure, forbidden, notFound } from './api-failure.ts';
import type { UserInfo } from './objects.ts';
import { type Authorizer, aggregated, isMaster, RBAC_GROUP, type RoleRef } from './rbac-authorizer.ts';
import { describeRules, missingRules, type PolicyRule } from './rbac-rules.ts';
import type { ResourcePath } from './request-info.ts';

/** An RBAC object, as far as the check reads it. */
interface RbacObject {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly unknown[] | null } | null;
  readonly roleRef?: RoleRef;
}

/** A write that the check judges. */
export interface RbacWrite {
  readonly path: ResourcePath;
  /** As it would be stored. */
  readonly written: unknown;
  /** As it is stored; undefined for a creation. */
  readonly stored: unknown;
}

const ROLES = new Set(['roles', 'clusterroles']);
const BINDINGS = new Set(['rolebindings', 'clusterrolebindings']);
const EVERYTHING: readonly PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

/** Whether writes to this resource can give somebody more rights. */
export function grantsRights({ group, resource, subresource }: ResourcePath): boolean {
  return group === RBAC_GROUP && subresource === '' && (ROLES.has(resource) || BINDINGS.has(resource));
}

/**
 * Refuses an RBAC write that would give rights which the user does not have. Users may write a role whose rules they have, or whose verb
 * `escalate` they may use, and bind a role whose rules they have, or that they may `bind`.
 */
export function escalationOf(authorizer: Authorizer, user: UserInfo, write: RbacWrite): ApiFailure | undefined {
  if (isMaster(user)) return undefined;
  const { path } = write;
  const [object, old] = [write.written as RbacObject, write.stored as RbacObject | undefined];
  if (old !== undefined && isDeepStrictEqual(withoutOwners(object), withoutOwners(old))) return undefined;
  const { name: written } = object.metadata ?? {};
  const name = typeof written === 'string' ? written : path.name;
  const may = (verb: string, resource: string, which: string): boolean => {
    const asked = { group: RBAC_GROUP, resource, subresource: '', namespace: path.namespace, name: which };
    return authorizer.authorize(user, { verb, resource: asked }).allowed;
  };
  const refusal = (why: string): ApiFailure => forbidden(RBAC_GROUP, path.resource, name, why);

  if (BINDINGS.has(path.resource)) {
    const ref = object.roleRef ?? { kind: '', name: '' };
    const role = ref.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (may('bind', role, ref.name)) return undefined;
    const rules = authorizer.rulesOf(ref, path.namespace);
    if (typeof rules === 'string') return notFound(RBAC_GROUP, path.resource, ref.name);
    const why = lacking(authorizer, user, path.namespace, rules);
    return why === undefined ? undefined : refusal(why);
  }
  if (may('escalate', path.resource, path.name)) return undefined;
  const why = lacking(authorizer, user, path.namespace, object.rules ?? []);
  if (why !== undefined) return refusal(why);
  const aggregates = [object, old].some((one) => (one?.aggregationRule?.clusterRoleSelectors ?? []).length > 0);
  if (!aggregates || lacking(authorizer, user, path.namespace, EVERYTHING) === undefined) return undefined;
  return refusal('must have cluster-admin privileges to use the aggregationRule');
}

/** Without what the garbage collector needs to write. */
function withoutOwners({ metadata, ...object }: RbacObject): unknown {
  const kept = Object.entries(metadata ?? {}).filter(
    ([name]) => !['ownerReferences', 'finalizers', 'managedFields', 'resourceVersion'].includes(name),
  );
  return { ...object, metadata: Object.fromEntries(kept) };
}

/** What the user lacks of these rules, in the server's words; undefined where nothing. */
function lacking(
  authorizer: Authorizer,
  user: UserInfo,
  namespace: string,
  rules: readonly PolicyRule[],
): string | undefined {
  const { rules: owned, errors } = authorizer.rulesFor(user, namespace);
  const missing = missingRules(owned, rules);
  if (missing.length === 0) return undefined;
  const groups = user.groups.map((group) => JSON.stringify(group)).join(' ');
  const who = `user ${JSON.stringify(user.username)} (groups=[${groups}])`;
  const unresolved = errors.length === 0 ? '' : `; resolution errors: [${aggregated(errors)}]`;
  const list = describeRules(missing).join('\n');
  return `${who} is attempting to grant RBAC permissions not currently held:\n${list}${unresolved}`;
}
