import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import { type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import type { AwsCredentials, KeySource } from './credentials.ts';
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
const EARLY_MS = 300_000;
/** What is refused is asked again after a minute: a role may have been repaired. */
const REFUSED_MS = 60_000;

/** Has no keys yet. */
export function awsSessions(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Sessions {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  const held = new Map<string, { readonly session: Promise<Held>; until: number }>();

  async function of(credentials: AwsCredentials, service: TokenService, signal: AbortSignal): Promise<Session> {
    const { version, source } = credentials;
    if (source.kind === 'static') return { kind: 'keys', keys: source.keys };
    const known = held.get(version);
    if (known !== undefined && known.until > clock.now()) return (await known.session).session;
    // Of the versions before nobody asks again.
    held.clear();
    const entry = { session: begun(source, credentials, service, signal), until: Number.POSITIVE_INFINITY };
    held.set(version, entry);
    try {
      const { session, forMs } = await entry.session;
      entry.until = clock.now() + forMs;
      return session;
    } catch (error) {
      if (held.get(version) === entry) held.delete(version);
      throw error;
    }
  }

  async function begun(
    source: KeySource,
    credentials: AwsCredentials,
    service: TokenService,
    signal: AbortSignal,
  ): Promise<Held> {
    if (source.kind === 'static') return { session: { kind: 'keys', keys: source.keys }, forMs: HOUR_S * 1000 };
    const { arn, externalId } = source.role;
    const asked = { RoleArn: arn, RoleSessionName: NAME, DurationSeconds: String(HOUR_S) };
    if (source.kind === 'web') {
      let token: string;
      try {
        token = await readToken(source.file);
      } catch (error) {
        const why = error instanceof Error ? error.message : 'it cannot be read';
        return refused(credentials, 'a projected token', why);
      }
      const name = 'AssumeRoleWithWebIdentity';
      return assume(name, { ...asked, WebIdentityToken: token }, credentials, service, undefined, signal);
    }
    const by = await begun(source.by, credentials, service, signal);
    if (by.session.kind === 'refused') return by;
    const parameters = { ...asked, ...(externalId === undefined ? {} : { ExternalId: externalId }) };
    return assume('AssumeRole', parameters, credentials, service, by.session.keys, signal);
  }

  async function assume(
    name: string,
    parameters: Readonly<Record<string, string>> & { readonly RoleArn: string },
    credentials: AwsCredentials,
    { stsRegion: region, sts, ca }: TokenService,
    keys: AwsKeys | undefined,
    signal: AbortSignal,
  ): Promise<Held> {
    const action = `assume ${parameters.RoleArn}`;
    const call = { service: 'sts', region, url: sts, version: VERSION, name, parameters, action, signal, ca } as const;
    const answer = await query({ ...call, ...(keys === undefined ? {} : { keys }) }, { https, clock });
    const { host } = new URL(sts);
    if (answer.kind === 'refused') {
      const { code, message } = answer;
      if (code === '') throw invalidAnswer(host, action, `HTTP ${answer.status}: ${message}`);
      const missing = code === 'AccessDenied' ? `permission sts:${name} on ${parameters.RoleArn}` : 'valid credentials';
      return refused(credentials, missing, `${host} refused to ${action}: ${code}: ${message}`);
    }
    const made = childOf(childOf(answer.root, `${name}Result`), 'Credentials');
    const [id, secret, token] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map((key) => textAt(made, key));
    const expires = Date.parse(textAt(made, 'Expiration') ?? '');
    if (id === undefined || secret === undefined || token === undefined || Number.isNaN(expires))
      throw invalidAnswer(host, action, 'the answer has no keys in it');
    const left = expires - clock.date().getTime() - EARLY_MS;
    return { session: { kind: 'keys', keys: { id, secret, token } }, forMs: Math.min(left, HOUR_S * 1000) };
  }

  return {
    of,
    forget: ({ version, source }) => {
      held.delete(version);
      return source.kind !== 'static';
    },
  };
}

interface Held {
  readonly session: Session;
  /** How long (ms) it counts. */
  readonly forMs: number;
}

function refused({ where }: AwsCredentials, missing: string, why: string): Held {
  const message = `the credentials in Secret ${where} are of no use: ${why}`;
  return { session: { kind: 'refused', missing, message }, forMs: REFUSED_MS };
}
