import { X509Certificate } from 'node:crypto';
import { Agent, type AgentOptions } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type ConnectionOptions,
  connect,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { VimError } from '../errors.ts';
import { openTunnel, type ProxyChoice } from './proxy.ts';

/** How a server is trusted. Without any of them: the roots of the system. Exactly one applies; a pin wins over a CA. */
export interface TlsTrust {
  /** PEM, one or several certificates, trusted besides the roots of the system. */
  readonly ca?: string;
  /** SHA-256 fingerprint of the server's certificate, hex, with or without colons. It replaces every other check. */
  readonly sha256Pin?: string;
  /** Trusts anybody. A warning is logged at every start. */
  readonly insecure?: boolean;
}

/** What one host's certificate must have, as a lease says it. */
export interface Sha1Pin {
  readonly sha1: string;
}

/** TCP keep-alive: finds a peer that silently went away, long before the operating system would. */
const KEEP_ALIVE_MS = 30_000;
/** Long enough for a slow host, short enough that a wrong address is reported. */
const HANDSHAKE_MS = 20_000;

/**
 * An agent that hands out a connection only after the server has been verified, so no byte of a request reaches an untrusted one. Pinned sessions are never resumed:
 * a resumed handshake carries no certificate to compare.
 */
export function trustedAgent(
  trust: TlsTrust | Sha1Pin,
  options: { readonly maxSockets: number; readonly proxy?: ProxyChoice },
): Agent {
  return new TrustedAgent(trust, options.proxy, {
    keepAlive: true,
    keepAliveMsecs: KEEP_ALIVE_MS,
    maxSockets: options.maxSockets,
  });
}

/** Whether two fingerprints are the same, whatever their case and separators. */
export function sameFingerprint(one: string, other: string): boolean {
  return normalized(one) === normalized(other);
}

/** Throws unless the text is a SHA-256 fingerprint: a typing error would otherwise show up as an attack. */
export function checkFingerprint(pin: string): void {
  if (/^[0-9a-f]{64}$/.test(normalized(pin))) return;
  throw new VimError({
    kind: 'protocol',
    code: 'VIM_REFUSED',
    op: 'connect',
    message: 'the pin is not a SHA-256 fingerprint (64 hex digits)',
  });
}

function normalized(fingerprint: string): string {
  return fingerprint.replaceAll(/[:\s-]/g, '').toLowerCase();
}

class TrustedAgent extends Agent {
  readonly #trust: TlsTrust | Sha1Pin;
  readonly #proxy: ProxyChoice | undefined;
  /** Connections that nobody has yet: no agent of Node's knows them. */
  readonly #handshakes = new Set<TLSSocket>();

  constructor(trust: TlsTrust | Sha1Pin, proxy: ProxyChoice | undefined, options: AgentOptions) {
    super({ ...options, maxCachedSessions: 0 });
    this.#trust = trust;
    this.#proxy = proxy;
  }

  /** All connections to one address are alike: trust is that of the agent. Node's own name lists forty options, at each call of a poll that makes hundreds in a second. */
  override getName(
    options: { readonly host?: string | undefined; readonly port?: number | string | undefined } = {},
  ): string {
    return `${options.host ?? ''}:${options.port ?? ''}`;
  }

  override createConnection(
    options: {
      readonly host?: string | null;
      readonly hostname?: string | null;
      readonly port?: number | string | null;
    },
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const host = options.host ?? options.hostname ?? 'localhost';
    const port = Number(options.port ?? 443);
    // Node's type asks for a stream even with an error; the implementation does not look at it.
    const done = callback as ((error: Error | null, stream?: Duplex) => void) | undefined;
    void this.#handOut(host, port, done);
  }

  override destroy(): void {
    super.destroy();
    for (const socket of this.#handshakes) socket.destroy();
  }

  async #handOut(host: string, port: number, done?: (error: Error | null, stream?: Duplex) => void): Promise<void> {
    let socket: TLSSocket;
    try {
      socket = await this.#connect(host, port);
    } catch (error) {
      done?.(error instanceof Error ? error : new Error('connect failed', { cause: error }));
      return;
    }
    done?.(null, socket);
  }

  async #connect(host: string, port: number): Promise<TLSSocket> {
    const through = this.#proxy?.(host, port);
    const tunnel = through === undefined ? undefined : await openTunnel(through, host, port, HANDSHAKE_MS);
    const pinned = isPinned(this.#trust);
    const socket = connect({
      ...(tunnel === undefined ? { host, port } : { socket: tunnel, host }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...contextFor(this.#trust),
      ALPNProtocols: ['http/1.1'],
      // The pin check below replaces the chain check; it comes before the socket is handed out.
      rejectUnauthorized: !pinned && !('insecure' in this.#trust && this.#trust.insecure === true),
    });
    this.#handshakes.add(socket);
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#handshakes.delete(socket);
        socket.destroy();
        reject(error);
      };
      const late = setTimeout(() => {
        fail(Object.assign(new Error('the TLS handshake took too long'), { code: 'ETIMEDOUT' }));
      }, HANDSHAKE_MS);
      socket.once('error', (error) => {
        clearTimeout(late);
        fail(error);
      });
      socket.once('close', () => {
        clearTimeout(late);
        fail(Object.assign(new Error('the connection was closed during the TLS handshake'), { code: 'ECONNRESET' }));
      });
      socket.once('secureConnect', () => {
        clearTimeout(late);
        this.#handshakes.delete(socket);
        if (!pinMatches(this.#trust, socket)) fail(new PinMismatch());
        else {
          socket.removeAllListeners('error').removeAllListeners('close');
          socket.setKeepAlive(true, KEEP_ALIVE_MS);
          // A call is one small message: held back for the acknowledgement of the last one it would come 40 ms late.
          socket.setNoDelay(true);
          resolve(socket);
        }
      });
    });
  }
}

/** The server's certificate is not the pinned one. */
class PinMismatch extends Error {
  readonly code = 'DRYDOCK_PIN_MISMATCH';
  constructor() {
    super("the fingerprint of the server's certificate is not the pinned one");
  }
}

function isPinned(trust: TlsTrust | Sha1Pin): boolean {
  return 'sha1' in trust || trust.sha256Pin !== undefined;
}

const contexts = new Map<string, SecureContext>();

/** Every connection would read the roots of the system anew, a hundred and more: those that trust the same share what was read of it. */
function contextFor(trust: TlsTrust | Sha1Pin): ConnectionOptions {
  if ('sha1' in trust || trust.ca === undefined) return {};
  const known = contexts.get(trust.ca);
  const secureContext = known ?? createSecureContext({ ca: [...getCACertificates('default'), trust.ca] });
  contexts.set(trust.ca, secureContext);
  return { secureContext };
}

function pinMatches(trust: TlsTrust | Sha1Pin, socket: TLSSocket): boolean {
  if (!isPinned(trust)) return true;
  const raw = socket.getPeerX509Certificate()?.raw;
  if (raw === undefined) return false;
  const certificate = new X509Certificate(raw);
  if ('sha1' in trust) return sameFingerprint(certificate.fingerprint, trust.sha1);
  return trust.sha256Pin !== undefined && sameFingerprint(certificate.fingerprint256, trust.sha256Pin);
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'DRYDOCK_PIN_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Whether a connection failed because the server could not be trusted. */
export function isUntrusted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && UNTRUSTED.has(error.code);
}
