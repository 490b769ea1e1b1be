import { type Clock, systemClock } from '@drydock/kube';
import { projectedToken } from '../cloud/credentials.ts';
import { type CloudHttps, invalidAnswer } from '../cloud/https.ts';
import { type HeldToken, heldToken, projectedIn, refusedToken, type Tokens, tokensBy } from '../cloud/tokens.ts';
import type { AwsCredentials } from './credentials.ts';
import { query } from './query.ts';
import type { AwsKeys } from './signature.ts';
import { childOf, textAt } from './xml.ts';

/** Credentials, and where the security token service is asked for a session. */
export interface SessionAccount {
  readonly credentials: AwsCredentials;
  /** Of the credentials. */
  readonly version: string;
  readonly stsRegion: string;
  /** Its address. */
  readonly sts: string;
  /** PEM: its authorities, besides those that everybody trusts. */
  readonly ca?: string | undefined;
}

/** Keys to sign with, of one session for each version of credentials; there are no others where they are static. */
export type Sessions = Tokens<SessionAccount, AwsKeys>;

const VERSION = '2011-06-15';
const NAME = 'drydock';
/** The longest that roles which assume one another may last. */
const HOUR_S = 3600;

/** Has no keys yet. */
export function awsSessions(options: {
  readonly https: CloudHttps;
  /** Reads a projected token. */
  readonly readToken?: (file: string) => Promise<string>;
  readonly clock?: Clock;
}): Sessions {
  const { https, readToken = projectedToken, clock = systemClock } = options;
  const sessions = tokensBy(begun, clock);

  async function begun(account: SessionAccount, signal: AbortSignal): Promise<HeldToken<AwsKeys>> {
    const { credentials } = account;
    const { source } = credentials;
    if (source.kind === 'static') return { token: { kind: 'token', token: source.keys }, forMs: HOUR_S * 1000 };
    const { arn, externalId } = source.role;
    const asked = { RoleArn: arn, RoleSessionName: NAME, DurationSeconds: String(HOUR_S) };
    if (source.kind === 'web') {
      const token = await projectedIn(source.file, readToken, credentials);
      if (typeof token !== 'string') return token;
      return assume('AssumeRoleWithWebIdentity', { ...asked, WebIdentityToken: token }, account, undefined, signal);
    }
    const by = await begun({ ...account, credentials: { ...credentials, source: source.by } }, signal);
    if (by.token.kind === 'unverified') return by;
    const parameters = { ...asked, ...(externalId === undefined ? {} : { ExternalId: externalId }) };
    return assume('AssumeRole', parameters, account, by.token.token, signal);
  }

  async function assume(
    name: string,
    parameters: Readonly<Record<string, string>> & { readonly RoleArn: string },
    { credentials, stsRegion: region, sts, ca }: SessionAccount,
    keys: AwsKeys | undefined,
    signal: AbortSignal,
  ): Promise<HeldToken<AwsKeys>> {
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
    return heldToken({ id, secret, token }, expires - clock.date().getTime());
  }

  return {
    of: sessions.of,
    forget: (account) => sessions.forget(account) && account.credentials.source.kind !== 'static',
  };
}
