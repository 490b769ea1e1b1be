import { type Crd, CrdError, readCrd, type ServerEra } from '@drydock/crd';
import type { CallOptions, Client, KubeClient, KubeObject, Resource } from '@drydock/kube';

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
      crds.push(readCrd({ kind: CRD.kind, ...object } as never, 'cluster'));
    } catch (error) {
      if (!(error instanceof CrdError)) throw error;
      unreadable.push({ crd: name, why: error.message });
    }
  }
  return { crds: crds.toSorted((a, b) => (a.name < b.name ? -1 : 1)), unreadable };
}

/**
 * What a cluster's server is, as far as it says so. Ratcheting (KEP-4008) is taken as its version has it by default: from 1.30 on the main endpoint, from 1.33 on both. A gate that was turned off does not
 * show in `/version`; an emulated version does.
 */
export async function serverMinor(client: Pick<KubeClient, 'raw'>, options: CallOptions = {}): Promise<ServerEra> {
  const said = (await client.raw({ path: '/version' }, options)) as {
    readonly minor?: string;
    readonly emulationMinor?: string;
  };
  const binary = Number.parseInt(said.minor ?? '', 10);
  const emulated = Number.parseInt(said.emulationMinor ?? '', 10);
  const minor = Number.isNaN(emulated) ? binary : emulated;
  return eraOf(Number.isNaN(minor) ? 29 : minor);
}

/** The era that Kubernetes 1.`minor` has by default. */
export function eraOf(minor: number): ServerEra {
  return { era: minor >= 33 ? 'E2' : minor >= 30 ? 'E1' : 'E0', minor };
}
