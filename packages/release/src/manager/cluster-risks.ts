import { ClusterOperator, type ClusterVersion, ConfigMap } from '@drydock/api';
import { type CallOptions, isNotFound, type KubeClient } from '@drydock/kube';
import { notUpgradeableOperators, type UpgradeRisk, upgradeRisks } from '../state/upgradeable.ts';

const GATES = { namespace: 'openshift-config-managed', name: 'admin-gates' };
const ACKS = { namespace: 'openshift-config', name: 'admin-acks' };

/** What of an OpenShift cluster stands against another minor: gates that an administrator has not opened, and operators that say so. Rejects with `ApiError`. */
export async function clusterRisks(
  client: KubeClient,
  { status }: ClusterVersion,
  call: CallOptions,
): Promise<readonly UpgradeRisk[]> {
  const textsOf = async (key: typeof GATES): Promise<Readonly<Record<string, string>>> => {
    try {
      return (await client.get(ConfigMap, key, call)).data ?? {};
    } catch (error) {
      if (isNotFound(error)) return {};
      throw error;
    }
  };
  return upgradeRisks({
    version: status?.history?.[0]?.version ?? '',
    ...{ updating: false, overridden: [], deleting: [] },
    gates: await textsOf(GATES),
    acks: await textsOf(ACKS),
    operators: notUpgradeableOperators(await operatorsOf(client, call)),
  });
}

/** The kind is brought by the first release: before it there are none. */
async function operatorsOf(client: KubeClient, call: CallOptions): Promise<readonly ClusterOperator[]> {
  try {
    return await Array.fromAsync(client.list(ClusterOperator, {}, call));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
