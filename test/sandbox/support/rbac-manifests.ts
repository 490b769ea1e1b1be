import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isAlreadyExists, type KubeClient, type KubeObject, type PolicyRule, type Resource } from '@drydock/kube';
import { parse, parseAllDocuments } from 'yaml';
import type { ApiCall } from './audit-log.ts';

/** An object of `deploy`, as it is in its file. */
export interface Manifest extends KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly rules?: readonly PolicyRule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** One rule that a ServiceAccount has, and where. */
export interface Grant {
  /** `Role kube-system/drydock-watch`, for people. */
  readonly role: string;
  /** Absent: everywhere. */
  readonly namespace?: string;
  readonly rule: PolicyRule;
}

/** Namespace of the ServiceAccounts. */
export const accountNamespace = 'drydock';

const RBAC = 'rbac.authorization.k8s.io';
const of = (kind: string, plural: string, group: string, scope: 'Cluster' | 'Namespaced'): Resource<Manifest> => ({
  ...{ kind, plural, group, scope },
  version: 'v1',
});
/** Every kind that `deploy` has any business with. */
const KINDS: readonly Resource<Manifest>[] = [
  of('Namespace', 'namespaces', '', 'Cluster'),
  of('ConfigMap', 'configmaps', '', 'Namespaced'),
  of('Secret', 'secrets', '', 'Namespaced'),
  of('Deployment', 'deployments', 'apps', 'Namespaced'),
  of('DaemonSet', 'daemonsets', 'apps', 'Namespaced'),
  of('NetworkPolicy', 'networkpolicies', 'networking.k8s.io', 'Namespaced'),
  of('ValidatingAdmissionPolicy', 'validatingadmissionpolicies', 'admissionregistration.k8s.io', 'Cluster'),
  of(
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    'admissionregistration.k8s.io',
    'Cluster',
  ),
  of('Service', 'services', '', 'Namespaced'),
  of('PodDisruptionBudget', 'poddisruptionbudgets', 'policy', 'Namespaced'),
  of('ServiceMonitor', 'servicemonitors', 'monitoring.coreos.com', 'Namespaced'),
  of('PrometheusRule', 'prometheusrules', 'monitoring.coreos.com', 'Namespaced'),
  of('ServiceAccount', 'serviceaccounts', '', 'Namespaced'),
  of('Role', 'roles', RBAC, 'Namespaced'),
  of('RoleBinding', 'rolebindings', RBAC, 'Namespaced'),
  of('ClusterRole', 'clusterroles', RBAC, 'Cluster'),
  of('ClusterRoleBinding', 'clusterrolebindings', RBAC, 'Cluster'),
];

const base = resolve(import.meta.dirname, '../../../deploy/rbac');

/** Everything that a kustomization names, by its folder from `deploy/rbac`. It lists files and nothing else, so that what is read is what `kubectl apply -k` applies. */
export function manifestsOf(kustomization: string): readonly Manifest[] {
  const folder = join(base, kustomization);
  const { apiVersion, kind, resources, ...more } = parse(
    readFileSync(join(folder, 'kustomization.yaml'), 'utf8'),
  ) as Readonly<Record<string, unknown>>;
  if (apiVersion !== 'kustomize.config.k8s.io/v1beta1' || kind !== 'Kustomization' || Object.keys(more).length > 0)
    throw new Error(`${folder}/kustomization.yaml does more than to list: ${Object.keys(more).join(', ')}`);
  return (resources as readonly string[]).flatMap((name) => {
    if (!name.endsWith('.yaml')) return manifestsOf(join(kustomization, name));
    const documents = parseAllDocuments(readFileSync(join(folder, name), 'utf8'));
    return documents.map((document) => document.toJS() as Manifest);
  });
}

/** The kind of a manifest. */
export function kindOf({ kind }: Manifest): Resource<Manifest> {
  const found = KINDS.find((known) => known.kind === kind);
  if (found === undefined) throw new Error(`deploy has no business with a ${kind}`);
  return found;
}

/** The objects with a namespace for those that leave it to `kubectl apply --namespace`. */
export function inNamespace(manifests: readonly Manifest[], namespace: string): readonly Manifest[] {
  return manifests.map((one) => ({ ...one, metadata: { namespace, ...one.metadata } }));
}

/** Creates the objects. The server refuses a field that it does not know. */
export async function apply(client: Pick<KubeClient, 'raw'>, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    const { group, version, plural } = kindOf(manifest);
    const { namespace } = manifest.metadata;
    const api = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const path = `${api}${within}/${plural}?fieldValidation=Strict`;
    try {
      await client.raw({ method: 'POST', path, body: manifest });
    } catch (error) {
      // Whoever made the Secret of the mark key made the namespace first, and Secrets with old stubs outlive an uninstallation: what the manifest says is added.
      if (!['Namespace', 'Secret'].includes(manifest.kind) || !isAlreadyExists(error)) throw error;
      const live = `${api}${within}/${plural}/${manifest.metadata.name}?fieldValidation=Strict`;
      await client.raw({ method: 'PATCH', path: live, body: manifest, contentType: 'application/merge-patch+json' });
    }
  }
}

/** What the manifests give to a ServiceAccount: each rule of each role that is bound to it, once. */
export function grantsTo(account: string, manifests: readonly Manifest[]): readonly Grant[] {
  return manifests.flatMap(({ kind, metadata: { namespace }, roleRef, subjects = [] }) => {
    const bound = subjects.some((one) => one.name === account && one.namespace === accountNamespace);
    if (!bound || roleRef === undefined) return [];
    const within = roleRef.kind === 'Role' ? namespace : undefined;
    const role = manifests.find(
      (one) => one.kind === roleRef.kind && one.metadata.name === roleRef.name && one.metadata.namespace === within,
    );
    if (role?.rules === undefined)
      throw new Error(`${kind} refers to ${roleRef.kind} ${roleRef.name}, which is not there`);
    const name = `${roleRef.kind} ${within === undefined ? '' : `${within}/`}${roleRef.name}`;
    return role.rules.map((rule) => ({ role: name, rule, ...(namespace === undefined ? {} : { namespace }) }));
  });
}

/** Whether a grant permits a call, as the API server's RBAC authorizer judges. */
export function permits({ namespace, rule }: Grant, call: Omit<ApiCall, 'user' | 'code'>): boolean {
  const { apiGroups, resources, verbs, resourceNames } = rule;
  return (
    (namespace === undefined || namespace === call.namespace) &&
    apiGroups.includes(call.group) &&
    resources.includes(call.resource) &&
    verbs.includes(call.verb) &&
    (resourceNames === undefined || resourceNames.includes(call.name))
  );
}

/** A rule on one line, for people. */
export function grantText({ role, rule }: Grant): string {
  const { apiGroups, resources, resourceNames = [], verbs } = rule;
  const names = resourceNames.length === 0 ? '' : ` ${resourceNames.join(',')}`;
  return `${role}: ${verbs.join(',')} ${resources.join(',')}.${apiGroups.join(',')}${names}`;
}
