import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readManifests } from '@drydock/crd';
import type { KubeClient, PolicyRule } from '@drydock/kube';
import { type AccessQuestion, isAllowed } from '../access-review.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import type { Line } from './finding.ts';

const RBAC = join(import.meta.dirname, '../../../../deploy/rbac');
const AT_A_TIME = 8;

/** Whether whoever asks may do what a role of the operator does, rule by rule as `deploy/rbac` has them. */
export async function rightsLine(
  client: Pick<KubeClient, 'raw'>,
  { role, leaseNamespace }: { readonly role: string; readonly leaseNamespace: string },
  signal: AbortSignal,
): Promise<Line> {
  const rights = rightsOf(role, leaseNamespace);
  if (rights.length === 0)
    return { name: role, state: 'skip', undecided: true, detail: `${RBAC} is not there, which says what to ask for` };
  const granted: boolean[] = [];
  let next = 0;
  const ask = async (): Promise<void> => {
    for (let at = next++; at < rights.length; at = next++) {
      const right = rights[at];
      if (right !== undefined) granted[at] = await isAllowed(client, right, signal);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, ask));
  const missing = rights.filter((_, at) => granted[at] !== true);
  const name = role;
  if (missing.length === 0) return { name, state: 'ok', detail: `all ${rights.length} rights of the role are granted` };
  const some = missing.slice(0, 3).map(rightText).join('; ');
  const more = missing.length > 3 ? `; and ${missing.length - 3} more` : '';
  const advice = `kubectl apply -k deploy/rbac/${role}, and ask as --as system:serviceaccount:drydock:drydock-${role === 'cluster-api' ? 'boot-images' : role}`;
  return {
    name,
    state: 'FAIL',
    detail: `${missing.length} of ${rights.length} rights are missing: ${some}${more}`,
    next: advice,
  };
}

/** What is read of a manifest; only Roles and ClusterRoles have rules. */
interface Manifest {
  readonly metadata?: { readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
}

/** The rules of a role, each verb on each resource and name by itself. Those of `machines` depend on where there are machines. */
function rightsOf(role: string, leaseNamespace: string): readonly AccessQuestion[] {
  return globSync(join(RBAC, role, '*.yaml'))
    .toSorted()
    .flatMap((file) =>
      readManifests(readFileSync(file, 'utf8'), file).flatMap((manifest) => {
        const { metadata = {}, rules = [] } = manifest as unknown as Manifest;
        const { namespace } = metadata;
        return rules.flatMap((rule) => spread(rule, besideLease(rule, namespace) ? leaseNamespace : namespace));
      }),
    );
}

/** Rules for what the operator keeps of its own, which goes where its Leases go. */
function besideLease({ resources, resourceNames = [], verbs }: PolicyRule, namespace: string | undefined): boolean {
  if (namespace !== LEASE_NAMESPACE) return false;
  const own = resourceNames.some((name) => name.startsWith('drydock-'));
  return own || (resourceNames.length === 0 && verbs.includes('create') && !resources.includes('secrets'));
}

function spread(
  { apiGroups, resources, resourceNames, verbs }: PolicyRule,
  namespace: string | undefined,
): readonly AccessQuestion[] {
  const names = resourceNames ?? [undefined];
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) =>
      names.flatMap((name) =>
        verbs.map((verb): AccessQuestion => {
          const [resource = '', subresource] = path.split('/');
          return {
            ...{ verb, group, resource },
            ...(subresource === undefined ? {} : { subresource }),
            ...(namespace === undefined ? {} : { namespace }),
            ...(name === undefined ? {} : { name }),
          };
        }),
      ),
    ),
  );
}

function rightText({ verb, group, resource, subresource, namespace, name }: AccessQuestion): string {
  const kind = `${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
  return `${verb} ${kind}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}
