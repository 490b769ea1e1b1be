import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ApiError } from '../errors.ts';
import type { Credential } from './credentials.ts';
import { serverText } from './server-text.ts';

/** The trust and the client certificate of a cluster's connections, parsed once. Throws Kubeconfig or Credentials for what OpenSSL refuses. */
export function secureContextOf(server: string, ca: string | undefined, credential: Credential): SecureContext {
  const { cert, key } = credential;
  if (ca !== undefined) {
    try {
      // OpenSSL's own reader passes over what is no certificate, and then trusts nobody.
      new X509Certificate(ca);
    } catch (cause) {
      throw new ApiError({
        code: 'Kubeconfig',
        action: `connect to ${serverText(server)}`,
        said: 'the certificate authority is not a PEM certificate',
        cause,
      });
    }
  }
  try {
    return createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
  } catch (cause) {
    throw new ApiError({
      code: 'Credentials',
      action: `connect to ${serverText(server)}`,
      said: 'the client certificate and its key cannot be used: they are not PEM, or do not belong together',
      cause,
    });
  }
}

/** Whether a certificate and a key belong together; half a rotation does not. */
export function isPair(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}
