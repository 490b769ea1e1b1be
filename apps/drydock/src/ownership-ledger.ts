import { type Client, configMapStore, isForbidden } from '@drydock/kube';
import type { LedgerStore } from '@drydock/templates';

/**
 * ConfigMaps beside the Leases of the operator, `drydock-ownership-0` to `-3`. One ConfigMap could not hold the records
 * of thousands of templates.
 */
export const OWNERSHIP = { name: 'drydock-ownership', shards: 4 } as const;

const COMPONENT = 'ownership';

/** How long (ms) a read counts: a reconcile of 1,000 machine sets asks for each of them. */
const FRESH_MS = 2_000;

type Records = ReadonlyMap<string, string>;

/**
 * The ownership ledger of a cluster, for processes that write. A read counts for two seconds, and reads at the same
 * time share one request. A change of this process counts at once; a change of another process is seen within two
 * seconds, and `change` itself always starts from the stored text. Both methods reject with `ApiError` when the API
 * server cannot be asked: an unknown ledger never reads as an empty one. ConfigMaps that do not exist are an empty
 * ledger.
 */
export function clusterLedger(
  client: Pick<Client, 'get' | 'create' | 'replace'>,
  namespace: string,
  now: () => number = () => performance.now(),
): LedgerStore {
  const store = configMapStore({ ...OWNERSHIP, client, namespace, component: COMPONENT });
  let last: { readonly at: number; readonly records: Promise<Records> } | undefined;
  const remember = (at: number, records: Promise<Records>): Promise<Records> => {
    const mine = { at, records };
    last = mine;
    records.catch(() => {
      if (last === mine) last = undefined;
    });
    return records;
  };
  return {
    kind: 'cluster',
    read: () => {
      const at = now();
      return last !== undefined && at - last.at < FRESH_MS ? last.records : remember(at, store.read());
    },
    change: async (key, next) => {
      try {
        const after = await store.change(key, next);
        // A read under way may have passed before this change.
        if (last !== undefined)
          void remember(
            last.at,
            last.records.then((records) => withRecord(records, key, after)),
          );
        return after;
      } catch (error) {
        // The change may be stored although its answer was lost.
        last = undefined;
        throw error;
      }
    },
  };
}

/**
 * The ownership ledger of a cluster, for commands that only look. `change` never writes: it resolves to the text that
 * is there, without calling `next`. Where the user may not read the ConfigMaps, `onForbidden` is called once, and the
 * ledger is an empty one of kind `file`, which vouches for nothing. So ask for `kind` after `read`.
 */
export function readClusterLedger(
  client: Pick<Client, 'get'>,
  namespace: string,
  onForbidden: (message: string) => void,
): LedgerStore {
  const ledger = clusterLedger({ get: client.get.bind(client), create: refuse, replace: refuse }, namespace);
  let forbidden = false;
  const read = async (): Promise<Records> => {
    if (forbidden) return new Map();
    try {
      return await ledger.read();
    } catch (error) {
      if (!isForbidden(error)) throw error;
      if (!forbidden)
        onForbidden(
          `You may not read which templates Drydock owns (ConfigMaps ${OWNERSHIP.name}-0 to -${OWNERSHIP.shards - 1} in ${namespace}): templates may be shown as not owned`,
        );
      forbidden = true;
      return new Map();
    }
  };
  return {
    get kind() {
      return forbidden ? 'file' : 'cluster';
    },
    read,
    change: async (key) => (await read()).get(key),
  };
}

function withRecord(records: Records, key: string, text: string | undefined): Records {
  const all = new Map(records);
  if (text === undefined) all.delete(key);
  else all.set(key, text);
  return all;
}

function refuse(): never {
  throw new Error('a command that only looks does not write the ownership ledger');
}
