import { ADMISSION_KINDS, type JsonObject, type LabelsOf } from '@drydock/crd';
import { ApiError, type CallOptions, type Client, type KubeObject, type Resource } from '@drydock/kube';
import { backendOf, type ServiceReference } from './conversion-backend.ts';

/** Who is asked about writes in a cluster, and whose writes cannot work. */
export interface ClusterAdmission {
  /** Configurations of webhooks, and policies. */
  readonly configurations: readonly JsonObject[];
  /** Bindings of policies. */
  readonly bindings: readonly JsonObject[];
  /** `KIND NAME` of configurations with a webhook that fails closed and behind which nobody answers, with the reason: no Service, or no ready endpoint. */
  readonly headless: ReadonlyMap<string, string>;
  /** Labels of namespaces, by which webhooks are narrowed; unknown where none is, or where they may not be read. */
  readonly labelsOf: LabelsOf;
  /** What could not be read, as sentences: a preflight does without. */
  readonly notes: readonly string[];
}

const GROUP = 'admissionregistration.k8s.io';
const NAMESPACE: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  scope: 'Cluster',
};

function resource(kind: string): Resource<KubeObject> {
  const plural = kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`;
  return { group: GROUP, version: 'v1', kind, plural: plural.toLowerCase(), scope: 'Cluster' };
}

/** Reads the configurations of admission. What may not be read is a note, what this server does not have is nothing. */
export async function clusterAdmission(
  client: Pick<Client, 'list' | 'get'>,
  options: CallOptions = {},
): Promise<ClusterAdmission> {
  const configurations: JsonObject[] = [];
  const bindings: JsonObject[] = [];
  const unread: string[] = [];
  const read = async (kind: string, into: JsonObject[], from = resource(kind)): Promise<void> => {
    try {
      for await (const object of client.list(from, {}, options)) into.push({ kind, ...object } as never);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'NotFound') return;
      unread.push(`${kind} (${error.code})`);
    }
  };
  for (const kind of ADMISSION_KINDS) await read(kind, configurations);
  for (const kind of ['ValidatingAdmissionPolicyBinding', 'MutatingAdmissionPolicyBinding']) await read(kind, bindings);
  const namespaces: JsonObject[] = [];
  if (configurations.length > 0 && isNarrowed([...configurations, ...bindings]))
    await read('Namespace', namespaces, NAMESPACE);
  const headless = new Map<string, string>();
  for (const configuration of configurations) {
    const { kind, metadata } = configuration as { kind: string; metadata: { name: string } };
    const why = await lacksBackend(client, configuration, options);
    if (why !== undefined) headless.set(`${kind} ${metadata.name}`, why);
  }
  const notes =
    unread.length === 0
      ? []
      : [
          `What is asked about writes could not be read, and is not considered: ${unread.toSorted((a, b) => a.localeCompare(b)).join(', ')}.`,
        ];
  const labels = new Map(
    (namespaces as unknown as readonly KubeObject[]).map(({ metadata }) => [metadata.name, metadata.labels ?? {}]),
  );
  return { configurations, bindings, headless, labelsOf: (namespace) => labels.get(namespace), notes };
}

/** Whether any of them asks for labels of namespaces, which are read only then. */
function isNarrowed(configurations: readonly JsonObject[]): boolean {
  return /"namespaceSelector":\{"|namespaceObject/.test(JSON.stringify(configurations));
}

interface Hook {
  readonly failurePolicy?: string;
  readonly clientConfig?: { readonly service?: ServiceReference };
}

async function lacksBackend(
  client: Pick<Client, 'list' | 'get'>,
  configuration: JsonObject,
  options: CallOptions,
): Promise<string | undefined> {
  const { webhooks = [] } = configuration as { webhooks?: readonly Hook[] };
  for (const { clientConfig: { service } = {}, failurePolicy = 'Fail' } of webhooks) {
    if (failurePolicy !== 'Fail' || service === undefined) continue;
    const backend = await backendOf(client, service, options);
    if (backend?.answers === false) return backend.why;
  }
  return undefined;
}
