import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, getCACertificates } from 'node:tls';
import type { TlsTrust } from '@drydock/vsphere';
import type { CheckLine } from './check-line.ts';
import { quoted } from './next-command.ts';

/** What a server shows before anybody logs in. */
export interface ServerCertificate {
  readonly subject: string;
  readonly issuer: string;
  readonly validTo: Date;
  /** SHA-256, with colons. */
  readonly fingerprint: string;
  /** Why the chain or the name is not trusted; undefined where it is. */
  readonly untrusted?: string;
}

const HANDSHAKE_MS = 10_000;
const DAY_MS = 86_400_000;

/** Reads a server's certificate. No byte of a request is sent. `ca` is trusted besides the roots of the system. */
export async function readCertificate(
  url: URL,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<ServerCertificate> {
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  const socket = connect({
    host,
    port: url.port === '' ? 443 : Number(url.port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }),
    rejectUnauthorized: false,
    timeout: HANDSHAKE_MS,
  });
  socket.once('timeout', () => socket.destroy(new Error('the TLS handshake took too long')));
  try {
    await once(socket, 'secureConnect', { signal });
    const certificate = new X509Certificate(socket.getPeerCertificate(true).raw);
    return {
      subject: oneLine(certificate.subject),
      issuer: oneLine(certificate.issuer),
      validTo: new Date(certificate.validTo),
      fingerprint: certificate.fingerprint256,
      ...(socket.authorized ? {} : { untrusted: String(socket.authorizationError) }),
    };
  } finally {
    socket.destroy();
  }
}

/** What a certificate means under the trust that is set. */
export function certificateLine(
  seen: ServerCertificate,
  trust: TlsTrust,
  options: { readonly command: string; readonly now: number },
): CheckLine {
  const days = Math.floor((seen.validTo.getTime() - options.now) / DAY_MS);
  const what = `${seen.subject}, valid until ${seen.validTo.toISOString().slice(0, 10)}, SHA-256 ${seen.fingerprint}`;
  const line = (state: CheckLine['state'], why: string, next?: string): CheckLine => ({
    name: 'tls',
    state,
    detail: `${why}: ${what}`,
    ...(next === undefined ? {} : { next }),
  });
  const pinned = `${options.command} --thumbprint ${quoted(seen.fingerprint)}`;
  const plain = (text: string): string => text.replaceAll(/[:\s-]/g, '').toLowerCase();
  if (trust.sha256Pin !== undefined)
    return plain(trust.sha256Pin) === plain(seen.fingerprint)
      ? line('ok', 'it is the pinned one')
      : line('FAIL', 'another one than the pinned', `${pinned}   # only if you know why it changed`);
  if (seen.untrusted !== undefined)
    return trust.insecure === true
      ? line('warn', `NOT VERIFIED (${seen.untrusted})`, `${pinned}   # after you compared it`)
      : line(
          'FAIL',
          `not trusted (${seen.untrusted}, issued by ${seen.issuer})`,
          `${pinned}   # after you compared it, or --ca FILE`,
        );
  if (trust.insecure === true) return line('warn', 'trusted, but verification is turned off', options.command);
  return days < 30 ? line('warn', `trusted, but it ends in ${days} days`) : line('ok', 'trusted');
}

function oneLine(name: string): string {
  return name.split('\n').join(', ');
}
