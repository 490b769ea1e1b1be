/**
 * The few DER encodings (X.690) that an X.509 certificate needs. Each function returns one complete
 * tag-length-value; nothing here reads DER.
 */

function tlv(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size: number[] = [];
  for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) size.unshift(rest % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length, ...size]), body]);
}

/** SEQUENCE of encoded parts. */
export const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);

/** SET of one encoded part: a SET OF several would have to be sorted. */
export const set = (part: Uint8Array): Buffer => tlv(0x31, part);

/** Explicit context tag, as in `[3] EXPLICIT Extensions`. */
export const explicit = (tag: number, part: Uint8Array): Buffer => tlv(0xa0 | tag, part);

/** Implicit primitive context tag, as in `[7] IMPLICIT OCTET STRING`. */
export const implicit = (tag: number, content: Uint8Array): Buffer => tlv(0x80 | tag, content);

/** Non-negative INTEGER from big-endian bytes; leading zeros are normalized. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const digits = bytes.subarray(start);
  const pad = digits.length === 0 || (digits[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return tlv(0x02, pad, digits);
}

/** BOOLEAN TRUE. FALSE is always a default in X.509 and so never encoded. */
export const yes = (): Buffer => tlv(0x01, Buffer.from([0xff]));

/** BIT STRING; `unused` is the number of unused bits in the last byte. */
export const bitString = (bytes: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.from([unused]), bytes);

/** OCTET STRING. */
export const octetString = (bytes: Uint8Array): Buffer => tlv(0x04, bytes);

/** UTF8String. */
export const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text, 'utf8'));

/** OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const base128 = [arc % 128];
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128))
      base128.unshift(0x80 | (high % 128));
    bytes.push(...base128);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** UTCTime, which X.509 prescribes for dates before 2050 (RFC 5280 §4.1.2.5). */
export function utcTime(when: Date): Buffer {
  const digits = when.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return tlv(0x17, Buffer.from(`${digits}Z`, 'ascii'));
}
