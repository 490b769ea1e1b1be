import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readJson } from '@drydock/api';
import type { Unverified } from '../cloud/availability.ts';
import { type CredentialSource, firstCredentials } from '../cloud/credentials.ts';
import { isObject, nonEmpty } from '../observe/json.ts';
import type { PlatformInput } from '../platform.ts';

/** How a token for Google Cloud is had; `version` is another one after each change of the Secret. */
export type GcpCredentials =
  /** A key of a service account, which does not expire. */
  | {
      readonly kind: 'key';
      readonly where: string;
      readonly version: string;
      readonly email: string;
      readonly keyId: string | undefined;
      readonly key: KeyObject;
      readonly tokenUrl: string;
    }
  /** A token that is projected into our own pod, to be exchanged (workload identity federation, RFC 8693). */
  | {
      readonly kind: 'federated';
      readonly where: string;
      readonly version: string;
      readonly audience: string;
      readonly tokenType: string;
      readonly tokenUrl: string;
      readonly impersonationUrl: string | undefined;
      readonly file: string;
      /** Name of the member where the file is JSON. */
      readonly member: string | undefined;
    };

/** The key under which the cloud credential operator writes all forms. */
const FILE = 'service_account.json';

/** The first Secret with credentials that may be used. */
export function gcpCredentials(input: Pick<PlatformInput, 'secret'>): GcpCredentials | Unverified {
  return firstCredentials(input, { platform: 'GCP', cloud: 'Google Cloud' }, readSource);
}

/** Credentials, or why there are none. Nothing of the Secret is in the reason but the names of what is missing. */
function readSource(source: CredentialSource): GcpCredentials | string {
  const { where, own } = source;
  const text = source.text(FILE);
  if (text === undefined) return `Secret ${where} has no key ${FILE}`;
  let file: unknown;
  try {
    file = readJson(text);
  } catch {
    // Not as the cause: parsers quote.
    return `${FILE} of Secret ${where} is not JSON`;
  }
  if (!isObject(file)) return `${FILE} of Secret ${where} is no object`;
  const { type } = file;
  if (type === 'service_account') return keyOf(source, file);
  if (type !== 'external_account') return `${FILE} of Secret ${where} is neither service_account nor external_account`;
  // Its token is another ServiceAccount's.
  return own ? federatedOf(source, file) : `Secret ${where} has no static key, and its tokens are machine-api's own`;
}

type File = Readonly<Record<string, unknown>>;

function keyOf({ where, version }: CredentialSource, file: File): GcpCredentials | string {
  const email = nonEmpty(file['client_email']);
  const privateKey = nonEmpty(file['private_key']);
  const tokenUrl = nonEmpty(file['token_uri']) ?? 'https://oauth2.googleapis.com/token';
  if (email === undefined || privateKey === undefined)
    return `${FILE} of Secret ${where} lacks ${email === undefined ? 'client_email' : 'private_key'}`;
  if (!isGoogle(tokenUrl)) return `${FILE} of Secret ${where}: token_uri is no address of Google`;
  try {
    const key = createPrivateKey(privateKey);
    if (key.asymmetricKeyType !== 'rsa') return `${FILE} of Secret ${where}: private_key is no RSA key`;
    return { kind: 'key', where, version, email, keyId: nonEmpty(file['private_key_id']), key, tokenUrl };
  } catch {
    return `${FILE} of Secret ${where}: private_key is no PEM key`;
  }
}

function federatedOf({ where, version }: CredentialSource, file: File): GcpCredentials | string {
  const source = isObject(file['credential_source']) ? file['credential_source'] : {};
  const format = isObject(source['format']) ? source['format'] : {};
  const audience = nonEmpty(file['audience']);
  const tokenUrl = nonEmpty(file['token_url']) ?? 'https://sts.googleapis.com/v1/token';
  const impersonationUrl = nonEmpty(file['service_account_impersonation_url']);
  const tokenFile = nonEmpty(source['file']);
  if (audience === undefined || tokenFile === undefined)
    return `${FILE} of Secret ${where} lacks ${audience === undefined ? 'audience' : 'credential_source.file'}`;
  if (!isGoogle(tokenUrl) || (impersonationUrl !== undefined && !isGoogle(impersonationUrl)))
    return `${FILE} of Secret ${where}: token_url or service_account_impersonation_url is no address of Google`;
  return {
    ...{ kind: 'federated', where, version, audience, tokenUrl, impersonationUrl, file: tokenFile },
    tokenType: nonEmpty(file['subject_token_type']) ?? 'urn:ietf:params:oauth:token-type:jwt',
    member: format['type'] === 'json' ? nonEmpty(format['subject_token_field_name']) : undefined,
  };
}

/** A Secret says where a proof of who we are goes: nowhere but to Google. */
function isGoogle(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'https:' && url.username === '' && url.hostname.endsWith('.googleapis.com');
}
