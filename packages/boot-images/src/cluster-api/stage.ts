import { BootImagePolicy, Namespace } from '@drydock/api';
import { type Client, ifFound, type KubeClient, keyOf, keyText } from '@drydock/kube';
import type { Placement, TemplateWish } from '@drydock/templates';
import { architectureOf, catalogueImage, type WantedImage } from './catalogue.ts';
import { type IdentitySources, serverOf } from './identity.ts';
import { imageLeafOf } from './image-leaf.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import type { Rotation } from './rotation.ts';
import { isRevision, ROTATED_KINDS, rotatedSet } from './set.ts';
import { type SiteReader, siteReader } from './sites.ts';
import { wishesFor } from './vsphere-images.ts';
import { policyOfRotated } from './wish.ts';

/** What is read to say what a version needs. */
export interface StageOptions {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly served: ServedKinds;
  /** The Kubernetes version that an upgrade will name. */
  readonly version: string;
  /** Who imports, as marks name it. */
  readonly holder: string;
  readonly providerNamespace: string;
  readonly locate?: (location: string) => string;
  readonly signal?: AbortSignal | undefined;
}

/** Templates that a version needs, each once, and what stands in the way of some. */
export interface Stage {
  readonly wishes: readonly TemplateWish[];
  /** Sentences. */
  readonly problems: readonly string[];
}

type Ova = Extract<WantedImage, { readonly kind: 'ova' }>;

/**
 * What has to be in the vCenters before a set names this version: in every zone of every cluster, and wherever a set makes machines today, the images that the catalogues have for it. They are those that the operator
 * asks for then, so that it finds them and uploads nothing.
 */
export async function stageOf(options: StageOptions): Promise<Stage> {
  const { client, served, version, providerNamespace, signal } = options;
  const owner = (await client.get(Namespace, { name: 'kube-system' }, { signal })).metadata.uid ?? '';
  const policies = await Array.fromAsync(client.list(BootImagePolicy, {}, { signal }));
  const identities: IdentitySources = { client, served, providerNamespace };
  const read = async (group: string, kind: string): Promise<readonly ClusterApiObject[]> => {
    const resource = served.of(group, kind);
    return resource === undefined ? [] : Array.fromAsync(client.list(resource, {}, { signal }));
  };
  const known = new Map<string, ReadonlyMap<string, ClusterApiObject>>();
  const kinds = [
    [CORE, 'Cluster'],
    ...['VSphereCluster', 'VSphereDeploymentZone', 'VSphereFailureDomain'].map((kind) => [INFRASTRUCTURE, kind]),
  ] as const;
  for (const [group = '', kind = ''] of kinds)
    known.set(kind, new Map((await read(group, kind)).map((one) => [keyText(keyOf(one)), one])));
  const sites = siteReader({
    cacheOf: (_, kind) => {
      const all = known.get(kind) ?? new Map<string, ClusterApiObject>();
      return { get: (key) => all.get(keyText(key)), all: () => all.values() };
    },
    identities,
  });
  const wishes: TemplateWish[] = [];
  const problems = new Set<string>();
  const wish = (places: readonly Placement[], image: Ova, of: Pick<Rotation, 'set' | 'template'>): void => {
    wishes.push(...wishesFor(places, image, of, { ...options, owner }));
  };
  for (const { group, kind } of ROTATED_KINDS)
    for (const live of await read(group, kind)) {
      const set = rotatedSet(kind, live);
      const { reference } = set;
      const leaf = reference === undefined ? undefined : imageLeafOf(reference, []);
      if (isRevision(set) || reference === undefined || typeof leaf !== 'object' || leaf.platform !== 'vsphere')
        continue;
      const { policy } = policyOfRotated(set, policies);
      const image = policy === undefined ? undefined : imageOf(policy, version, architectureOf(set));
      if (image === undefined) continue;
      if (image.kind === 'none') {
        if (image.blocked) problems.add(image.message);
        continue;
      }
      const template = await templateOf(client, served, reference, set.namespace, { signal });
      const cluster = known.get('Cluster')?.get(`${set.namespace}/${set.clusterName ?? ''}`);
      await placed(sites, { ...bareRotation, set, cluster, template }, problems, (places) =>
        wish(places, image, { set, template }),
      );
    }
  const zones = await sites
    .all(({ message }) => problems.add(message))
    .catch((error: unknown) => {
      problems.add(error instanceof Error ? error.message : String(error));
      return [];
    });
  for (const zone of zones)
    for (const policy of policies) {
      const { failureDomains } = policy.spec ?? {};
      if (failureDomains !== undefined && !failureDomains.includes(zone.failureDomain)) continue;
      const image = imageOf(policy, version, 'amd64');
      // One zone is one folder, whose template has a name of its own: whose set it will be does not matter.
      if (image?.kind === 'ova') wish([zone], image, nobody);
    }
  const distinct = new Map(
    wishes.map((one) => [JSON.stringify([one.base, one.image, one.placement, one.publication]), one]),
  );
  if (distinct.size === 0 && problems.size === 0)
    problems.add(`no catalogue of a BootImagePolicy has an OVA of ${version} for a place that is known`);
  return { wishes: [...distinct.values()], problems: [...problems] };
}

/** The vCenter of a wish, for people. */
export function serverOfWish({ placement }: TemplateWish): string {
  return serverOf(placement.server);
}

const nobody: Pick<Rotation, 'set' | 'template'> = {
  set: rotatedSet('MachineSet', { metadata: { name: 'zone' } }),
  template: undefined,
};

const bareRotation = {
  siblings: [],
  clusterClass: undefined,
  remediated: [],
  otherAuthority: undefined,
  beside: () => undefined,
};

function imageOf(
  policy: BootImagePolicy,
  version: string,
  architecture: string,
): Ova | Extract<ReturnType<typeof catalogueImage>, { readonly kind: 'none' }> | undefined {
  const entries = policy.spec?.image?.catalogue;
  if (entries === undefined) return undefined;
  const image = catalogueImage(
    { source: `bootimagepolicy ${policy.metadata.name}`, entries },
    version,
    architecture,
    'vsphere',
  );
  return image.kind === 'named' ? undefined : image;
}

async function placed(
  sites: SiteReader,
  rotation: Rotation,
  problems: Set<string>,
  then: (places: readonly Placement[]) => void,
): Promise<void> {
  try {
    const places = await sites.placesFor(rotation);
    if ('message' in places) problems.add(places.message);
    else then(places);
  } catch (error) {
    problems.add(error instanceof Error ? error.message : String(error));
  }
}

async function templateOf(
  client: Pick<Client, 'get'>,
  served: ServedKinds,
  { group, kind, name }: { readonly group: string; readonly kind: string; readonly name: string },
  namespace: string,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<ClusterApiObject | undefined> {
  const resource = served.of(group, kind);
  if (resource === undefined) return undefined;
  return await ifFound(client.get(resource, { namespace, name }, call));
}
