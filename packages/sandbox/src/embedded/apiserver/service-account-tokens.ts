import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomUUID, sign, verify } from 'node:crypto';
import type { ObjectServer, UserInfo } from './objects.ts';

export const ISSUER = 'https://kubernetes.default.svc';

/** What the tokens need to know of the stored objects. */
export type TokenObjects = Pick<ObjectServer, 'peek'>;

/** An object that a token names: it is void once the object is gone. */
export interface TokenRef {
  readonly name: string;
  readonly uid: string;
}

/** What a token is issued for. */
export interface TokenClaims {
  readonly namespace: string;
  readonly account: TokenRef;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly pod?: TokenRef;
  readonly secret?: TokenRef;
  readonly node?: TokenRef;
}

/** A token that was verified. */
export interface VerifiedToken {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

/** Issues and verifies the JWTs of ServiceAccounts (ES256, as the key of the sandbox is P-256). */
export interface TokenIssuer {
  issue(claims: TokenClaims): string;
  /** Undefined for a token of somebody else; throws with a reason for one of ours that does not count. */
  verify(token: string, audiences: readonly string[]): VerifiedToken | undefined;
  /** Of `/openid/v1/jwks`. */
  readonly jwks: unknown;
}

interface Payload {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly nbf: number;
  readonly sub: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: TokenRef;
    readonly pod?: TokenRef;
    readonly secret?: TokenRef;
    readonly node?: TokenRef;
  };
}

/** How far clocks may differ (s), as the JWT library of Kubernetes allows. */
const LEEWAY = 60;

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** An issuer with a PEM private key. `now` is in milliseconds since 1970. */
export function createTokenIssuer(objects: TokenObjects, privateKey: string, now: () => number): TokenIssuer {
  const key = createPrivateKey(privateKey);
  const publicKey = createPublicKey(key);
  const kid = keyId(publicKey);
  const header = encoded({ alg: 'ES256', kid });
  const seconds = (): number => Math.floor(now() / 1000);

  /** Throws where what the token is bound to is not there any more. */
  const checkBound = (namespace: string | undefined, plural: string, ref: TokenRef | undefined, said: string): void => {
    if (ref === undefined) return;
    const found = objects.peek('', plural, { ...(namespace === undefined ? {} : { namespace }), name: ref.name });
    if (found === undefined || isGone(found, now())) throw new Error('service account token has been invalidated');
    const { uid } = metadataOf(found);
    if (uid !== ref.uid) throw new Error(`${said.replace('UID', `UID (${uid})`)} (${ref.uid})`);
  };

  return {
    jwks: { keys: [{ use: 'sig', kid, alg: 'ES256', ...publicKey.export({ format: 'jwk' }) }] },
    issue: ({ namespace, account, audiences, expirationSeconds, pod, secret, node }) => {
      const iat = seconds();
      const bound = {
        ...(pod === undefined ? {} : { pod }),
        ...(secret === undefined ? {} : { secret }),
        ...(node === undefined ? {} : { node }),
      };
      const payload: Payload = {
        aud: audiences,
        exp: iat + expirationSeconds,
        iat,
        iss: ISSUER,
        jti: randomUUID(),
        'kubernetes.io': { namespace, serviceaccount: account, ...bound },
        nbf: iat,
        sub: usernameOf(namespace, account.name),
      };
      const signed = `${header}.${encoded(payload)}`;
      const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
    verify: (token, audiences) => {
      const [head = '', body = '', signature = '', ...more] = token.split('.');
      if (more.length > 0 || signature === '') return undefined;
      const payload = jsonOf(body) as Payload | undefined;
      if (payload === undefined || payload.iss !== ISSUER) return undefined;
      const { alg } = (jsonOf(head) ?? {}) as { readonly alg?: string };
      const bytes = Buffer.from(`${head}.${body}`);
      const proof = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
      if (alg !== 'ES256' || !verify('sha256', bytes, proof, Buffer.from(signature, 'base64url')))
        throw new Error('invalid bearer token');
      const common = payload.aud.filter((one) => audiences.includes(one));
      if (common.length === 0) {
        const lists = [payload.aud, audiences].map((list) => list.map((one) => JSON.stringify(one)).join(' '));
        throw new Error(`token audiences [${lists[0]}] is invalid for the target audiences [${lists[1]}]`);
      }
      const time = seconds();
      if (time > payload.exp + LEEWAY) throw new Error('service account token has expired');
      if (time < payload.nbf - LEEWAY) throw new Error('service account token is not valid yet');
      const { namespace, serviceaccount, pod, secret, node } = payload['kubernetes.io'];
      const account = objects.peek('', 'serviceaccounts', { namespace, name: serviceaccount.name });
      if (account === undefined) throw new Error(`serviceaccounts ${JSON.stringify(serviceaccount.name)} not found`);
      const { uid } = metadataOf(account);
      if (uid !== serviceaccount.uid)
        throw new Error(`service account UID (${uid}) does not match claim (${serviceaccount.uid})`);
      if (isGone(account, now()))
        throw new Error(`service account ${namespace}/${serviceaccount.name} has been deleted`);
      checkBound(namespace, 'secrets', secret, 'secret UID does not match service account secret ref claim');
      checkBound(namespace, 'pods', pod, 'pod UID does not match service account pod ref claim');
      if (pod === undefined)
        checkBound(undefined, 'nodes', node, 'node UID does not match service account node ref claim');
      return { audiences: common, user: userOf(payload) };
    },
  };
}

/** The user name of a ServiceAccount. */
export function usernameOf(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** The groups of every ServiceAccount of a namespace. */
export function groupsOf(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

function userOf({ jti, 'kubernetes.io': claims }: Payload): UserInfo {
  const { namespace, serviceaccount, pod, node } = claims;
  const extra: Record<string, readonly string[]> = { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] };
  for (const [kind, ref] of [
    ['node', node],
    ['pod', pod],
  ] as const) {
    if (ref === undefined) continue;
    extra[`authentication.kubernetes.io/${kind}-name`] = [ref.name];
    if (ref.uid !== '') extra[`authentication.kubernetes.io/${kind}-uid`] = [ref.uid];
  }
  return {
    username: usernameOf(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: [...groupsOf(namespace), 'system:authenticated'],
    extra,
  };
}

function metadataOf(object: unknown): { readonly uid?: string; readonly deletionTimestamp?: string } {
  return (object as { readonly metadata: { readonly uid?: string; readonly deletionTimestamp?: string } }).metadata;
}

/** Whether it was deleted a while ago, even though finalizers hold it. */
function isGone(object: unknown, now: number): boolean {
  const { deletionTimestamp } = metadataOf(object);
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < now - LEEWAY * 1000;
}

function jsonOf(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

function keyId(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}
