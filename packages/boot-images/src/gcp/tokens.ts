import { sign } from 'node:crypto';
import { oneLine } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import { type CloudAnswer, type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import { type HeldToken, heldToken, refusedToken, type Tokens, tokensBy } from '../cloud/tokens.ts';
import { isObject, nonEmpty, object, parsedJson } from '../observe/json.ts';
import type { GcpCredentials } from './credentials.ts';

/** Reading is all that it may be used for. */
const SCOPE = 'https://www.googleapis.com/auth/compute.readonly';
/** What a federated token must be good for to be exchanged for the service account's, which is then limited to the scope above. */
const EXCHANGE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const HOUR_S = 3600;
/** Longest text of an answer that is quoted. */
const QUOTED = 300;

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
    const action = `get a token for ${of.email}`;
    return tokenIn(of.tokenUrl, action, of, await post(of.tokenUrl, action, grant, signal));
  }

  /** RFC 8693, and where the file says so, the token of a service account for it. */
  async function byExchange(
    of: Extract<GcpCredentials, { readonly kind: 'federated' }>,
    signal: AbortSignal,
  ): Promise<HeldToken> {
    let subject: string | undefined;
    try {
      subject = memberOf(await readToken(of.file), of.member);
    } catch (error) {
      return refusedToken(of, 'a projected token', error instanceof Error ? error.message : 'it cannot be read');
    }
    if (subject === undefined)
      return refusedToken(of, 'a projected token', `the file ${of.file} has no member ${of.member}`);
    const action = 'exchange the projected token';
    const grant = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...{ audience: of.audience, subject_token: subject, subject_token_type: of.tokenType },
      scope: of.impersonationUrl === undefined ? SCOPE : EXCHANGE_SCOPE,
    };
    const federated = tokenIn(of.tokenUrl, action, of, await post(of.tokenUrl, action, grant, signal));
    if (of.impersonationUrl === undefined || federated.token.kind === 'refused') return federated;
    const impersonate = 'get a token of the service account';
    const answer = await https.ask({
      ...{ method: 'POST', url: of.impersonationUrl, action: impersonate, signal },
      headers: { 'content-type': 'application/json', authorization: `Bearer ${federated.token.token}` },
      body: JSON.stringify({ scope: [SCOPE], lifetime: `${HOUR_S}s` }),
    });
    return tokenIn(of.impersonationUrl, impersonate, of, answer);
  }

  function post(
    url: string,
    action: string,
    form: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<CloudAnswer> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return https.ask({ method: 'POST', url, action, headers, body: new URLSearchParams(form).toString(), signal });
  }

  /** OAuth's `access_token` and `expires_in`, or iamcredentials' `accessToken` and `expireTime`. */
  function tokenIn(url: string, action: string, of: GcpCredentials, { status, text }: CloudAnswer): HeldToken {
    const host = new URL(url).host;
    const body = parsedJson(text);
    if (body === undefined && status < 400) throw invalidAnswer(host, action, 'the answer is not JSON');
    const answer = object(body);
    if (status >= 400)
      return refusedToken(of, 'valid credentials', `${host} refused to ${action}: ${saidIn(answer, status)}`);
    const token = nonEmpty(answer['access_token']) ?? nonEmpty(answer['accessToken']);
    if (token === undefined) throw invalidAnswer(host, action, 'the answer has no token in it');
    const expires = answer['expires_in'];
    const time = nonEmpty(answer['expireTime']);
    const left = time === undefined ? Number(expires ?? HOUR_S) * 1000 : Date.parse(time) - clock.date().getTime();
    return heldToken(token, left);
  }
}

function memberOf(text: string, member: string | undefined): string | undefined {
  if (member === undefined) return text;
  const file = parsedJson(text);
  return isObject(file) ? nonEmpty(file[member]) : undefined;
}

/** OAuth: `{error, error_description}`; Google's APIs: `{error: {message}}`. */
function saidIn(answer: Readonly<Record<string, unknown>>, status: number): string {
  const { error } = answer;
  const said = isObject(error)
    ? [nonEmpty(error['message'])]
    : [nonEmpty(error), nonEmpty(answer['error_description'])];
  const text = said.filter((one) => one !== undefined).join(', ');
  return text === '' ? `HTTP ${status}` : oneLine(text).slice(0, QUOTED);
}
