import { type Infrastructure, type MachineSet, Secret } from '@drydock/api';
import type { FakeAzure, FakeMarketplaceImage } from './clouds/azure.ts';
import type { FakeClient } from './fake-client.ts';
import { machineSet } from './fake-cluster.ts';

/** Images of a marketplace as the stream and a spec have them. */
export interface MarketplaceUrn {
  readonly publisher: string;
  readonly offer: string;
  readonly sku: string;
  readonly version: string;
}

/** Versions of the fake stream without a plan and with one, and those of a release before it. */
export const azureVersion = '419.94.20250101';
/** See {@link azureVersion}. */
export const oldAzureVersion = '418.94.20240401';
/** See {@link azureVersion}. */
export const paidVersion = '4.18.2025031114';
/** See {@link azureVersion}. */
export const oldPaidVersion = '4.17.2024121214';

/** An image without a plan. */
export const aro = (sku: string, version: string = azureVersion): MarketplaceUrn => ({
  ...{ publisher: 'azureopenshift', offer: 'aro4', sku, version },
});
/** One that is bought; `emea`: in Europe, the Middle East and Africa. */
export const bought = (
  offer: string,
  sku: string,
  version: string = paidVersion,
  emea: boolean = false,
): MarketplaceUrn => ({
  ...{ publisher: emea ? 'redhat-limited' : 'redhat', offer, sku, version },
});
/** As people write it. */
export const urnOf = ({ publisher, offer, sku, version }: MarketplaceUrn): string =>
  [publisher, offer, sku, version].join(':');

/** `image` of a provider spec. */
export type AzureSpecImage = Partial<MarketplaceUrn> & { readonly resourceID?: string; readonly type?: string };

/** A spec's image without a plan. */
export const unpaidImage = (urn: MarketplaceUrn): AzureSpecImage => ({
  ...urn,
  resourceID: '',
  type: 'MarketplaceNoPlan',
});
/** A spec's image with a plan. */
export const paidImage = (urn: MarketplaceUrn): AzureSpecImage => ({
  ...urn,
  resourceID: '',
  type: 'MarketplaceWithPlan',
});

/** The extensions of the fake stream for x86_64: two generations of all seven variants. */
export const azureMarketplace: Readonly<Record<string, unknown>> = {
  'no-purchase-plan': { hyperVGen1: aro('aro_419'), hyperVGen2: aro('419-v2') },
  ...Object.fromEntries(
    ['ocp', 'opp', 'oke'].flatMap((product) =>
      [false, true].map((emea) => {
        const offer = `rh-${product}-worker`;
        const generations = {
          hyperVGen1: bought(offer, `${offer}-gen1`, paidVersion, emea),
          hyperVGen2: bought(offer, offer, paidVersion, emea),
        };
        return [`${product}${emea ? '-emea' : ''}`, generations];
      }),
    ),
  ),
};

/** A golden stream with these extensions for x86_64. */
export function azureStreamWith(extensions: unknown): string {
  const arm = { marketplace: { azure: { 'no-purchase-plan': { hyperVGen2: aro('419-arm') } } } };
  return JSON.stringify({
    stream: 'rhcos-4.22',
    architectures: {
      x86_64: {
        artifacts: {},
        images: {},
        ...(extensions === undefined ? {} : { 'rhel-coreos-extensions': extensions }),
      },
      aarch64: { artifacts: {}, images: {}, 'rhel-coreos-extensions': arm },
    },
  });
}

/** A golden stream with everything for Azure. */
export const azureStream: string = azureStreamWith({ marketplace: { azure: azureMarketplace } });

/** Infrastructure of a cluster on Azure. */
export function azureInfrastructure(azure: Readonly<Record<string, string>> = {}): Infrastructure {
  const places = { cloudName: 'AzurePublicCloud', resourceGroupName: 'c1-abcde-rg', ...azure };
  return {
    metadata: { name: 'cluster' },
    spec: { platformSpec: { type: 'Azure' } },
    status: { infrastructureName: 'c1-abcde', platformStatus: { type: 'Azure', azure: places } },
  };
}

/** What an installer uploads for `c1-abcde`, below its resource group. */
export const installerUpload = (gen2: boolean = false, version: string = '419.94.2025'): string =>
  `/resourceGroups/c1-abcde-rg/providers/Microsoft.Compute/galleries/gallery_c1_abcde/images/c1-abcde${gen2 ? '-gen2' : ''}/versions/${version}`;

/** A machine set on Azure. */
export function azureSet(
  name: string,
  image: AzureSpecImage = unpaidImage(aro('419-v2', oldAzureVersion)),
  value: Readonly<Record<string, unknown>> = {},
): MachineSet {
  const set = machineSet(name);
  const spec = {
    ...{ kind: 'AzureMachineProviderSpec', apiVersion: 'machine.openshift.io/v1beta1', location: 'westeurope' },
    ...{ resourceGroup: 'c1-abcde-rg', vmSize: 'Standard_D4s_v3', zone: '1', foo: { bar: 1 } },
    ...{ osDisk: { diskSizeGB: 128, osType: 'Linux', managedDisk: { storageAccountType: 'Premium_LRS' } } },
    ...{ userDataSecret: { name: 'worker-user-data' }, image, ...value },
  };
  return { ...set, spec: { template: { spec: { providerSpec: { value: spec } } } } };
}

/** The Secret of our own with credentials, in one of its forms. */
export function azureSecret(data: Readonly<Record<string, string>>, resourceVersion: string = '1'): Secret {
  return {
    metadata: { namespace: 'drydock', name: 'drydock-cloud-credentials', uid: 'secret-uid', resourceVersion },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

/** Publishes an image as its publisher does: by its SKU of a generation, an architecture and with a plan or none. */
export function publishAzure(
  azure: Pick<FakeAzure, 'images'>,
  urn: MarketplaceUrn,
  more: FakeMarketplaceImage & { readonly location?: string } = {},
): void {
  const { location = 'westeurope', ...image } = more;
  const { publisher, sku } = urn;
  const plan = publisher !== 'azureopenshift';
  const second = plan ? !sku.includes('gen1') : !sku.startsWith('aro_');
  azure.images.set(`${location} ${urnOf(urn)}`, {
    ...{ plan, generation: second ? 'V2' : 'V1', architecture: sku.endsWith('-arm') ? 'Arm64' : 'x64' },
    ...image,
  });
}

/** Lays out credentials, and the images of both releases as they are published, with their terms accepted. */
export function furnishAzure(client: Pick<FakeClient, 'put'>, azure: FakeAzure): void {
  client.put(Secret, azureSecret(azure.keySecret));
  publishReleases(azure);
}

/** Publishes the images of both releases, with their terms accepted. */
export function publishReleases(azure: Pick<FakeAzure, 'images' | 'terms'>): void {
  for (const version of [azureVersion, oldAzureVersion])
    for (const sku of ['aro_419', '419-v2', '419-arm', 'aro_418', '418-v2']) publishAzure(azure, aro(sku, version));
  for (const version of [paidVersion, oldPaidVersion])
    for (const offer of ['rh-ocp-worker', 'rh-opp-worker', 'rh-oke-worker'])
      for (const sku of [offer, `${offer}-gen1`])
        for (const emea of [false, true]) {
          const urn = bought(offer, sku, version, emea);
          publishAzure(azure, urn);
          azure.terms.set([urn.publisher, offer, sku].join(':'), true);
        }
}
