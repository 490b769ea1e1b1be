import { createHash, X509Certificate } from 'node:crypto';
import { keyText } from '@drydock/kube';
import type { Unverified } from '../cloud/availability.ts';
import { cloudConfigKey } from '../observe/cloud-config.ts';

/** Authorities of a private partition, as they are trusted. */
export interface Authorities {
  readonly kind: 'authorities';
  readonly pem: string | undefined;
  /** Another one after each change; '' where there are none. */
  readonly version: string;
}

const NONE: Authorities = { kind: 'authorities', pem: undefined, version: '' };
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]{1,65536}-----END CERTIFICATE-----/g;

/** Reads bundles, and remembers the last one: all sets of a cluster have the same. */
export function authoritiesReader(): (pem: string | undefined) => Authorities | Unverified {
  let last: { readonly text: string; readonly found: Authorities | Unverified } | undefined;
  return (text) => {
    if (text === undefined) return NONE;
    if (last?.text !== text) last = { text, found: read(text) };
    return last.found;
  };
}

function read(text: string): Authorities | Unverified {
  const blocks = text.match(CERTIFICATE) ?? [];
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch {
    return unreadable('has a certificate that cannot be read');
  }
  if (blocks.length === 0) return unreadable('has no certificate');
  const pem = blocks.join('\n');
  return { kind: 'authorities', pem, version: createHash('sha256').update(pem).digest('hex').slice(0, 16) };
}

function unreadable(why: string): Unverified {
  const what = `ca-bundle.pem of ConfigMap ${keyText(cloudConfigKey)}`;
  return { kind: 'unverified', missing: `a readable ${what}`, message: `${what} ${why}` };
}
