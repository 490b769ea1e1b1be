import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import type { CloudHttps } from '../cloud/https.ts';
import { grantedToken, projectedIn, type Tokens, tokensBy } from '../cloud/tokens.ts';
import type { AzureCloud } from './azure-cloud.ts';
import type { AzureCredentials } from './credentials.ts';

/** Credentials, and the cloud that knows them. */
export interface AzureAccount {
  readonly cloud: AzureCloud;
  readonly credentials: AzureCredentials;
  /** Another one after each change of either. */
  readonly version: string;
}

/** RFC 7523 §2.2. */
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Has no token yet. Tokens are asked for by the client credentials grant of OAuth 2.0 (RFC 6749 §4.4; with a projected token, RFC 7523 §2.2). */
export function azureTokens(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Tokens<AzureAccount> {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  return tokensBy(async ({ cloud, credentials }, signal) => {
    const { tenant, client, proof } = credentials;
    const proven = proof.kind === 'secret' ? proof.secret : await projectedIn(proof.file, readToken, credentials);
    if (typeof proven !== 'string') return proven;
    const grant = {
      ...{ grant_type: 'client_credentials', client_id: client, scope: cloud.scope },
      ...(proof.kind === 'secret'
        ? { client_secret: proven }
        : { client_assertion_type: ASSERTION, client_assertion: proven }),
    };
    const url = `https://${cloud.login}/${tenant}/oauth2/v2.0/token`;
    const call = { url, action: `get a token for client ${client}`, credentials };
    return grantedToken(call, grant, { https, clock }, signal);
  }, clock);
}
