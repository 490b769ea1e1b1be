import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClusterOperator, type ClusterVersion, ConfigMap } from '@drydock/api';
import { ApiError, type KubeClient } from '@drydock/kube';
import { clusterRisks } from './cluster-risks.ts';

const absent = (what: string): ApiError =>
  new ApiError({ code: 'NotFound', action: what, said: '404 page not found', status: 404 });
const version = {
  metadata: { name: 'version' },
  status: { history: [{ version: '4.17.0' }] },
} as unknown as ClusterVersion;

/** A cluster with these ClusterOperators; undefined: it does not serve the kind. */
function cluster(operators: readonly ClusterOperator[] | undefined): KubeClient {
  const get = async (resource: unknown): Promise<never> => {
    throw absent(resource === ConfigMap ? 'get ConfigMap' : 'get');
  };
  async function* list(): AsyncGenerator<ClusterOperator> {
    if (operators === undefined) throw absent('list ClusterOperators');
    yield* operators;
  }
  return { get, list } as unknown as KubeClient;
}

test('a cluster that does not serve ClusterOperators yet has none that stands against a release: the first one brings their kind', async () => {
  assert.deepEqual(await clusterRisks(cluster(undefined), version, {}), []);
  const conditions = [{ type: 'Upgradeable', status: 'False', reason: 'Old', message: 'nodes are too old' }];
  const etcd = { metadata: { name: 'etcd' }, status: { conditions } } as unknown as ClusterOperator;
  const [risk] = await clusterRisks(cluster([etcd]), version, {});
  assert.match(JSON.stringify(risk), /nodes are too old/);
});
