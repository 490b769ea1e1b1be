import { Lease } from '@drydock/api';
import { ApiError, type Client, isForbidden, isNotFound, type NotedStatus, readStatusNote } from '@drydock/kube';

/** Where the roles have their Leases, unless they are told otherwise. */
export const LEASE_NAMESPACE = 'openshift-machine-config-operator';

/** Leases of the roles that write statuses. */
const LEASES = ['drydock-boot-images', 'drydock-watch', 'drydock-release'];

/** What the operator says of statuses that it cannot write, or not whole. */
export interface StatusNotes {
  readonly noted: readonly NotedStatus[];
  /** How many more there are than are named. */
  readonly more: number;
  /** When it was said (RFC 3339): no later than the operator last held its Lease. */
  readonly asOf: string;
}

/** Reads the notes on the Leases; undefined where nothing is wrong, or nobody says so. Without the right to read Leases nothing is known. */
export async function statusNotes(
  client: Pick<Client, 'get'>,
  namespace: string = LEASE_NAMESPACE,
): Promise<StatusNotes | undefined> {
  const leases = await Promise.all(LEASES.map((name) => leaseOf(client, namespace, name)));
  const noted = new Map<string, NotedStatus>();
  let [more, asOf] = [0, ''];
  for (const lease of leases) {
    const note = readStatusNote(lease?.metadata.annotations);
    if (note === undefined) continue;
    // Roles of one process say the same on both.
    for (const one of note.named) noted.set(`${one.definition} ${one.object}`, one);
    more = Math.max(more, note.more);
    asOf = [asOf, lease?.spec?.renewTime ?? ''].toSorted().at(-1) ?? '';
  }
  return noted.size === 0 ? undefined : { noted: [...noted.values()], more, asOf };
}

async function leaseOf(client: Pick<Client, 'get'>, namespace: string, name: string): Promise<Lease | undefined> {
  try {
    return await client.get(Lease, { namespace, name });
  } catch (error) {
    if (error instanceof ApiError && (isNotFound(error) || isForbidden(error))) return undefined;
    throw error;
  }
}
