import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { type CloudCall, type CloudReply, type CloudServer, startCloudServer } from './cloud-server.ts';

/** An image as the API has it (compute.googleapis.com, discovery document v1, schema Image; only what is set here). */
export interface FakeComputeImage {
  readonly project: string;
  readonly name: string;
  readonly family?: string;
  /** PENDING, READY, FAILED, DELETING. */
  status: string;
  readonly architecture?: string;
  readonly features?: readonly string[];
  deprecated?: {
    readonly state: string;
    readonly replacement?: string;
    readonly obsolete?: string;
    readonly deleted?: string;
  };
}

/** Compute Engine, the token endpoint of OAuth, the security token service and IAM credentials, as far as they concern who reads images. */
export interface FakeCompute extends CloudServer {
  /** By `project/name`. Put in, take out. */
  readonly images: Map<string, FakeComputeImage>;
  /** `project/name` of each images.get that was answered, oldest first. */
  readonly asked: readonly string[];
  /** Projects on which the account has no compute.images.get. */
  readonly denied: Set<string>;
  /** Whether assertions of the key below are accepted. */
  keyAccepted: boolean;
  /** Tokens that were given are refused from now on. */
  revoke: () => void;
  /** A `service_account.json` with a key that this server knows. */
  readonly keyFile: string;
  /** A `service_account.json` for web identity, whose token is in a file. */
  readonly federatedFile: (tokenFile: string) => string;
  /** What the file must hold. */
  readonly subjectToken: string;
  /** The project of the account. */
  readonly project: string;
}

const TOKEN_HOST = 'oauth2.googleapis.com';
const STS_HOST = 'sts.googleapis.com';
const IAM_HOST = 'iamcredentials.googleapis.com';
const COMPUTE_HOST = 'compute.googleapis.com';
const AUDIENCE = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider';
const EMAIL = 'drydock@own-project.iam.gserviceaccount.com';
const IMPERSONATE = `/v1/projects/-/serviceAccounts/${EMAIL}:generateAccessToken`;

/** Starts it without an image. */
export async function startCompute(): Promise<FakeCompute> {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const images = new Map<string, FakeComputeImage>();
  const asked: string[] = [];
  const denied = new Set<string>();
  const tokens = new Set<string>();
  let made = 0;
  const token = (): string => {
    made += 1;
    const fresh = `ya29.token-${made}`;
    tokens.add(fresh);
    return fresh;
  };
  const subjectToken = 'projected.subject.token';

  const answer = (call: CloudCall): CloudReply => {
    if (call.host === TOKEN_HOST) return byAssertion(call);
    if (call.host === STS_HOST) return exchanged(call);
    if (call.host === IAM_HOST) return impersonated(call);
    return compute(call);
  };

  // developers.google.com/identity/protocols/oauth2/service-account, HTTP/REST.
  const byAssertion = (call: CloudCall): CloudReply => {
    const form = new URLSearchParams(call.body);
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const said = JSON.parse(Buffer.from(claims, 'base64url').toString() || '{}') as Readonly<Record<string, unknown>>;
    const signed = Buffer.from(`${header}.${claims}`);
    const good = verify('RSA-SHA256', signed, createPublicKey(pair.privateKey), Buffer.from(signature, 'base64url'));
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
      return { status: 400, body: { error: 'unsupported_grant_type', error_description: 'Invalid grant_type.' } };
    if (said['aud'] !== `https://${TOKEN_HOST}/token` || said['iss'] !== EMAIL || !fluent.keyAccepted)
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid grant: account not found' } };
    if (!good) return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } };
    return { status: 200, body: { access_token: token(), expires_in: 3599, token_type: 'Bearer' } };
  };
  // cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token
  const exchanged = (call: CloudCall): CloudReply => {
    const form = new URLSearchParams(call.body);
    if (call.path !== '/v1/token' || form.get('audience') !== AUDIENCE || form.get('subject_token') !== subjectToken)
      return { status: 400, body: { error: 'invalid_grant', error_description: 'The given credential is rejected.' } };
    const type = 'urn:ietf:params:oauth:token-type:access_token';
    return {
      status: 200,
      body: { access_token: token(), issued_token_type: type, token_type: 'Bearer', expires_in: 3600 },
    };
  };
  // cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
  const impersonated = (call: CloudCall): CloudReply => {
    if (!isKnown(call)) return unauthenticated;
    if (decodeURIComponent(call.path) !== IMPERSONATE) return notFound('Requested entity was not found.', 'notFound');
    const expireTime = new Date(Date.now() + 3_600_000).toISOString();
    return { status: 200, body: { accessToken: token(), expireTime } };
  };
  const isKnown = ({ headers: { authorization = '' } }: CloudCall): boolean =>
    tokens.has(authorization.replace(/^Bearer /, ''));

  // cloud.google.com/compute/docs/reference/rest/v1/images/get and …/getFromFamily
  const compute = (call: CloudCall): CloudReply => {
    if (!isKnown(call)) return unauthenticated;
    const found = /^\/compute\/v1\/projects\/([^/]+)\/global\/images\/(family\/)?([^/]+)$/.exec(call.path);
    if (found === null) return { status: 404, body: '<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>' };
    const [, project = '', family, name = ''] = found;
    asked.push(`${project}/${name}`);
    const resource = `projects/${project}/global/images/${family ?? ''}${name}`;
    if (denied.has(project)) return forbidden(`Required 'compute.images.get' permission for '${resource}'`);
    const image =
      family === undefined
        ? images.get(`${project}/${name}`)
        : [...images.values()].findLast(
            (one) => one.project === project && one.family === name && one.deprecated === undefined,
          );
    return image === undefined
      ? notFound(`The resource '${resource}' was not found`, 'notFound')
      : { status: 200, body: bodyOf(image) };
  };

  const server = await startCloudServer([TOKEN_HOST, STS_HOST, IAM_HOST, COMPUTE_HOST], answer);
  const fluent: FakeCompute = Object.assign(server, {
    ...{ images, asked, denied, keyAccepted: true, subjectToken, project: 'own-project' },
    revoke: () => tokens.clear(),
    keyFile: JSON.stringify({
      ...{ type: 'service_account', project_id: 'own-project', private_key_id: 'k1', client_email: EMAIL },
      private_key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      token_uri: `https://${TOKEN_HOST}/token`,
    }),
    federatedFile: (tokenFile: string) =>
      JSON.stringify({
        ...{ type: 'external_account', audience: AUDIENCE, token_url: `https://${STS_HOST}/v1/token` },
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        service_account_impersonation_url: `https://${IAM_HOST}${IMPERSONATE}`,
        credential_source: { file: tokenFile, format: { type: 'text' } },
      }),
  });
  return fluent;
}

function bodyOf(image: FakeComputeImage): unknown {
  const { project, name, family, status, architecture, features = [], deprecated } = image;
  return {
    ...{ kind: 'compute#image', id: '5266516519473170816', creationTimestamp: '2026-04-28T10:11:12.345-07:00' },
    ...{ name, sourceType: 'RAW', rawDisk: { source: '', containerType: 'TAR' }, status },
    ...{ archiveSizeBytes: '1072361472', diskSizeGb: '16', storageLocations: ['us'] },
    selfLink: `https://www.googleapis.com/compute/v1/projects/${project}/global/images/${name}`,
    guestOsFeatures: features.map((type) => ({ type })),
    ...(family === undefined ? {} : { family }),
    ...(architecture === undefined ? {} : { architecture }),
    ...(deprecated === undefined ? {} : { deprecated }),
  };
}

/** The error of Google's JSON APIs (cloud.google.com/apis/design/errors, and `errors` of the older ones). */
export function googleError(code: number, message: string, reason: string, domain: string = 'global'): CloudReply {
  return { status: code, body: { error: { code, message, errors: [{ message, domain, reason }] } } };
}

const notFound = (message: string, reason: string): CloudReply => googleError(404, message, reason);
const forbidden = (message: string): CloudReply => googleError(403, message, 'forbidden');
const unauthenticated: CloudReply = googleError(
  401,
  'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  'authError',
);
