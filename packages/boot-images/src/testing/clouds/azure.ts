import { type CloudCall, type CloudReply, type CloudServer, startCloudServer } from './cloud-server.ts';

/** A platform image in one location (Microsoft.Compute 2023-09-01, VirtualMachineImage; only what is set here). */
export interface FakeMarketplaceImage {
  /** V1 or V2. */
  readonly generation?: string;
  /** x64 or Arm64. */
  readonly architecture?: string;
  /** Whether it is sold by a plan. */
  readonly plan?: boolean;
  readonly deprecation?: {
    readonly imageState: string;
    readonly scheduledDeprecationTime?: string;
    readonly alternativeOption?: { readonly type: string; readonly value: string };
  };
}

/** Entra ID and the Resource Manager of Azure's clouds, as far as they concern who reads images. */
export interface FakeAzure extends CloudServer {
  /** By `location publisher:offer:sku:version`. Put in, take out. */
  readonly images: Map<string, FakeMarketplaceImage>;
  /** Bodies of versions in galleries and of managed images, by their whole ids. */
  readonly uploads: Map<string, Readonly<Record<string, unknown>>>;
  /** Whether the terms of `publisher:offer:plan` are accepted. */
  readonly terms: Map<string, boolean>;
  /** What the Resource Manager answered about, oldest first: keys of the maps above. */
  readonly asked: readonly string[];
  /** Actions that the account may not do. */
  readonly denied: Set<string>;
  /** Whether the client secret below is accepted. */
  secretAccepted: boolean;
  /** Tokens that were given are refused from now on. */
  revoke: () => void;
  /** Data of a Secret in the form of a static key, as the cloud credential operator makes it. */
  readonly keySecret: Readonly<Record<string, string>>;
  /** The same for workload identity, whose token is in a file. */
  readonly federatedSecret: (tokenFile: string) => Readonly<Record<string, string>>;
  /** What the file must hold. */
  readonly subjectToken: string;
  readonly subscription: string;
}

const TENANT = '11111111-1111-4111-8111-111111111111';
const CLIENT = '22222222-2222-4222-8222-222222222222';
const SUBSCRIPTION = '33333333-3333-4333-8333-333333333333';
const CLIENT_SECRET = 'cl~ient.secret-of-drydock';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Login host and Resource Manager of each cloud. */
const CLOUDS: Readonly<Record<string, string>> = {
  'login.microsoftonline.com': 'management.azure.com',
  'login.microsoftonline.us': 'management.usgovcloudapi.net',
  'login.chinacloudapi.cn': 'management.chinacloudapi.cn',
};

/** Starts it without an image. */
export async function startAzure(): Promise<FakeAzure> {
  const images = new Map<string, FakeMarketplaceImage>();
  const uploads = new Map<string, Readonly<Record<string, unknown>>>();
  const terms = new Map<string, boolean>();
  const asked: string[] = [];
  const denied = new Set<string>();
  /** Hosts for which they are good, by token. */
  const tokens = new Map<string, string>();
  const subjectToken = 'projected.subject.token';

  const answer = (call: CloudCall): CloudReply => (call.host in CLOUDS ? login(call) : resourceManager(call));

  // learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow; errors: reference-error-codes.
  const login = ({ host, path, body }: CloudCall): CloudReply => {
    const form = new URLSearchParams(body);
    const audience = CLOUDS[host] ?? '';
    const tenant = /^\/([^/]+)\/oauth2\/v2\.0\/token$/.exec(path)?.[1];
    if (tenant !== TENANT)
      return aadError(
        400,
        'invalid_request',
        `AADSTS90002: Tenant '${tenant}' not found. Check to make sure you have the correct tenant ID.`,
      );
    if (form.get('grant_type') !== 'client_credentials')
      return aadError(400, 'unsupported_grant_type', 'AADSTS70003: The app requested an unsupported grant type.');
    if (form.get('client_id') !== CLIENT)
      return aadError(
        400,
        'unauthorized_client',
        `AADSTS700016: Application with identifier '${form.get('client_id')}' was not found in the directory.`,
      );
    if (form.get('scope') !== `https://${audience}/.default`)
      return aadError(
        400,
        'invalid_resource',
        `AADSTS500011: The resource principal named ${form.get('scope')} was not found in the tenant.`,
      );
    const assertion = form.get('client_assertion');
    if (assertion === null && (form.get('client_secret') !== CLIENT_SECRET || !fluent.secretAccepted))
      return aadError(
        401,
        'invalid_client',
        'AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app.',
      );
    if (assertion !== null && (assertion !== subjectToken || form.get('client_assertion_type') !== JWT_BEARER))
      return aadError(
        401,
        'invalid_client',
        'AADSTS700213: No matching federated identity record found for presented assertion subject.',
      );
    const token = `eyJ0.token-${tokens.size + 1}`;
    tokens.set(token, audience);
    return { status: 200, body: { token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599, access_token: token } };
  };

  // learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
  const resourceManager = (call: CloudCall): CloudReply => {
    const token = (call.headers.authorization ?? '').replace(/^Bearer /, '');
    if (tokens.get(token) !== call.host)
      return azureError(401, 'InvalidAuthenticationToken', 'The access token is invalid.');
    if (!call.query.has('api-version'))
      return azureError(
        400,
        'MissingApiVersionParameter',
        'The api-version query parameter (?api-version=) is required for all requests.',
      );
    const path = decodeURIComponent(call.path);
    const [, , subscription = ''] = path.split('/');
    if (subscription !== SUBSCRIPTION)
      return azureError(404, 'SubscriptionNotFound', `The subscription '${subscription}' could not be found.`);
    return imageAt(path) ?? termsAt(path, call.query.get('api-version') ?? '') ?? uploadAt(path);
  };

  const refused = (action: string): CloudReply | undefined =>
    denied.has(action)
      ? azureError(
          403,
          'AuthorizationFailed',
          `The client '${CLIENT}' with object id '${CLIENT}' does not have authorization to perform action '${action}' over scope '/subscriptions/${SUBSCRIPTION}' or the scope is invalid. If access was recently granted, please refresh your credentials.`,
        )
      : undefined;

  // learn.microsoft.com/rest/api/compute/virtual-machine-images/get
  const imageAt = (path: string): CloudReply | undefined => {
    const found =
      /\/providers\/Microsoft\.Compute\/locations\/([^/]+)\/publishers\/([^/]+)\/artifacttypes\/vmimage\/offers\/([^/]+)\/skus\/([^/]+)\/versions\/([^/]+)$/.exec(
        path,
      );
    if (found === null) return undefined;
    const [, location = '', publisher = '', offer = '', sku = '', version = ''] = found;
    const key = `${location} ${[publisher, offer, sku, version].join(':')}`;
    asked.push(key);
    const image = images.get(key);
    return (
      refused('Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read') ??
      (image === undefined
        ? azureError(404, 'NotFound', 'Artifact: VMImage was not found.')
        : { status: 200, body: imageBody(image, { location, publisher, offer, sku, version, path }) })
    );
  };

  // learn.microsoft.com/rest/api/marketplaceordering/marketplace-agreements/get
  const termsAt = (path: string, apiVersion: string): CloudReply | undefined => {
    const found =
      /\/providers\/Microsoft\.MarketplaceOrdering\/offerTypes\/virtualmachine\/publishers\/([^/]+)\/offers\/([^/]+)\/plans\/([^/]+)\/agreements\/current$/i.exec(
        path,
      );
    if (found === null) return undefined;
    const [, publisher = '', product = '', plan = ''] = found;
    const key = `${publisher}:${product}:${plan}`;
    asked.push(key);
    const accepted = terms.get(key);
    const denial = refused('Microsoft.MarketplaceOrdering/offertypes/publishers/offers/plans/agreements/read');
    if (denial !== undefined) return denial;
    if (accepted === undefined)
      return azureError(
        400,
        'BadRequest',
        `Offer with PublisherId: '${publisher}' and OfferId: '${product}' not found.`,
      );
    const properties = {
      ...{
        publisher,
        product,
        plan,
        licenseTextLink: 'https://storage.example/license',
        retrieveDatetime: '2026-08-02T00:00:00Z',
      },
      // Azure/azure-rest-api-specs, issue 14108.
      ...{ signature: 'SIGNATURE', accepted: accepted && apiVersion === '2015-06-01' },
    };
    return {
      status: 200,
      body: { id: path, name: plan, type: 'Microsoft.MarketplaceOrdering/offertypes', properties },
    };
  };

  // learn.microsoft.com/rest/api/compute/gallery-image-versions/get, …/list-by-gallery-image, and …/images/get
  const uploadAt = (path: string): CloudReply => {
    asked.push(path);
    const action = path.includes('/galleries/')
      ? 'Microsoft.Compute/galleries/images/versions/read'
      : 'Microsoft.Compute/images/read';
    const denial = refused(action);
    if (denial !== undefined) return denial;
    if (path.endsWith('/versions')) {
      const value = [...uploads].filter(([id]) => id.startsWith(`${path}/`)).map(([id, body]) => uploadBody(id, body));
      return { status: 200, body: { value } };
    }
    const body = uploads.get(path);
    return body === undefined
      ? azureError(
          404,
          'ResourceNotFound',
          `The Resource '${path.split('/providers/')[1]}' under resource group '${path.split('/')[4]}' was not found.`,
        )
      : { status: 200, body: uploadBody(path, body) };
  };

  const server = await startCloudServer([...Object.keys(CLOUDS), ...Object.values(CLOUDS)], answer);
  const ids = { azure_tenant_id: TENANT, azure_client_id: CLIENT, azure_subscription_id: SUBSCRIPTION };
  const fluent: FakeAzure = Object.assign(server, {
    ...{ images, uploads, terms, asked, denied, secretAccepted: true, subjectToken, subscription: SUBSCRIPTION },
    revoke: () => tokens.clear(),
    keySecret: {
      ...{ ...ids, azure_client_secret: CLIENT_SECRET, azure_region: 'westeurope' },
      ...{ azure_resource_prefix: 'c1-abcde', azure_resourcegroup: 'c1-abcde-rg' },
    },
    federatedSecret: (tokenFile: string) => ({
      ...{ ...ids, azure_region: 'westeurope', azure_federated_token_file: tokenFile },
    }),
  });
  return fluent;
}

interface ImagePlace {
  readonly location: string;
  readonly publisher: string;
  readonly offer: string;
  readonly sku: string;
  readonly version: string;
  readonly path: string;
}

function imageBody(
  image: FakeMarketplaceImage,
  { location, publisher, offer, sku, version, path }: ImagePlace,
): unknown {
  const { generation, architecture, plan = false, deprecation = { imageState: 'Active' } } = image;
  return {
    ...{ id: path.replace('/subscriptions/', '/Subscriptions/'), location, name: version },
    properties: {
      ...(generation === undefined ? {} : { hyperVGeneration: generation }),
      ...(architecture === undefined ? {} : { architecture }),
      ...(plan ? { plan: { publisher, name: sku, product: offer } } : {}),
      ...{ osDiskImage: { operatingSystem: 'Linux', sizeInGb: 16 }, dataDiskImages: [] },
      ...{ automaticOSUpgradeProperties: { automaticOSUpgradeSupported: false }, disallowed: { vmDiskType: 'None' } },
      imageDeprecationStatus: deprecation,
    },
  };
}

function uploadBody(id: string, body: Readonly<Record<string, unknown>>): unknown {
  return { id, name: id.slice(id.lastIndexOf('/') + 1), location: 'westeurope', ...body };
}

/** The error of the Resource Manager (ARM's error contract). */
export function azureError(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): CloudReply {
  return { status, body: { error: { code, message } }, headers };
}

/** The error of Entra ID's token endpoint. */
function aadError(status: number, error: string, description: string): CloudReply {
  const more =
    '\r\nTrace ID: 0d7b58d4-0000-0000-0000-000000000000\r\nCorrelation ID: 5be32000-0000-0000-0000-000000000000\r\nTimestamp: 2026-08-02 00:00:00Z';
  const [, code = '0'] = /^AADSTS(\d+)/.exec(description) ?? [];
  return { status, body: { error, error_description: `${description}${more}`, error_codes: [Number(code)] } };
}
