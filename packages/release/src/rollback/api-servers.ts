import {
  ApiError,
  type Clock,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Resource,
} from '@drydock/kube';
import { columnsAt } from './columns.ts';
import type { Columns } from './wish.ts';

/** discovery.k8s.io/v1: where the API servers behind Service default/kubernetes answer, each by itself. */
const SLICE: Resource<Slice> = {
  ...{ group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice', plural: 'endpointslices', scope: 'Namespaced' },
};

interface Slice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
}

/** What is needed to ask each API server. */
export interface ApiServersOptions {
  /** Reads who they are. */
  readonly client: Pick<KubeClient, 'list'>;
  /** Whoever answers at the address that everybody uses. */
  readonly own: Pick<KubeClient, 'raw'>;
  /** A client of one server; undefined: nobody may be asked but the usual one. */
  readonly at: ((server: string) => Pick<KubeClient, 'raw'>) | undefined;
  readonly clock: Clock;
}

/** A server that cannot be reached is left out for so long (ms): one that comes up later has the newest definitions. */
const UNREACHABLE = 60_000;

/**
 * {@link Columns} of every API server: of the one that answers at the usual address, and of each that can be reached by itself, for replicas begin to serve a definition one after the other. Where nobody may read
 * EndpointSlices, or none can be reached, as where only a load balancer can, it is the usual one alone.
 */
export function everyServer({ at, client, clock, own }: ApiServersOptions): Columns {
  const unreachable = new Map<string, number>();
  return async (resource, signal) => {
    const addresses = at === undefined ? [] : await apiServers(client, signal);
    const others = addresses.filter((one) => (unreachable.get(one) ?? Number.NEGATIVE_INFINITY) <= clock.now());
    const found = await Promise.all([
      columnsAt(own, resource, signal),
      ...others.map(async (address) => {
        const silence = AbortSignal.timeout(SILENT);
        const either = AbortSignal.any([signal, silence]);
        try {
          return at === undefined ? undefined : await columnsAt(at(address), resource, either);
        } catch (error) {
          if (silence.aborted && !signal.aborted) throw silent(address, error);
          if (!(error instanceof ApiError && NOT_THERE.has(error.code))) throw error;
          unreachable.set(address, clock.now() + UNREACHABLE);
          return undefined;
        }
      }),
    ]);
    return found.filter((one) => one !== undefined);
  };
}

/** ms that one server has for an answer: one that has taken the call and says nothing is there, and nobody knows what it serves. */
const SILENT = 5_000;

function silent(address: string, cause: unknown): ApiError {
  return new ApiError({ code: 'Timeout', action: `ask ${address} what it serves`, said: 'it says nothing', cause });
}

/** It is not an API server of this cluster, or not one that we can talk to. */
const NOT_THERE: ReadonlySet<string> = new Set(['Connection', 'Tls', 'Unauthorized', 'Forbidden']);

/** Addresses of the API servers, as `https://10.0.0.1:6443`; none where nobody may read them. Rejects with `ApiError`. */
export async function apiServers(client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<readonly string[]> {
  const where = { namespace: 'default', labels: 'kubernetes.io/service-name=kubernetes' };
  const found = new Set<string>();
  try {
    for await (const { endpoints, ports } of client.list(SLICE, where, { signal })) {
      const port = (ports ?? []).find(({ name }) => name === 'https')?.port;
      if (port === undefined) continue;
      for (const address of (endpoints ?? []).flatMap(({ addresses = [] }) => addresses))
        found.add(`https://${address.includes(':') ? `[${address}]` : address}:${port}`);
    }
  } catch (error) {
    if (!isForbidden(error) && !isNotFound(error)) throw error;
    return [];
  }
  return [...found].toSorted();
}
