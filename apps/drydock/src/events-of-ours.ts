import { Event } from '@drydock/api';
import { type Client, isForbidden, isNotFound } from '@drydock/kube';

/** Who reports Events of ours. The server selects by one name at a time, and all other programs of a cluster make far more. */
export const REPORTERS: readonly string[] = ['boot-images', 'cluster-api', 'release', 'status'].map(
  (role) => `drydock.dev/${role}`,
);

/** All Events of ours in all namespaces; `unread` says why there are none where they may not be listed. */
export async function eventsOfOurs(
  client: Pick<Client, 'list'>,
  signal: AbortSignal,
): Promise<{ readonly events: readonly Event[]; readonly unread: readonly string[] }> {
  try {
    const lists = REPORTERS.map((reporter) =>
      Array.fromAsync(client.list(Event, { fields: `reportingController=${reporter}` }, { signal })),
    );
    return { events: (await Promise.all(lists)).flat(), unread: [] };
  } catch (error) {
    signal.throwIfAborted();
    if (isNotFound(error)) return { events: [], unread: [] };
    if (isForbidden(error)) return { events: [], unread: [error instanceof Error ? error.message : String(error)] };
    throw error;
  }
}
