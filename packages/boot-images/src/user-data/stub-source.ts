import { X509Certificate } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { orUndefined } from '../errors.ts';
import { at, list, nonEmpty, object, parsedJson } from '../observe/json.ts';
import { SERVER_PORT } from './machine-config-server.ts';

/** Where a stub has its machine fetch a configuration, and whom the machine trusts there besides the authorities of its image. */
export interface StubSource {
  readonly url: URL;
  readonly authorities: readonly X509Certificate[];
  /** Why these are not all that the stub names, as a clause; absent where they are. */
  readonly unread?: string;
}

/** Bounds of a bundle, generous by a factor of ten: entries and certificates, bytes of all, bytes of one. */
const MOST_ENTRIES = 32;
const MOST_CERTIFICATES = 64;
const MOST_BYTES = 512 << 10;
const MOST_OF_ONE = 16 << 10;

/** See {@link StubSource}; undefined where the stub fetches nothing by https, or cannot be read. Of several sources the one of machine-config-server counts. */
export function stubSourceOf(text: string): StubSource | undefined {
  const ignition = object(object(parsedJson(text))['ignition']);
  const config = object(ignition['config']);
  const { merge, append, replace } = config;
  const urls = [...list(merge), ...list(append), replace].slice(0, MOST_ENTRIES).flatMap((one) => {
    const source = nonEmpty(object(one)['source']);
    const url = source === undefined ? undefined : orUndefined(() => new URL(source));
    return url?.protocol === 'https:' ? [url] : [];
  });
  const url = urls.find(({ port }) => port === SERVER_PORT) ?? urls[0];
  if (url === undefined) return undefined;
  const named = list(at(ignition, ['security', 'tls', 'certificateAuthorities']));
  const authorities: X509Certificate[] = [];
  let unread: string | undefined = named.length > MOST_ENTRIES ? `it names ${named.length} bundles` : undefined;
  for (const one of named.slice(0, MOST_ENTRIES)) {
    const bundle = bundleOf(object(one));
    if (typeof bundle === 'string') {
      unread ??= bundle;
      continue;
    }
    const { certificates, more } = certificatesIn(bundle.text, MOST_CERTIFICATES - authorities.length);
    authorities.push(...certificates);
    if (more) unread ??= `it names more than ${MOST_CERTIFICATES} certificates`;
  }
  return { url, authorities, ...(unread === undefined ? {} : { unread }) };
}

/** The certificates of a PEM bundle, at most so many. What is none is passed over, as Ignition does it. Linear. */
export function certificatesIn(
  pem: string,
  most: number = MOST_CERTIFICATES,
): { readonly certificates: readonly X509Certificate[]; readonly more: boolean } {
  const [BEGIN, END] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----'];
  const certificates: X509Certificate[] = [];
  let seen = 0;
  for (let from = pem.indexOf(BEGIN); from >= 0; ) {
    const to = pem.indexOf(END, from);
    if (to < 0) break;
    if (seen === most) return { certificates, more: true };
    seen += 1;
    const block = pem.slice(from, to + END.length);
    const certificate = block.length > MOST_OF_ONE ? undefined : orUndefined(() => new X509Certificate(block));
    if (certificate !== undefined) certificates.push(certificate);
    from = pem.indexOf(BEGIN, to);
  }
  return { certificates, more: false };
}

/** What an entry of certificateAuthorities holds; or why that is not known, as a clause. */
function bundleOf({ source, compression }: Readonly<Record<string, unknown>>): { readonly text: string } | string {
  if (typeof source !== 'string' || source === '') return { text: '' };
  if (!source.startsWith('data:')) return 'it fetches a bundle from elsewhere';
  if (source.length > MOST_BYTES) return 'it has a bundle that is too large';
  const comma = source.indexOf(',');
  if (comma < 0) return 'it has a bundle that cannot be read';
  const [head, body] = [source.slice(0, comma), source.slice(comma + 1)];
  const bytes = orUndefined(() => {
    const plain = decodeURIComponent(body);
    const decoded = Buffer.from(plain, head.endsWith(';base64') ? 'base64' : 'utf8');
    return compression === 'gzip' ? gunzipSync(decoded, { maxOutputLength: MOST_BYTES }) : decoded;
  });
  return bytes === undefined ? 'it has a bundle that cannot be read' : { text: bytes.toString('latin1') };
}
