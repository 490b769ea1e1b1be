import { isIPv6 } from 'node:net';
import { durationOf, isDateTime, isDay } from './times.ts';

/** Formats of strings that an API server checks (kube-openapi, pkg/validation/strfmt), by name without dashes. Every other format is ignored by it. Undefined: only it can tell. */
const FORMATS: ReadonlyMap<string, (text: string) => boolean | undefined> = new Map(
  Object.entries({
    bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
    byte: (text) => text !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
    cidr: isCidr,
    date: isDay,
    datetime: isDateTime,
    duration: (text) => durationOf(text) !== undefined,
    email: isEmail,
    hexcolor: (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
    hostname: (text) =>
      Buffer.byteLength(text) <= 255 &&
      (HOST_LABEL.test(text) || HOST_NAME.test(text)) &&
      text.split('.').every((label) => Buffer.byteLength(label) <= 63),
    ipv4: isDotted,
    // An address without a zone.
    ipv6: (text) => isIPv6(text) && !text.includes('%'),
    mac: (text) =>
      /^(?=.{17}$|.{23}$|.{59}$)[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1)*[0-9a-fA-F]{2}$/.test(text) ||
      /^(?=.{14}$|.{19}$|.{49}$)(?:[0-9a-fA-F]{4}\.)+[0-9a-fA-F]{4}$/.test(text),
    uri: isRequestUri,
    uuid: (text) => /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/.test(text),
    uuid3: (text) => /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?3[0-9a-fA-F]{3}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/.test(text),
    uuid4: (text) =>
      /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?4[0-9a-fA-F]{3}-?[89abAB][0-9a-fA-F]{3}-?[0-9a-fA-F]{12}$/.test(text),
    uuid5: (text) =>
      /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?5[0-9a-fA-F]{3}-?[89abAB][0-9a-fA-F]{3}-?[0-9a-fA-F]{12}$/.test(text),
    // Checked, but by rules that are not worth a copy.
    creditcard: () => undefined,
    isbn: () => undefined,
    isbn10: () => undefined,
    isbn13: () => undefined,
    rgbcolor: () => undefined,
    ssn: () => undefined,
  }),
);

/** One label, or several of which the last has letters only. Letters and symbols of all scripts count. */
const HOST_LABEL = /^[a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]{0,62}$/u;
const HOST_NAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63}$/u;

/** Formats that only newer servers check, with the first minor version that does. */
export const FORMATS_SINCE: ReadonlyMap<string, number> = new Map([
  ['k8s-short-name', 34],
  ['k8s-long-name', 34],
]);

/** Whether a text has a format, for a server of Kubernetes 1.`minor`; undefined: it is checked there, and cannot be decided here. */
export function hasFormat(format: string, text: string, minor: number): boolean | undefined {
  const known = FORMATS.get(format.replaceAll('-', ''));
  if (known !== undefined) return known(text);
  // 1.34 knows them by name and looks for the name without its dashes, so it checks neither; what a later server does is not known here.
  const since = FORMATS_SINCE.get(format);
  return since === undefined || minor <= since ? true : undefined;
}

/** Whether any server checks a format. */
export function isChecked(format: string | undefined): boolean {
  return format !== undefined && (FORMATS.has(format.replaceAll('-', '')) || FORMATS_SINCE.has(format));
}

/** An address with the length of a prefix. */
function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/');
  if (slash < 0 || !/^\d+$/.test(text.slice(slash + 1))) return false;
  const [address, bits] = [text.slice(0, slash), Number(text.slice(slash + 1))];
  if (isIPv6(address)) return !address.includes('%') && bits <= 128;
  return isDotted(address) && bits <= 32;
}

/** An address of version 4, which may have leading zeros, and the notation of one within version 6. */
function isDotted(text: string): boolean {
  if (text.includes(':')) return text.includes('.') && isIPv6(text) && !text.includes('%');
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

/** What net/mail takes for an address: dotted words around an `@`, alone or in angle brackets behind a name. Quotes, comments and the like are left to the server. */
function isEmail(text: string): boolean | undefined {
  if (!text.includes('@')) return false;
  return MAILBOX.test(text) || undefined;
}

const WORD = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const ADDRESS = `${WORD}(?:\\.${WORD})*@${WORD}(?:\\.${WORD})*`;
const MAILBOX = new RegExp(`^(?:${ADDRESS}|(?:[A-Za-z0-9]+ )*<${ADDRESS}>)$`);

/** What url.ParseRequestURI takes: a path from the root, or anything behind a scheme. An authority that is out of the ordinary is left to the server. */
export function isRequestUri(text: string): boolean | undefined {
  // No control characters.
  if (!/^[ -~\u0080-\u{10ffff}]+$/u.test(text)) return false;
  if (text === '*') return true;
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0] ?? '';
  const [rest = ''] = text.slice(scheme.length).split('?', 1);
  // Without a slash it is opaque, and nobody looks into it.
  if (!rest.startsWith('/')) return scheme !== '';
  const path = scheme !== '' && rest.startsWith('//') ? rest.slice(2).replace(/^[^/]*/, '') : rest;
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return false;
  const authority = path === rest ? '' : rest.slice(2, rest.length - path.length);
  const [, address] = /^\[([\da-fA-F:.]+)\](?::\d*)?$/.exec(authority) ?? [];
  if (address !== undefined) return isIPv6(address) || undefined;
  return /^(?:[A-Za-z0-9._~!$&'()*+,;=:-]+@)?[\p{L}A-Za-z0-9._~-]*(?::\d*)?$/u.test(authority) || undefined;
}
