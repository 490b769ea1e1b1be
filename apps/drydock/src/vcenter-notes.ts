import { createHash } from 'node:crypto';
import { ConfigMap, readJson } from '@drydock/api';
import { type Client, type ConfigMapStore, configMapStore, isForbidden, isNotFound } from '@drydock/kube';
import type { Read, VCenterHealth } from '@drydock/page';
import { LEASE_NAMESPACE } from './status-notes.ts';

/** ConfigMap beside the Leases of the operator, in which who leads says how the vCenters are. */
export const VCENTERS = 'drydock-vcenters';

/** Of no use to anybody any more (ms). */
const FORGOTTEN_MS = 24 * 60 * 60_000;
/** What one vCenter may say. */
const MOST_DATASTORES = 200;

/** Where the operator says how vCenters are. */
export interface VCenterNotes {
  /** Rejects with `ApiError`. */
  readonly say: (health: VCenterHealth) => Promise<void>;
}

/** The notes of an operator, guarded by resourceVersion: what a former leader says late does not replace what is newer. */
export function vcenterNotes(client: Pick<Client, 'get' | 'create' | 'replace'>, namespace: string): VCenterNotes {
  const store: ConfigMapStore = configMapStore({ client, namespace, name: VCENTERS, component: 'vcenters' });
  return {
    say: async (health) => {
      await store.change(keyOf(health.server), (text) => {
        const before = text === undefined ? undefined : readHealth(text);
        const newer = before !== undefined && Date.parse(before.asOf) > Date.parse(health.asOf);
        return newer ? text : JSON.stringify(health);
      });
    },
  };
}

/** How the vCenters are, as the operator said it last; those of which nobody has spoken for a day are left out. */
export async function vcenterHealth(
  client: Pick<Client, 'get'>,
  {
    namespace = LEASE_NAMESPACE,
    now,
    signal,
  }: { readonly namespace?: string; readonly now: Date; readonly signal: AbortSignal },
): Promise<Read<readonly VCenterHealth[]>> {
  try {
    const { data = {} } = await client.get(ConfigMap, { namespace, name: VCENTERS }, { signal });
    const all = Object.values(data).flatMap((text) => readHealth(text) ?? []);
    const known = all.filter(({ asOf }) => now.getTime() - Date.parse(asOf) < FORGOTTEN_MS);
    return { kind: 'read', value: known.toSorted((a, b) => (a.server < b.server ? -1 : 1)) };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'read', value: [] };
    if (isForbidden(error)) return { kind: 'unread', why: (error as Error).message };
    throw error;
  }
}

/** What a text says, which anybody may have written who may write the ConfigMap; undefined where that is nothing. */
function readHealth(text: string): VCenterHealth | undefined {
  const value = parsed(text);
  if (!isObject(value)) return undefined;
  const { server, asOf, version, sessions, datastores, trouble } = value;
  if (typeof server !== 'string' || typeof asOf !== 'string' || Number.isNaN(Date.parse(asOf))) return undefined;
  const list: readonly unknown[] = Array.isArray(datastores) ? datastores.slice(0, MOST_DATASTORES) : [];
  return {
    ...{ server, asOf },
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof sessions === 'number' ? { sessions } : {}),
    datastores: list.flatMap((one) => readDatastore(one) ?? []),
    ...(typeof trouble === 'string' ? { trouble } : {}),
  };
}

function readDatastore(value: unknown): VCenterHealth['datastores'][number] | undefined {
  if (!isObject(value)) return undefined;
  const { path, failureDomains, accessible, free, capacity } = value;
  if (typeof path !== 'string' || typeof accessible !== 'boolean' || typeof free !== 'number') return undefined;
  const domains: readonly unknown[] = Array.isArray(failureDomains) ? failureDomains : [];
  return {
    ...{ path, accessible, free, failureDomains: domains.filter((one) => typeof one === 'string') },
    ...(typeof capacity === 'number' ? { capacity } : {}),
  };
}

function parsed(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names of servers may have characters that keys cannot have. */
function keyOf(server: string): string {
  return createHash('sha256').update(server).digest('hex').slice(0, 32);
}
