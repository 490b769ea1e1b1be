import type { TlsTrust } from '@drydock/vsphere';
import { shell } from './next-command.ts';
import { readNamedFile, TemplateProblem } from './problem.ts';
import type { TrustSettings } from './settings.ts';

/**
 * What the client is told about trust. Within one layer the strictest wins: a fingerprint, then a known host, then authorities, and `insecure` only
 * where there is none of them. Nothing at all: the roots of the system.
 */
export async function trustOf(settings: TrustSettings, url: string): Promise<TlsTrust> {
  const pin = settings.thumbprint ?? (await knownFingerprint(settings.knownHosts ?? [], new URL(url)));
  if (pin !== undefined && pin !== '') return { sha256Pin: checkedPin(pin) };
  const authorities = await Promise.all((settings.ca ?? []).map(readPem));
  if (authorities.length > 0) return { ca: authorities.join('\n') };
  return settings.insecure === true ? { insecure: true } : {};
}

/** The fingerprint that files in govc's format have for a host; a file that does not exist says nothing. */
async function knownFingerprint(files: readonly string[], url: URL): Promise<string | undefined> {
  const wanted = withPort(url.host);
  for (const file of files) {
    const content = await readNamedFile(file).catch((error: Error) => {
      if ((error.cause as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    });
    const known = content.split('\n').map((line) => line.trim().split(/\s+/));
    const found = known.find(([host = '', fingerprint]) => fingerprint !== undefined && withPort(host) === wanted);
    if (found !== undefined) return found[1];
  }
  return undefined;
}

function withPort(host: string): string {
  return (/:\d+$/.test(host) ? host : `${host}:443`).toLowerCase();
}

function checkedPin(pin: string): string {
  const digits = pin.replaceAll(/[:\s-]/g, '');
  if (/^[0-9a-f]{64}$/i.test(digits)) return pin;
  const sha1 = /^[0-9a-f]{40}$/i.test(digits);
  throw new TemplateProblem({
    code: 'THUMBPRINT_INVALID',
    message: sha1
      ? 'the thumbprint is a SHA-1 fingerprint, which can be forged; a SHA-256 fingerprint (64 hex digits) is needed'
      : 'the thumbprint is not a SHA-256 fingerprint (64 hex digits)',
    next: 'govc about.cert -k -thumbprint',
  });
}

async function readPem(file: string): Promise<string> {
  const content = await readNamedFile(file);
  if (content.includes('-----BEGIN CERTIFICATE-----')) return content;
  throw new TemplateProblem({
    code: 'CA_INVALID',
    message: `${file} holds no PEM certificate`,
    next: shell`openssl x509 -in ${file} -noout -subject`,
  });
}
