import { isObject, type Json, type JsonObject } from '@drydock/crd';
import type { KubeClient } from '@drydock/kube';
import type { Columns } from './wish.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

/** Asks each API server for a table of a kind: its columns are those of the definition that this server serves at this moment, whether there are objects or not. */
export function tableColumns(servers: (signal: AbortSignal) => Promise<readonly Pick<KubeClient, 'raw'>[]>): Columns {
  return async ({ group, version, plural }, signal) => {
    const all = await servers(signal);
    const path = `/apis/${group}/${version}/${plural}?limit=1`;
    return Promise.all(all.map(async (server) => namesIn(await server.raw({ path, accept: TABLE }, { signal }))));
  };
}

function namesIn(table: unknown): readonly string[] {
  const columns = isObject(table as Json) ? (table as JsonObject)['columnDefinitions'] : undefined;
  return (Array.isArray(columns) ? (columns as readonly Json[]) : []).flatMap((one) =>
    isObject(one) && typeof one['name'] === 'string' ? [one['name']] : [],
  );
}
