import type { Backend, Crd } from '@drydock/crd';
import { ApiError, type CallOptions, type Client, type KubeObject, type Resource } from '@drydock/kube';

/** Where the Service of a webhook is. */
export interface ServiceReference {
  readonly namespace?: string;
  readonly name?: string;
}

const SERVICE: Resource<KubeObject & { readonly spec?: { readonly type?: string } }> = {
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  scope: 'Namespaced',
};

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly conditions?: { readonly ready?: boolean } }[] | null;
}

const SLICE: Resource<EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  scope: 'Namespaced',
};

/** Whether a Service is there; unknown where Services may not be read. `external`: whoever answers is not in this cluster. */
async function serviceIn(
  client: Pick<Client, 'get'>,
  { name = '', namespace = '' }: ServiceReference,
  options: CallOptions,
): Promise<'there' | 'external' | 'absent' | 'unknown'> {
  try {
    const { spec } = await client.get(SERVICE, { namespace, name }, options);
    return spec?.type === 'ExternalName' ? 'external' : 'there';
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    return error.code === 'NotFound' ? 'absent' : 'unknown';
  }
}

/**
 * Who answers to the conversion webhooks of definitions: whether their Services are there, and ready endpoints behind them. What lies outside the cluster, what may not be read and what the target brings itself
 * (`NAMESPACE/NAME` in `brought`) is left out.
 */
export async function conversionBackends(
  client: Pick<Client, 'get' | 'list'>,
  crds: readonly Crd[],
  { brought = new Set(), ...options }: CallOptions & { readonly brought?: ReadonlySet<string> } = {},
): Promise<ReadonlyMap<string, Backend>> {
  const backends = new Map<string, Backend>();
  // Definitions of one project mostly share one Service.
  const asked = new Map<string, Backend | undefined>();
  for (const crd of crds) {
    const service = converterOf(crd);
    if (service === undefined) continue;
    const place = `${service.namespace ?? ''}/${service.name ?? ''}`;
    if (brought.has(place)) continue;
    if (!asked.has(place)) asked.set(place, await backendOf(client, service, options));
    const backend = asked.get(place);
    if (backend !== undefined) backends.set(crd.name, backend);
  }
  return backends;
}

/** Whether anybody answers behind a Service, and if not, why; undefined for what lies outside the cluster or may not be read. */
export async function backendOf(
  client: Pick<Client, 'get' | 'list'>,
  service: ServiceReference,
  options: CallOptions,
): Promise<Backend | undefined> {
  const place = `${service.namespace ?? ''}/${service.name ?? ''}`;
  const found = await serviceIn(client, service, options);
  if (found === 'absent') return { answers: false, why: `its Service ${place} is not there` };
  if (found !== 'there') return undefined;
  const labels = `kubernetes.io/service-name=${service.name ?? ''}`;
  try {
    // What is not said of an endpoint is taken as ready (discovery.k8s.io/v1).
    for await (const { endpoints } of client.list(SLICE, { namespace: service.namespace ?? '', labels }, options))
      if (endpoints?.some(({ conditions }) => conditions?.ready !== false) === true) return { answers: true };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  }
  return { answers: false, why: `its Service ${place} has no endpoint that is ready` };
}

function converterOf({ conversion, manifest }: Crd): ServiceReference | undefined {
  if (conversion !== 'Webhook') return undefined;
  const { spec } = manifest as {
    readonly spec?: {
      readonly conversion?: { readonly webhook?: { readonly clientConfig?: { readonly service?: ServiceReference } } };
    };
  };
  return spec?.conversion?.webhook?.clientConfig?.service;
}
