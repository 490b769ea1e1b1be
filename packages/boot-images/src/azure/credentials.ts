import type { Unverified } from '../cloud/availability.ts';
import { type CredentialSource, firstCredentials } from '../cloud/credentials.ts';
import type { PlatformInput } from '../platform.ts';

/** How a token for Azure is had; `version` is another one after each change of the Secret. */
export interface AzureCredentials {
  /** `namespace/name` of the Secret. */
  readonly where: string;
  readonly version: string;
  readonly tenant: string;
  readonly client: string;
  readonly subscription: string;
  readonly proof:
    | { readonly kind: 'secret'; readonly secret: string }
    /** A token that is projected into our own pod, which the tenant trusts (workload identity). */
    | { readonly kind: 'federated'; readonly file: string };
}

/** The first Secret with credentials that may be used. */
export function azureCredentials(input: Pick<PlatformInput, 'secret'>): AzureCredentials | Unverified {
  return firstCredentials(input, { platform: 'Azure', cloud: 'Azure' }, readSource);
}

/** Tenants, clients and subscriptions have ids of 36 characters, tenants also names of domains: all become parts of addresses. */
const ID = /^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/;

/** Credentials by the keys that the cloud credential operator writes, or why there are none. Nothing of the Secret is in the reason but the names of what is missing. */
function readSource({ where, version, own, text }: CredentialSource): AzureCredentials | string {
  const ids: Record<string, string> = {};
  for (const key of ['azure_tenant_id', 'azure_client_id', 'azure_subscription_id']) {
    const id = text(key);
    if (id === undefined) return `Secret ${where} has no key ${key}`;
    if (!ID.test(id)) return `${key} of Secret ${where} is no id`;
    ids[key] = id;
  }
  const secret = text('azure_client_secret');
  const file = text('azure_federated_token_file');
  if (secret === undefined && file === undefined)
    return `Secret ${where} has neither azure_client_secret nor azure_federated_token_file`;
  // Its token is another ServiceAccount's.
  if (secret === undefined && !own) return `Secret ${where} has no static key, and its tokens are machine-api's own`;
  return {
    ...{ where, version, tenant: ids['azure_tenant_id'] ?? '', client: ids['azure_client_id'] ?? '' },
    subscription: ids['azure_subscription_id'] ?? '',
    proof: secret === undefined ? { kind: 'federated', file: file ?? '' } : { kind: 'secret', secret },
  };
}
