import { type Crd, CrdError, readCrd, type ServerEra } from '@drydock/crd';
import {
  ApiError,
  type CallOptions,
  type Client,
  type KubeClient,
  type KubeObject,
  type Resource,
  withExact,
} from '@drydock/kube';

/** apiextensions.k8s.io/v1. */
export const CRD: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

/** Definitions of a cluster, and those of them that cannot be judged. */
export interface ClusterCrds {
  readonly crds: readonly Crd[];
  readonly unreadable: readonly { readonly crd: string; readonly why: string }[];
}

/** Every definition of a cluster. Rejects with `ApiError` where they cannot be listed at all. */
export async function clusterCrds(client: Pick<Client, 'list'>, options: CallOptions = {}): Promise<ClusterCrds> {
  const crds: Crd[] = [];
  const unreadable: { readonly crd: string; readonly why: string }[] = [];
  for await (const object of client.list(CRD, {}, options)) {
    const { name } = object.metadata;
    try {
      crds.push(readCrd(withExact({ kind: CRD.kind, ...object }, BigInt) as never, 'cluster'));
    } catch (error) {
      if (!(error instanceof CrdError)) throw error;
      unreadable.push({ crd: name, why: error.message });
    }
  }
  return { crds: crds.toSorted((a, b) => (a.name < b.name ? -1 : 1)), unreadable };
}

/** A server, and how much of it is known. */
export interface ClusterEra {
  readonly server: ServerEra;
  /** What was taken from its version alone, as sentences. */
  readonly notes: readonly string[];
}

/**
 * What a cluster's server is, as far as it says so. Whether ratcheting (KEP-4008) is on it says in its metrics: the gate was there from 1.28, on by default from 1.30 and always on from 1.33, unless an older version is emulated. With it the
 * main endpoint ratchets, and from 1.33 of the binary on the status, too. Who may not read the metrics gets what the version has by default, and a note.
 */
export async function clusterEra(client: Pick<KubeClient, 'raw'>, options: CallOptions = {}): Promise<ClusterEra> {
  const said = (await client.raw({ path: '/version' }, options)) as {
    readonly minor?: string;
    readonly emulationMinor?: string;
  };
  const binary = Number.parseInt(said.minor ?? '', 10);
  const emulated = Number.parseInt(said.emulationMinor ?? '', 10);
  const minor = Number.isNaN(emulated) ? binary : emulated;
  const known = eraOf(Number.isNaN(minor) ? 29 : minor);
  // There it cannot be turned off, and before it nobody has it.
  if (known.minor >= 33 || known.minor < 28) return { server: known, notes: [] };
  const gate = await ratchets(client, options);
  if (typeof gate === 'string') {
    const note = `Whether the server ratchets (the gate ${GATE}) is taken from its version: ${gate}. Where it was changed, say --era-now.`;
    return { server: known, notes: [note] };
  }
  return { server: { era: gate ? (binary >= 33 ? 'E2' : 'E1') : 'E0', minor: known.minor }, notes: [] };
}

const GATE = 'CRDValidationRatcheting';

/** What the metrics say of the gate, or why they say nothing. */
async function ratchets(client: Pick<KubeClient, 'raw'>, options: CallOptions): Promise<boolean | string> {
  try {
    const metrics = await client.raw({ path: '/metrics' }, options);
    const [, value] =
      new RegExp(`^kubernetes_feature_enabled\\{name="${GATE}"[^}]*\\} ([01])$`, 'm').exec(String(metrics)) ?? [];
    return value === undefined ? 'its metrics do not name it' : value === '1';
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    return `its metrics cannot be read (${error.code})`;
  }
}

/** The era that Kubernetes 1.`minor` has by default. */
export function eraOf(minor: number): ServerEra {
  return { era: minor >= 33 ? 'E2' : minor >= 30 ? 'E1' : 'E0', minor };
}
