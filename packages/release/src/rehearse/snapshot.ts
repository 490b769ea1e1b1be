import { ConfigMap } from '@drydock/api';
import { type Crd, type JsonObject, LEDGER_COMPONENT, type LedgerEntry, readRecord } from '@drydock/crd';
import { isNotFound, type KubeClient, type KubeObject, keyOf, keyText, type Resource } from '@drydock/kube';
import { ALIVE } from './operator-status.ts';

/** Every object of the kinds that a rehearsal is about, by `plural.group NAMESPACE/NAME`. */
export type Snapshot = ReadonlyMap<string, JsonObject>;

/** The kind of a definition in the version that it stores. */
export function resourceOf({ group, kind, plural, scope, versions }: Crd): Resource<KubeObject> | undefined {
  const version = versions.find((one) => one.storage && one.served)?.name;
  return version === undefined ? undefined : { group, version, kind, plural, scope };
}

/** Looks at all of them. */
export async function snapshot(
  client: Pick<KubeClient, 'list'>,
  crds: Iterable<Crd>,
  signal: AbortSignal,
): Promise<Snapshot> {
  const found = new Map<string, JsonObject>();
  for (const crd of crds) {
    const resource = resourceOf(crd);
    if (resource === undefined) continue;
    try {
      for await (const one of client.list(resource, {}, { signal }))
        found.set(`${crd.name} ${keyText(keyOf(one))}`, bodyOf(one as unknown as JsonObject));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return found;
}

/** What belongs to its users: neither what the server keeps about it, nor that its operator is alive. */
function bodyOf({ apiVersion: _version, kind: _kind, metadata, ...body }: JsonObject): JsonObject {
  const { labels = {} } = metadata as { readonly labels?: JsonObject };
  const status = body['status'] as JsonObject | undefined;
  const conditions = status?.['conditions'] as readonly JsonObject[] | undefined;
  if (status === undefined || conditions === undefined) return { ...body, labels };
  const { conditions: _conditions, ...rest } = status;
  const others = conditions.filter(({ type }) => type !== ALIVE);
  return { ...body, labels, status: others.length === 0 ? rest : { ...rest, conditions: others } };
}

/** A value that a ledger keeps. */
export interface KeptValue {
  /** `NAMESPACE/NAME`. */
  readonly object: string;
  readonly entry: LedgerEntry;
}

/** Everything that ledgers of the cluster keep. What cannot be read is left out: then it counts as lost. */
export async function keptValues(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly KeptValue[]> {
  const kept: KeptValue[] = [];
  const labels = `app.kubernetes.io/component=${LEDGER_COMPONENT}`;
  for await (const { data = {} } of client.list(ConfigMap, { namespace, labels }, { signal }))
    for (const text of Object.values(data)) {
      try {
        const { entries, object } = readRecord(text);
        kept.push(...entries.map((entry) => ({ object, entry })));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
  return kept;
}
