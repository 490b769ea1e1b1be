import type { TLSSocket } from 'node:tls';
import { unauthorized } from './api-failure.ts';
import type { UserInfo } from './objects.ts';
import { ISSUER, type TokenIssuer } from './service-account-tokens.ts';

export const ANONYMOUS: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** What a bearer token proved. */
export interface TokenProof {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

/** Finds out who makes a request. */
export interface Authenticator {
  /** Throws 401 for credentials that do not count; without any, the user is anonymous. */
  authenticate(socket: TLSSocket, authorization: string | undefined): UserInfo;
  /** Throws with a reason for a token that does not count; undefined for one that nobody knows. */
  token(token: string, audiences: readonly string[]): TokenProof | undefined;
}

/** Users by static bearer token. */
export type StaticTokens = ReadonlyMap<string, UserInfo>;

const AUTHENTICATED = 'system:authenticated';

/** How long (ms) a token that was verified is not verified again: as long as the real server, which controllers rely on when they rotate. */
const REMEMBERED_MS = 10_000;
const REMEMBERED_TOKENS = 1000;

/** Client certificates of the server's own CA, tokens of ServiceAccounts and static tokens, in this order. `now` is in milliseconds. */
export function createAuthenticator(issuer: TokenIssuer, tokens: StaticTokens, now: () => number): Authenticator {
  const verified = new Map<string, { readonly proof: TokenProof; readonly until: number }>();
  const bySocket = new WeakMap<TLSSocket, UserInfo | 'refused' | 'none'>();

  const byCertificate = (socket: TLSSocket): UserInfo | undefined => {
    let known = bySocket.get(socket);
    if (known === undefined) {
      known = certificateUser(socket);
      bySocket.set(socket, known);
    }
    if (known === 'refused') throw unauthorized();
    return known === 'none' ? undefined : known;
  };

  const remembered = (given: string, audiences: readonly string[]): TokenProof | undefined => {
    const key = JSON.stringify([given, audiences]);
    const known = verified.get(key);
    if (known !== undefined && known.until > now()) return known.proof;
    verified.delete(key);
    const proof = issuer.verify(given, audiences);
    if (proof === undefined) return undefined;
    const [oldest] = verified.keys();
    if (verified.size >= REMEMBERED_TOKENS && oldest !== undefined) verified.delete(oldest);
    verified.set(key, { proof, until: now() + REMEMBERED_MS });
    return proof;
  };

  const token: Authenticator['token'] = (given, audiences) => {
    const known = tokens.get(given);
    if (known === undefined) return remembered(given, audiences);
    return { user: withAuthenticated(known), audiences };
  };

  return {
    token,
    authenticate: (socket, authorization) => {
      const [, bearer] = /^Bearer\s+(\S.*)$/i.exec(authorization ?? '') ?? [];
      const certified = byCertificate(socket);
      if (certified !== undefined) return certified;
      if (bearer === undefined) return ANONYMOUS;
      let proof: TokenProof | undefined;
      try {
        proof = token(bearer.trim(), [ISSUER]);
      } catch {
        throw unauthorized();
      }
      if (proof === undefined) throw unauthorized();
      return proof.user;
    },
  };
}

/** The user with the group of everybody whose credentials count. */
export function withAuthenticated(user: UserInfo): UserInfo {
  return user.groups.includes(AUTHENTICATED) ? user : { ...user, groups: [...user.groups, AUTHENTICATED] };
}

/** CN is the user, each O a group. A certificate of another CA is refused, as is one that is not for clients. */
function certificateUser(socket: TLSSocket): UserInfo | 'refused' | 'none' {
  const certificate = socket.getPeerX509Certificate?.();
  if (certificate === undefined) return 'none';
  if (!socket.authorized) return 'refused';
  const { CN: name, O: organizations } = socket.getPeerCertificate().subject as Readonly<
    Record<string, string | string[]>
  >;
  const [username] = [name ?? []].flat();
  if (username === undefined) return 'refused';
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
  return withAuthenticated({ username, groups: [organizations ?? []].flat(), extra });
}
