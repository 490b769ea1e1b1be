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
  /** Told of a server that is left out, once until it answers again. */
  readonly onLeftOut?: ((server: string, error: ApiError) => void) | undefined;
  readonly clock: Clock;
}

/** A server that cannot be reached is left out for so long (ms): one that comes up later has the newest definitions. */
const UNREACHABLE = 60_000;

/**
 * {@link Columns} of every API server: of the one that answers at the usual address, and of each that can be reached by itself, for replicas begin to serve a definition one after the other. Where nobody may read
 * EndpointSlices, or none can be reached, as where only a load balancer can, it is the usual one alone.
 */
export function everyServer({ at, client, clock, onLeftOut, own }: ApiServersOptions): Columns {
  const unreachable = new Map<string, number>();
  return async (resource, signal) => {
    const addresses = at === undefined ? [] : await apiServers(client, signal);
    const others = addresses.filter((one) => (unreachable.get(one) ?? Number.NEGATIVE_INFINITY) <= clock.now());
    const found = await Promise.all([
      columnsAt(own, resource, signal),
      ...others.map(async (address) => {
        if (at === undefined) return undefined;
        try {
          const columns = await heard(address, signal, (either) => columnsAt(at(address), resource, either));
          unreachable.delete(address);
          return columns;
        } catch (error) {
          if (!isNotThere(error)) throw error;
          if (!unreachable.has(address)) onLeftOut?.(address, error);
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

/** Asks one server; rejects with Timeout where it takes the call and says nothing. */
async function heard<T>(server: string, signal: AbortSignal, ask: (either: AbortSignal) => Promise<T>): Promise<T> {
  const silence = AbortSignal.timeout(SILENT);
  try {
    return await ask(AbortSignal.any([signal, silence]));
  } catch (error) {
    if (!silence.aborted || signal.aborted) throw error;
    throw new ApiError({
      ...{ code: 'Timeout', action: `ask ${server} what it serves`, said: 'it says nothing', cause: error },
    });
  }
}

/** It is not an API server of this cluster, or not one that we can talk to. */
const NOT_THERE: ReadonlySet<string> = new Set(['Connection', 'Tls', 'Unauthorized', 'Forbidden']);

function isNotThere(error: unknown): error is ApiError {
  return error instanceof ApiError && NOT_THERE.has(error.code);
}

/** Which API servers can be asked by themselves from where we are. */
export interface ServerSurvey {
  /** Those behind Service default/kubernetes, as far as anybody knows. */
  readonly servers: readonly string[];
  /** Those that cannot be asked, and why. */
  readonly unheard: readonly { readonly server: string; readonly why: string }[];
  /** Why nobody knows who they are. */
  readonly unknown?: string;
}

/**
 * Asks each API server once whether it is there, by reads alone. Of a single one nothing is asked: it is the one that answers at the usual address. Rejects with `ApiError` where the usual one cannot be asked.
 */
export async function surveyServers({
  at,
  client,
  signal,
}: Pick<ApiServersOptions, 'at' | 'client'> & { readonly signal: AbortSignal }): Promise<ServerSurvey> {
  let servers: readonly string[];
  try {
    servers = await listed(client, signal);
  } catch (error) {
    if (isNotFound(error)) return { servers: [], unheard: [] };
    if (!(error instanceof ApiError && isForbidden(error))) throw error;
    return { servers: [], unheard: [], unknown: error.message };
  }
  if (servers.length < 2) return { servers, unheard: [] };
  const asked = await Promise.all(
    servers.map(async (server) => {
      if (at === undefined) return { server, why: 'its certificate would not be looked at' };
      try {
        await heard(server, signal, (either) => at(server).raw({ path: '/version' }, { signal: either }));
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ApiError)) throw error;
        // One that answers with a failure is there, and is waited for.
        return NOT_THERE.has(error.code) || error.code === 'Timeout' ? { server, why: error.message } : undefined;
      }
    }),
  );
  return { servers, unheard: asked.filter((one) => one !== undefined) };
}

/** Addresses of the API servers, as `https://10.0.0.1:6443`; none where nobody may read them. Rejects with `ApiError`. */
async function apiServers(client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await listed(client, signal);
  } catch (error) {
    if (!isForbidden(error) && !isNotFound(error)) throw error;
    return [];
  }
}

async function listed(client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<readonly string[]> {
  const where = { namespace: 'default', labels: 'kubernetes.io/service-name=kubernetes' };
  const found = new Set<string>();
  for await (const { endpoints, ports } of client.list(SLICE, where, { signal })) {
    const port = (ports ?? []).find(({ name }) => name === 'https')?.port;
    if (port === undefined) continue;
    for (const address of (endpoints ?? []).flatMap(({ addresses = [] }) => addresses))
      found.add(`https://${address.includes(':') ? `[${address}]` : address}:${port}`);
  }
  return [...found].toSorted();
}
