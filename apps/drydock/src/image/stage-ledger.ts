import { Namespace } from '@drydock/api';
import { configMapStoreRules, isForbidden, isNotFound, type KubeClient } from '@drydock/kube';
import type { LedgerStore } from '@drydock/templates';
import { isAllowed } from '../access-review.ts';
import { elsewhereOf, leadershipOf } from '../leadership.ts';
import { ledgerFile, ledgerPath } from '../ledger-file.ts';
import { clusterLedger, OWNERSHIP } from '../ownership-ledger.ts';

/**
 * The ledger in which `drydock image stage` records what it imports: the cluster's, beside the Lease of the operator
 * that leads, or else in `leaseNamespace`. `stage` does not take the Lease: a change of the ledger is guarded by its
 * resourceVersion. Where this user may not write there, a file in `stateDir` instead, with a warning; the operator then
 * knows the templates by the mark key alone.
 */
export async function stageLedger(
  client: KubeClient,
  options: {
    readonly leaseNamespace: string;
    readonly stateDir: string;
    readonly warn: (message: string) => void;
    readonly signal: AbortSignal;
  },
): Promise<LedgerStore> {
  const { leaseNamespace, stateDir, warn, signal } = options;
  const leader = await leadershipOf(client, { role: 'boot-images', namespace: leaseNamespace }, { signal });
  const namespace = elsewhereOf(leader) ?? leaseNamespace;
  const obstacle = await obstacleIn(client, namespace, signal);
  if (obstacle === undefined) return clusterLedger(client, namespace);
  const path = ledgerPath(stateDir);
  warn(`${obstacle}, so ${path} records what is imported, and the operator knows it by the mark key alone`);
  return ledgerFile(path);
}

/** Why the cluster's ledger cannot be written, as a clause. */
async function obstacleIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.get(Namespace, { name: namespace }, { signal });
  } catch (error) {
    if (isNotFound(error)) return `there is no namespace ${namespace} (--lease-namespace)`;
    if (!isForbidden(error)) throw error;
  }
  const questions = configMapStoreRules([OWNERSHIP]).flatMap(({ verbs, resourceNames }) =>
    verbs.flatMap((verb) =>
      (resourceNames ?? [undefined]).map((name) => ({
        ...{ verb, group: '', resource: 'configmaps', namespace },
        ...(name === undefined ? {} : { name }),
      })),
    ),
  );
  const allowed = await Promise.all(questions.map((question) => isAllowed(client, question, signal)));
  const missing = questions.find((_, at) => allowed[at] !== true);
  if (missing === undefined) return undefined;
  const { verb, resource, name = '' } = missing;
  return `you may not ${verb} ${[resource, name].join(' ').trim()} in ${namespace}`;
}
