import type { ObjectServer, UserInfo } from './contract.ts';
import { type AccessRequest, type PolicyRule, ruleAllows } from './rbac-rules.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
const MASTERS = 'system:masters';

/** What the authorizer reads: the RBAC objects as they are stored. */
export type RbacObjects = Pick<ObjectServer, 'peek' | 'list' | 'subscribe'>;

/** Whom a role is bound to, or which role. */
export interface RoleRef {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

interface Binding {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

/** An answer of the authorizer. `reason` is what the server adds to a refusal or a review. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** The rules that apply to a user, and the roles that bindings name in vain. */
export interface UserRules {
  readonly rules: readonly PolicyRule[];
  readonly errors: readonly string[];
}

/** RBAC as Kubernetes evaluates it: purely additive, over Roles, ClusterRoles and their bindings. */
export interface Authorizer extends Disposable {
  authorize(user: UserInfo, request: AccessRequest): Decision;
  /** All rules of a user: those that are bound in the cluster, then those in the namespace ('' for none). */
  rulesFor(user: UserInfo, namespace: string): UserRules;
  /** Rules of a role that a binding in `namespace` names; a text where the role does not exist. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | string;
}

/** Whether the user may do everything, whatever RBAC says. */
export function isMaster({ groups }: UserInfo): boolean {
  return groups.includes(MASTERS);
}

/** An authorizer over stored objects. It indexes the bindings by subject, anew after each change of one. */
export function createAuthorizer(objects: RbacObjects): Authorizer {
  let cluster: Map<string, Binding[]> | undefined;
  let namespaced: Map<string, Map<string, Binding[]>> | undefined;
  const subscription = objects.subscribe(({ group, plural }) => {
    if (group !== RBAC_GROUP) return;
    if (plural === 'clusterrolebindings') cluster = undefined;
    else if (plural === 'rolebindings') namespaced = undefined;
  });

  const clusterIndex = (): Map<string, Binding[]> => {
    cluster ??= indexOf(objects.list(RBAC_GROUP, 'clusterrolebindings') as readonly Binding[]);
    return cluster;
  };

  const namespaceIndex = (namespace: string): Map<string, Binding[]> | undefined => {
    if (namespaced === undefined) {
      const byNamespace = Map.groupBy(
        objects.list(RBAC_GROUP, 'rolebindings') as readonly Binding[],
        ({ metadata }) => metadata.namespace ?? '',
      );
      namespaced = new Map([...byNamespace].map(([name, bindings]) => [name, indexOf(bindings)]));
    }
    return namespaced.get(namespace);
  };

  const rulesOf: Authorizer['rulesOf'] = (roleRef, namespace) => {
    if (roleRef.kind !== 'Role' && roleRef.kind !== 'ClusterRole')
      return `unsupported role reference kind: ${JSON.stringify(roleRef.kind)}`;
    const ofCluster = roleRef.kind === 'ClusterRole';
    const key = ofCluster ? { name: roleRef.name } : { namespace, name: roleRef.name };
    const role = objects.peek(RBAC_GROUP, ofCluster ? 'clusterroles' : 'roles', key);
    if (role !== undefined) return (role as { readonly rules?: readonly PolicyRule[] | null }).rules ?? [];
    return `${ofCluster ? 'clusterrole' : 'role'}.${RBAC_GROUP} ${JSON.stringify(roleRef.name)} not found`;
  };

  function* sources(user: UserInfo, namespace: string): Generator<Source> {
    for (const binding of bindingsOf(clusterIndex(), user)) yield { binding, rules: rulesOf(binding.roleRef, '') };
    const local = namespace === '' ? undefined : namespaceIndex(namespace);
    if (local === undefined) return;
    for (const binding of bindingsOf(local, user)) yield { binding, rules: rulesOf(binding.roleRef, namespace) };
  }

  return {
    rulesOf,
    authorize: (user, request) => {
      if (isMaster(user)) return { allowed: true, reason: '' };
      const errors: string[] = [];
      for (const { binding, rules } of sources(user, request.resource?.namespace ?? '')) {
        if (typeof rules === 'string') errors.push(rules);
        else if (rules.some((rule) => ruleAllows(rule, request)))
          return { allowed: true, reason: `RBAC: allowed by ${described(binding, user)}` };
      }
      return { allowed: false, reason: errors.length === 0 ? '' : `RBAC: ${aggregated(errors)}` };
    },
    rulesFor: (user, namespace) => {
      const rules: PolicyRule[] = [];
      const errors: string[] = [];
      for (const { rules: found } of sources(user, namespace)) {
        if (typeof found === 'string') errors.push(found);
        else rules.push(...found);
      }
      return { rules, errors };
    },
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

interface Source {
  readonly binding: Binding;
  /** A text where the role does not exist. */
  readonly rules: readonly PolicyRule[] | string;
}

/** `ClusterRoleBinding "a" of ClusterRole "b" to User "c"`, as the server names what allowed a request. */
function described({ metadata, roleRef, subjects = [] }: Binding, user: UserInfo): string {
  const own = metadata.namespace;
  const subject = subjects.find((one) => applies(one, user, own));
  const { kind = '', name = '', namespace = own ?? '' } = subject ?? {};
  const whom = kind === 'ServiceAccount' ? `${name}/${namespace}` : name;
  const binding =
    own === undefined
      ? `ClusterRoleBinding ${JSON.stringify(metadata.name)}`
      : `RoleBinding ${JSON.stringify(`${metadata.name}/${own}`)}`;
  return `${binding} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${kind} ${JSON.stringify(whom)}`;
}

function applies({ kind, name, namespace }: Subject, user: UserInfo, own: string | undefined): boolean {
  if (kind === 'User') return name === user.username;
  if (kind === 'Group') return user.groups.includes(name);
  return user.username === `system:serviceaccount:${namespace ?? own ?? ''}:${name}`;
}

/** Several errors as Kubernetes joins them: each once. */
export function aggregated(errors: readonly string[]): string {
  const once = [...new Set(errors)];
  return once.length === 1 ? (once[0] ?? '') : `[${once.join(', ')}]`;
}

/** Bindings by each user name and group that they name. */
function indexOf(bindings: readonly Binding[]): Map<string, Binding[]> {
  const index = new Map<string, Binding[]>();
  for (const binding of bindings) {
    for (const { kind, name, namespace = binding.metadata.namespace } of binding.subjects ?? []) {
      const key =
        kind === 'ServiceAccount' ? `User system:serviceaccount:${namespace ?? ''}:${name}` : `${kind} ${name}`;
      const known = index.get(key);
      if (known === undefined) index.set(key, [binding]);
      else if (known.at(-1) !== binding) known.push(binding);
    }
  }
  return index;
}

function* bindingsOf(index: ReadonlyMap<string, readonly Binding[]>, user: UserInfo): Generator<Binding> {
  const seen = new Set<Binding>();
  for (const key of [`User ${user.username}`, ...user.groups.map((group) => `Group ${group}`)]) {
    for (const binding of index.get(key) ?? []) {
      if (seen.has(binding)) continue;
      seen.add(binding);
      yield binding;
    }
  }
}
