import { sign } from 'node:crypto';
import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import type { CloudHttps } from '../cloud/https.ts';
import {
  grantedToken,
  type HeldToken,
  projectedIn,
  refusedToken,
  type TokenCall,
  type Tokens,
  tokenIn,
  tokensBy,
} from '../cloud/tokens.ts';
import { nonEmpty, object, parsedJson } from '../observe/json.ts';
import type { GcpCredentials } from './credentials.ts';

/** Reading is all that it may be used for. */
const SCOPE = 'https://www.googleapis.com/auth/compute.readonly';
/** What a federated token must be good for to be exchanged for the service account's, which is then limited to the scope above. */
const EXCHANGE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const HOUR_S = 3600;

/** Has no token yet. */
export function gcpTokens(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Tokens<GcpCredentials> {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  return tokensBy(
    (credentials, signal) =>
      credentials.kind === 'key' ? byKey(credentials, signal) : byExchange(credentials, signal),
    clock,
  );

  /** RFC 7523: an assertion that is signed with the key. */
  async function byKey(of: Extract<GcpCredentials, { readonly kind: 'key' }>, signal: AbortSignal): Promise<HeldToken> {
    const at = Math.floor(clock.date().getTime() / 1000);
    const header = { alg: 'RS256', typ: 'JWT', ...(of.keyId === undefined ? {} : { kid: of.keyId }) };
    const claims = { iss: of.email, scope: SCOPE, aud: of.tokenUrl, iat: at, exp: at + HOUR_S };
    const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const assertion = `${signed}.${sign('RSA-SHA256', Buffer.from(signed), of.key).toString('base64url')}`;
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
    const call = { url: of.tokenUrl, action: `get a token for ${of.email}`, credentials: of };
    return grantedToken(call, grant, { https, clock }, signal);
  }

  /** RFC 8693, and where the file says so, the token of a service account for it. */
  async function byExchange(
    of: Extract<GcpCredentials, { readonly kind: 'federated' }>,
    signal: AbortSignal,
  ): Promise<HeldToken> {
    const projected = await projectedIn(of.file, readToken, of);
    if (typeof projected !== 'string') return projected;
    const subject = of.member === undefined ? projected : nonEmpty(object(parsedJson(projected))[of.member]);
    if (subject === undefined)
      return refusedToken(of, 'a projected token', `the file ${of.file} has no member ${of.member}`);
    const grant = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...{ audience: of.audience, subject_token: subject, subject_token_type: of.tokenType },
      scope: of.impersonationUrl === undefined ? SCOPE : EXCHANGE_SCOPE,
    };
    const exchange = { url: of.tokenUrl, action: 'exchange the projected token', credentials: of };
    const federated = await grantedToken(exchange, grant, { https, clock }, signal);
    if (of.impersonationUrl === undefined || federated.token.kind === 'unverified') return federated;
    const call: TokenCall = {
      ...{ url: of.impersonationUrl, action: 'get a token of the service account', credentials: of },
    };
    const answer = await https.ask({
      ...{ method: 'POST', url: call.url, action: call.action, signal },
      headers: { 'content-type': 'application/json', authorization: `Bearer ${federated.token.token}` },
      body: JSON.stringify({ scope: [SCOPE], lifetime: `${HOUR_S}s` }),
    });
    return tokenIn(answer, call, clock);
  }
}
