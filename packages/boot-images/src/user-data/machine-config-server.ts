import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, rootCertificates, type TLSSocket } from 'node:tls';
import type { Infrastructure } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import { at, list, nonEmpty, object } from '../observe/json.ts';

/** What a server showed whoever trusts some authorities. */
export type Presented =
  | { readonly kind: 'verified' }
  /** `untrusted`: no authority vouches for its certificate; else the certificate itself is wrong, as `why` says. */
  | { readonly kind: 'refused'; readonly untrusted: boolean; readonly issuer: string; readonly why: string }
  /** Nobody answered, or not by TLS. */
  | { readonly kind: 'unseen'; readonly why: string };

/** Asks a server for its certificate. Nothing is sent but a handshake. */
export type AskServer = (
  url: URL,
  authorities: readonly X509Certificate[],
  call: { readonly signal?: AbortSignal | undefined },
) => Promise<Presented>;

/** Port of machine-config-server. */
export const SERVER_PORT = '22623';

/** How long (ms) a server has for a handshake. From pods of OpenShift it is refused at once. */
const HANDSHAKE_MS = 3_000;

/** No authority of the client vouches for the certificate, as OpenSSL calls it. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

/** See {@link AskServer}. Trusted are the authorities of the system and these, as Ignition does it. A chain is at most 100 KiB, which is OpenSSL's own bound. */
export const askMachineConfigServer: AskServer = async (url, authorities, { signal }) => {
  const host = hostOf(url);
  const ca = [...rootCertificates, ...authorities.map((one) => one.toString())];
  const servername = isIP(host) === 0 ? host : undefined;
  const timeout = AbortSignal.timeout(HANDSHAKE_MS);
  let socket: TLSSocket | undefined;
  try {
    socket = connect({
      ...{ host, port: Number(url.port || 443), ca, allowPartialTrustChain: true, rejectUnauthorized: false },
      ...(servername === undefined ? {} : { servername }),
    });
    await once(socket, 'secureConnect', {
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    if (socket.authorized) return { kind: 'verified' };
    const why = codeOf(socket.authorizationError);
    const issuer = shownText(nonEmpty(object(socket.getPeerCertificate().issuer)['CN']) ?? 'no name');
    return { kind: 'refused', untrusted: UNTRUSTED.has(why), issuer, why };
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: 'unseen', why: timeout.aborted ? 'no answer' : codeOf(error) };
  } finally {
    // Nothing that comes later is of interest.
    socket?.on('error', () => undefined).destroy();
  }
};

/** Whether an address is the cluster's own machine-config-server, at its port where the API server is for machines. Others are never asked, because a stub may name any address. */
export function isOwnServer(url: URL, infrastructure: Infrastructure | undefined): boolean {
  const status = object(infrastructure?.status);
  const internal = nonEmpty(status['apiServerInternalURI']);
  const addresses = Object.values(object(status['platformStatus'])).flatMap((platform) =>
    list(at(platform, ['apiServerInternalIPs'])),
  );
  const hosts = [
    ...(internal !== undefined && URL.canParse(internal) ? [hostOf(new URL(internal))] : []),
    ...addresses,
  ];
  return url.port === SERVER_PORT && hosts.includes(hostOf(url));
}

/** `host:port`. */
export function addressText(url: URL): string {
  return shownText(`${url.hostname}:${url.port || 443}`);
}

function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function codeOf(error: unknown): string {
  const { code, message } = object(error);
  const text = nonEmpty(code) ?? nonEmpty(message) ?? String(error);
  return /^[A-Z][A-Z0-9_]*$/.test(text) ? text : shownText(text);
}
