import { isObject, type Json, type JsonObject } from '@drydock/crd';
import type { KubeClient, KubeObject, Resource } from '@drydock/kube';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

/** Names of the columns in which one API server shows a kind: those of the definition that it serves at this moment, whether there are objects or not. Rejects with `ApiError`. */
export async function columnsAt(
  server: Pick<KubeClient, 'raw'>,
  { group, plural, version }: Resource<KubeObject>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const table = await server.raw({ path: `/apis/${group}/${version}/${plural}?limit=1`, accept: TABLE }, { signal });
  const columns = isObject(table as Json) ? (table as JsonObject)['columnDefinitions'] : undefined;
  return (Array.isArray(columns) ? (columns as readonly Json[]) : []).flatMap((one) =>
    isObject(one) && typeof one['name'] === 'string' ? [one['name']] : [],
  );
}
