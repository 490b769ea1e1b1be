import { X509Certificate } from 'node:crypto';
import type { Credential } from './credentials.ts';

/** Why the server may have refused this credential, as far as the client itself can see: it is absent, or it has expired. */
export function flawOf(credential: Credential, now: Date): string | undefined {
  const { authorization, cert } = credential;
  if (authorization === undefined && cert === undefined) return 'the kubeconfig user has no credentials';
  const token = authorization === undefined ? undefined : tokenExpiry(authorization);
  if (token !== undefined && token <= now) return `the token expired at ${token.toISOString()}`;
  const until = cert === undefined ? undefined : certificateExpiry(cert);
  if (until !== undefined && until <= now) return `the client certificate expired at ${until.toISOString()}`;
  return undefined;
}

function certificateExpiry(cert: string): Date | undefined {
  try {
    return new X509Certificate(cert).validToDate;
  } catch {
    return undefined;
  }
}

/** `exp` of a JSON Web Token (RFC 7519 §4.1.4); other tokens say nothing about themselves. */
function tokenExpiry(authorization: string): Date | undefined {
  const payload = authorization.startsWith('Bearer ') ? authorization.split('.')[1] : undefined;
  if (payload === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { readonly exp?: unknown };
    return typeof exp === 'number' ? new Date(exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}
