import type { KubeObject, Resource } from '@drydock/kube';

/** A ConfigMap, as far as tests use it. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

function kind<T extends KubeObject>(
  name: string,
  plural: string,
  group = '',
  scope: Resource<T>['scope'] = 'Namespaced',
): Resource<T> {
  return { group, version: 'v1', kind: name, plural, scope };
}

export const CONFIG_MAP: Resource<ConfigMap> = kind('ConfigMap', 'configmaps');
export const SECRET: Resource<KubeObject> = kind('Secret', 'secrets');
export const SERVICE_ACCOUNT: Resource<KubeObject> = kind('ServiceAccount', 'serviceaccounts');
export const LEASE: Resource<KubeObject> = kind('Lease', 'leases', 'coordination.k8s.io');
export const ROLE: Resource<KubeObject & { readonly rules: readonly unknown[] }> = kind(
  'Role',
  'roles',
  'rbac.authorization.k8s.io',
);
export const ROLE_BINDING: Resource<KubeObject & { readonly roleRef: unknown; readonly subjects: readonly unknown[] }> =
  kind('RoleBinding', 'rolebindings', 'rbac.authorization.k8s.io');
export const NAMESPACE: Resource<KubeObject> = kind('Namespace', 'namespaces', '', 'Cluster');

/** Asks until the answer is true; fails after `seconds` (120). */
export async function eventually(what: string, check: () => boolean | Promise<boolean>, seconds = 120): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs `work` for each item, `width` at a time. */
export async function each<I>(
  items: readonly I[],
  width: number,
  work: (item: I, n: number) => Promise<unknown>,
): Promise<void> {
  const entries = items.entries();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const [n, item] of entries) await work(item, n);
    }),
  );
}
