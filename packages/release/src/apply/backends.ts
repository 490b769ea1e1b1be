import type { JsonObject } from '@drydock/crd';
import type { KubeClient, KubeObject, Resource } from '@drydock/kube';
import type { Manifest } from '../payload/manifest.ts';
import { backendsOf } from './health/health.ts';
import { objectIn, objectsIn } from './json.ts';

const ENDPOINT_SLICE: Resource<KubeObject> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  scope: 'Namespaced',
};

/** The first service that a webhook configuration leads to and behind which nothing is ready, as a clause; undefined where all answer. Rejects with `ApiError`. */
export async function missingBackend(
  client: Pick<KubeClient, 'list'>,
  manifest: Manifest,
  live: JsonObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { namespace, name } of backendsOf(manifest, live)) {
    const where = { namespace, labels: `kubernetes.io/service-name=${name}` };
    let ready = false;
    for await (const slice of client.list(ENDPOINT_SLICE, where, { signal })) {
      const endpoints = objectsIn(slice as unknown as JsonObject, 'endpoints');
      // Absent is unknown, which counts as ready (discovery.k8s.io/v1).
      ready ||= endpoints.some((one) => objectIn(one, 'conditions')['ready'] !== false);
    }
    if (!ready) return `nothing behind Service ${namespace}/${name} is ready`;
  }
  return undefined;
}
