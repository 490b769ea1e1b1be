import type { Clock } from '@drydock/kube';
import { nonEmpty, object, parsedJson } from '../observe/json.ts';
import type { Unverified } from './availability.ts';
import { type CloudAnswer, type CloudHttps, invalidAnswer, quoted } from './https.ts';

/** An access token (or keys, `T`), or what the cloud said instead. */
export type Token<T = string> = { readonly kind: 'token'; readonly token: T } | Unverified;

/** Access tokens, one for each version of credentials, renewed before they expire. */
export interface Tokens<C, T = string> {
  /** Rejects as `CloudHttps.ask` does. */
  readonly of: (credentials: C, signal: AbortSignal) => Promise<Token<T>>;
  /** A token was refused before its time. Whether there may be another one. */
  readonly forget: (credentials: C) => boolean;
}

/** A token, and how long (ms) it counts. */
export interface HeldToken<T = string> {
  readonly token: Token<T>;
  readonly forMs: number;
}

const HOUR_MS = 3_600_000;
/** What is refused is asked again after a minute: an account may have been repaired. */
const REFUSED_MS = 60_000;
const EARLY_MS = 300_000;
const LONGEST_MS = HOUR_MS;

/** A token that is good for so long (ms). */
export function heldToken<T>(token: T, forMs: number): HeldToken<T> {
  return {
    token: { kind: 'token', token },
    forMs: Number.isNaN(forMs) ? 0 : Math.min(forMs - EARLY_MS, LONGEST_MS),
  };
}

/** Credentials that are of no use. `missing`: what it takes; `why`: without anything of them. */
export function refusedToken(
  { where }: { readonly where: string },
  missing: string,
  why: string,
): { readonly token: Unverified; readonly forMs: number } {
  const message = `the credentials in Secret ${where} are of no use: ${why}`;
  return { token: { kind: 'unverified', missing, message }, forMs: REFUSED_MS };
}

/** The token that is projected into a file, or why it is of no use. */
export async function projectedIn(
  file: string,
  read: (file: string) => Promise<string>,
  of: { readonly where: string },
): Promise<string | ReturnType<typeof refusedToken>> {
  try {
    return await read(file);
  } catch (error) {
    return refusedToken(of, 'a projected token', error instanceof Error ? error.message : 'it cannot be read');
  }
}

/** Whom a token is asked for, and what for. */
export interface TokenCall {
  readonly url: string;
  readonly action: string;
  readonly credentials: { readonly where: string };
}

/** Asks for a token by a grant of OAuth 2.0. */
export async function grantedToken(
  call: TokenCall,
  grant: Readonly<Record<string, string>>,
  { https, clock }: { readonly https: CloudHttps; readonly clock: Clock },
  signal: AbortSignal,
): Promise<HeldToken> {
  const { url, action } = call;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(grant).toString();
  return tokenIn(await https.ask({ method: 'POST', url, action, headers, body, signal }), call, clock);
}

/** OAuth's `access_token` and `expires_in` (RFC 6749 §5.1), or the `accessToken` and `expireTime` of Google's iamcredentials. */
export function tokenIn(
  { status, text }: CloudAnswer,
  { url, action, credentials }: TokenCall,
  clock: Clock,
): HeldToken {
  const { host } = new URL(url);
  const body = parsedJson(text);
  if (body === undefined && status < 400) throw invalidAnswer(host, action, 'the answer is not JSON');
  const answer = object(body);
  if (status >= 400)
    return refusedToken(credentials, 'valid credentials', `${host} refused to ${action}: ${saidIn(answer, status)}`);
  const token = nonEmpty(answer['access_token']) ?? nonEmpty(answer['accessToken']);
  if (token === undefined) throw invalidAnswer(host, action, 'the answer has no token in it');
  const time = nonEmpty(answer['expireTime']);
  const { expires_in: seconds = HOUR_MS / 1000 } = answer;
  return heldToken(token, time === undefined ? Number(seconds) * 1000 : Date.parse(time) - clock.date().getTime());
}

/** OAuth: `{error, error_description}`, of which the first line is for people (Azure puts ids of the request into the others); Google's APIs: `{error: {message}}`. */
function saidIn(answer: Readonly<Record<string, unknown>>, status: number): string {
  const description = nonEmpty(answer['error_description'])?.split(/[\r\n]/)[0];
  const said = [nonEmpty(answer['error']), nonEmpty(object(answer['error'])['message']), description];
  const words = said.filter((one) => one !== undefined).join(', ');
  return words === '' ? `HTTP ${status}` : quoted(words);
}

/** Keeps the tokens of the newest version. Who asks at the same time waits for the same one. */
export function tokensBy<C extends { readonly version: string }, T = string>(
  make: (credentials: C, signal: AbortSignal) => Promise<HeldToken<T>>,
  clock: Clock,
): Tokens<C, T> {
  const held = new Map<string, { readonly token: Promise<HeldToken<T>>; until: number }>();
  return {
    of: async (credentials, signal) => {
      const { version } = credentials;
      const known = held.get(version);
      if (known !== undefined && known.until > clock.now()) return (await known.token).token;
      // Of the versions before nobody asks again.
      held.clear();
      const entry = { token: make(credentials, signal), until: Number.POSITIVE_INFINITY };
      held.set(version, entry);
      try {
        const made = await entry.token;
        entry.until = clock.now() + made.forMs;
        return made.token;
      } catch (error) {
        if (held.get(version) === entry) held.delete(version);
        throw error;
      }
    },
    forget: ({ version }) => {
      held.delete(version);
      return true;
    },
  };
}

/** Where a cloud refused the token itself, and why. */
export interface TokenRefused {
  readonly kind: 'tokenRefused';
  readonly message: string;
}

/** Asks with a token. One that is refused may have been revoked with its credentials since: a new one tells. `cloud`: who refuses, for people. */
export async function withToken<C, T, A extends { readonly kind: string }>(
  tokens: Tokens<C, T>,
  credentials: C,
  cloud: string,
  ask: (token: T) => Promise<A | TokenRefused>,
  signal: AbortSignal,
): Promise<Exclude<A, TokenRefused> | Unverified> {
  for (let again = true; ; again = false) {
    const token = await tokens.of(credentials, signal);
    if (token.kind === 'unverified') return token;
    const answer = await ask(token.token);
    if (answer.kind !== 'tokenRefused') return answer as Exclude<A, TokenRefused>;
    const { message } = answer as TokenRefused;
    if (!tokens.forget(credentials) || !again)
      return { kind: 'unverified', missing: 'valid credentials', message: `${cloud} refused them: ${message}` };
  }
}
