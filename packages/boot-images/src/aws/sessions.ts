import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import { type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import { type HeldToken, refusedToken, tokensBy, usableMs } from '../cloud/tokens.ts';
import type { AwsCredentials } from './credentials.ts';
import { query } from './query.ts';
import type { AwsKeys } from './signature.ts';
import { childOf, textAt } from './xml.ts';

/** Where the security token service is asked. */
export interface TokenService {
  readonly stsRegion: string;
  /** Its address. */
  readonly sts: string;
  /** PEM: its authorities, besides those that everybody trusts. */
  readonly ca?: string | undefined;
}

/** Keys to sign with, or what was said instead. */
export type Session =
  | { readonly kind: 'keys'; readonly keys: AwsKeys }
  | { readonly kind: 'refused'; readonly missing: string; readonly message: string };

/** Keys, of one session for each version of credentials, renewed before they expire. */
export interface Sessions {
  /** Rejects as {@link CloudHttps.ask} does. */
  readonly of: (credentials: AwsCredentials, service: TokenService, signal: AbortSignal) => Promise<Session>;
  /** The keys were refused before their time. Whether there may be others. */
  readonly forget: (credentials: AwsCredentials) => boolean;
}

const VERSION = '2011-06-15';
const NAME = 'drydock';
/** The longest that roles which assume one another may last. */
const HOUR_S = 3600;

/** Credentials, and where a role is assumed with them. */
type Asked = AwsCredentials & { readonly service: TokenService };
type Held = HeldToken<Session>;

/** Has no keys yet. */
export function awsSessions(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Sessions {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  const sessions = tokensBy(begun, clock);

  async function begun(credentials: Asked, signal: AbortSignal): Promise<Held> {
    const { source } = credentials;
    if (source.kind === 'static') return { token: { kind: 'keys', keys: source.keys }, forMs: HOUR_S * 1000 };
    const { arn, externalId } = source.role;
    const asked = { RoleArn: arn, RoleSessionName: NAME, DurationSeconds: String(HOUR_S) };
    if (source.kind === 'web') {
      let token: string;
      try {
        token = await readToken(source.file);
      } catch (error) {
        const why = error instanceof Error ? error.message : 'it cannot be read';
        return refusedToken(credentials, 'a projected token', why);
      }
      const name = 'AssumeRoleWithWebIdentity';
      return assume(name, { ...asked, WebIdentityToken: token }, credentials, undefined, signal);
    }
    const by = await begun({ ...credentials, source: source.by }, signal);
    if (by.token.kind === 'refused') return by;
    const parameters = { ...asked, ...(externalId === undefined ? {} : { ExternalId: externalId }) };
    return assume('AssumeRole', parameters, credentials, by.token.keys, signal);
  }

  async function assume(
    name: string,
    parameters: Readonly<Record<string, string>> & { readonly RoleArn: string },
    credentials: Asked,
    keys: AwsKeys | undefined,
    signal: AbortSignal,
  ): Promise<Held> {
    const { stsRegion: region, sts, ca } = credentials.service;
    const action = `assume ${parameters.RoleArn}`;
    const call = { service: 'sts', region, url: sts, version: VERSION, name, parameters, action, signal, ca } as const;
    const answer = await query({ ...call, ...(keys === undefined ? {} : { keys }) }, { https, clock });
    const { host } = new URL(sts);
    if (answer.kind === 'refused') {
      const { code, message } = answer;
      if (code === '') throw invalidAnswer(host, action, `HTTP ${answer.status}: ${message}`);
      const missing = code === 'AccessDenied' ? `permission sts:${name} on ${parameters.RoleArn}` : 'valid credentials';
      return refusedToken(credentials, missing, `${host} refused to ${action}: ${code}: ${message}`);
    }
    const made = childOf(childOf(answer.root, `${name}Result`), 'Credentials');
    const [id, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((key) => textAt(made, key));
    const expires = Date.parse(textAt(made, 'Expiration') ?? '');
    if (id === undefined || secret === undefined || token === undefined || Number.isNaN(expires))
      throw invalidAnswer(host, action, 'the answer has no keys in it');
    const forMs = usableMs(expires - clock.date().getTime());
    return { token: { kind: 'keys', keys: { id, secret, token } }, forMs };
  }

  return {
    of: (credentials, service, signal) => sessions.of({ ...credentials, service }, signal),
    forget: (credentials) => {
      sessions.forget(credentials);
      return credentials.source.kind !== 'static';
    },
  };
}
