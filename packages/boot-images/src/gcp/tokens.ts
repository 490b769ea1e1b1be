import { sign } from 'node:crypto';
import { readJson } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import { type CloudAnswer, type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import { isObject, nonEmpty } from '../observe/stream.ts';
import type { GcpCredentials } from './credentials.ts';

/** An access token, or what Google said instead. */
export type Token =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly missing: string; readonly message: string };

/** Access tokens, one for each version of credentials, renewed before they expire. */
export interface Tokens {
  /** Rejects as {@link CloudHttps.ask} does. */
  readonly of: (credentials: GcpCredentials, signal: AbortSignal) => Promise<Token>;
  /** A token was refused before its time. */
  readonly forget: (credentials: GcpCredentials) => void;
}

/** Reading is all that it may be used for. */
const SCOPE = 'https://www.googleapis.com/auth/compute.readonly';
/** What a federated token must be good for to be exchanged for the service account's, which is then limited to the scope above. */
const EXCHANGE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const EARLY_MS = 300_000;
const HOUR_S = 3600;
/** Longest text of an answer that is quoted. */
const QUOTED = 300;

/** Has no token yet. */
export function gcpTokens(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Tokens {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  const held = new Map<string, { readonly token: Promise<Held>; until: number }>();

  return {
    of: async (credentials, signal) => {
      const { version } = credentials;
      const known = held.get(version);
      if (known !== undefined && known.until > clock.now()) return (await known.token).token;
      // Of the versions before nobody asks again.
      held.clear();
      const token = credentials.kind === 'key' ? byKey(credentials, signal) : byExchange(credentials, signal);
      const entry = { token, until: Number.POSITIVE_INFINITY };
      held.set(version, entry);
      try {
        const made = await token;
        entry.until = clock.now() + made.forMs;
        return made.token;
      } catch (error) {
        if (held.get(version) === entry) held.delete(version);
        throw error;
      }
    },
    forget: ({ version }) => void held.delete(version),
  };

  /** RFC 7523: an assertion that is signed with the key. */
  async function byKey(of: Extract<GcpCredentials, { readonly kind: 'key' }>, signal: AbortSignal): Promise<Held> {
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
  ): Promise<Held> {
    let subject: string | undefined;
    try {
      subject = memberOf(await readToken(of.file), of.member);
    } catch (error) {
      return refused(of, 'a projected token', error instanceof Error ? error.message : 'it cannot be read');
    }
    if (subject === undefined)
      return refused(of, 'a projected token', `the file ${of.file} has no member ${of.member}`);
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
  function tokenIn(url: string, action: string, of: GcpCredentials, { status, text }: CloudAnswer): Held {
    const host = new URL(url).host;
    let body: unknown;
    try {
      body = readJson(text);
    } catch {
      if (status < 400) throw invalidAnswer(host, action, 'the answer is not JSON');
    }
    const answer = isObject(body) ? body : {};
    if (status >= 400)
      return refused(of, 'valid credentials', `${host} refused to ${action}: ${saidIn(answer, status)}`);
    const token = nonEmpty(answer['access_token']) ?? nonEmpty(answer['accessToken']);
    if (token === undefined) throw invalidAnswer(host, action, 'the answer has no token in it');
    const expires = answer['expires_in'];
    const time = nonEmpty(answer['expireTime']);
    const left = time === undefined ? Number(expires ?? HOUR_S) * 1000 : Date.parse(time) - clock.date().getTime();
    return {
      token: { kind: 'token', token },
      forMs: Number.isNaN(left) ? 0 : Math.min(left - EARLY_MS, HOUR_S * 1000),
    };
  }
}

interface Held {
  readonly token: Token;
  /** How long (ms) it counts. */
  readonly forMs: number;
}

/** What is refused is asked again after a minute: an account may have been repaired. */
const REFUSED_MS = 60_000;

function refused({ where }: GcpCredentials, what: string, why: string): Held {
  const message = `the credentials in Secret ${where} are of no use: ${why}`;
  return { token: { kind: 'refused', missing: what, message }, forMs: REFUSED_MS };
}

function memberOf(text: string, member: string | undefined): string | undefined {
  if (member === undefined) return text;
  try {
    const file = readJson(text);
    return isObject(file) ? nonEmpty(file[member]) : undefined;
  } catch {
    return undefined;
  }
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
