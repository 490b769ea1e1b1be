import { ApiError, type ApiErrorCode } from '../errors.ts';
import type { Status } from '../status-object.ts';

/**
 * Codes that Node and undici give to failures of the TLS handshake: those of OpenSSL's verification (X509_V_ERR_*) that Node knows by name, and UNSPECIFIED
 * for those that it does not, such as a key that is too weak.
 */
const TLS_CODES: ReadonlySet<string> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CRL_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'EPROTO',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UND_ERR_PRX_TLS',
  'UNSPECIFIED',
]);

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'ERR_TLS_HANDSHAKE_TIMEOUT',
  'ETIMEDOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
]);

/** An idle connection that the peer closed shows as one of these on the next request. */
const STALE_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Turns what undici or the socket threw into an `ApiError`: Timeout, Tls or Connection. */
export function connectionError(error: unknown, action: string, origin: string): ApiError {
  if (error instanceof ApiError) return error;
  const system = systemCode(error);
  let code: ApiErrorCode = 'Connection';
  if (TIMEOUT_CODES.has(system)) code = 'Timeout';
  // ERR_SSL_*, ERR_TLS_* and ERR_OSSL_* are families of OpenSSL's and Node's own codes.
  else if (TLS_CODES.has(system) || ['ERR_SSL_', 'ERR_TLS_', 'ERR_OSSL_'].some((family) => system.startsWith(family))) {
    code = 'Tls';
  }
  const text = error instanceof Error && error.message !== '' ? error.message : String(error);
  // Nothing was sent, and nothing ever will be.
  if (system === 'UND_ERR_INVALID_ARG')
    return new ApiError({ code: 'BadRequest', action, said: `the request cannot be sent: ${text}`, cause: error });
  const named = text.includes(system) || system === '' ? text : `${text} (${system})`;
  return new ApiError({ code, action, said: `${origin} did not answer: ${named}`, cause: error });
}

/** True for the failure that a request meets on a connection which the peer closed while it was idle. */
export function isStaleSocket(error: ApiError): boolean {
  return error.code === 'Connection' && STALE_CODES.has(systemCode(error.cause));
}

function systemCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof AggregateError && at.errors[0] !== undefined) return systemCode(at.errors[0]);
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string') return code;
  }
  return '';
}

/** Retry-After in ms: seconds or a date (RFC 9110 §10.2.3); undefined when absent or unreadable. */
export function parseRetryAfter(header: string | string[] | undefined, now: Date): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined || text.trim() === '') return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/** The Status in the body of a failed call. Proxies answer with HTML or text: its beginning becomes the message. */
export function statusOfBody(body: string): Status {
  try {
    const parsed = JSON.parse(body) as Status | null;
    if (parsed?.kind === 'Status') {
      // The HTTP status decides; a body that contradicts it would be a lie of something in between.
      const { code: _code, ...status } = parsed;
      return status;
    }
  } catch {
    // Not JSON.
  }
  const html = htmlTitle(body);
  if (html !== undefined) return { message: `something before the API server answered with ${html}` };
  const text = body.slice(0, 200).trim();
  return text === '' ? {} : { message: text };
}

/** `an HTML page titled "Log in"` for a body that is HTML, which proxies, consoles and login pages answer. */
export function htmlTitle(body: string): string | undefined {
  const begin = body.slice(0, 4_096);
  if (!begin.trimStart().startsWith('<')) return undefined;
  const lower = begin.toLowerCase();
  const from = lower.indexOf('<title>');
  const to = lower.indexOf('</title>');
  if (from < 0 || to < from) return 'an HTML page';
  return `an HTML page titled ${JSON.stringify(
    begin
      .slice(from + 7, to)
      .trim()
      .slice(0, 80),
  )}`;
}

/** The error for a redirection, which an API server has no reason for and which would take the credentials elsewhere. */
export function redirected(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  action: string,
): ApiError {
  // Without path and query: those of login pages carry secrets.
  const { location } = headers;
  const origin = typeof location === 'string' ? URL.parse(location)?.origin : undefined;
  const said = `the answer is a redirection${origin === undefined ? '' : ` to ${origin}`} (HTTP ${status})`;
  return new ApiError({ code: 'BadAnswer', action, said, status });
}

/** The error for a successful answer that is not what the API promises. */
export function badAnswer(body: string, action: string): ApiError {
  return new ApiError({
    code: 'BadAnswer',
    action,
    said: `the answer is ${htmlTitle(body) ?? 'not JSON'}`,
    status: 200,
  });
}
