import { isIPv6 } from 'node:net';

/** Formats of strings that an API server checks (kube-openapi, pkg/validation/strfmt), by name. Every other format is ignored by it. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
  byte: (text) => text !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  cidr: isCidr,
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text),
  'date-time': isDateTime,
  datetime: isDateTime,
  duration: isDuration,
  // With or without a name before it (RFC 5322).
  email: (text) => /^(?:[^<>@]*<)?[^\s@<>()[\],;:\\"]+@[^\s@<>()[\],;:\\"]+(?:(?<=<[^<>]*)>|(?<!<[^<>]*))$/.test(text),
  hexcolor: (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  hostname: (text) =>
    (HOST_LABEL.test(text) || HOST_NAME.test(text)) &&
    Buffer.byteLength(text) <= 255 &&
    text.split('.').every((label) => Buffer.byteLength(label) <= 63),
  ipv4: isDotted,
  // An address without a zone.
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  mac: (text) =>
    /^[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}(?:(?:[:-][0-9a-fA-F]{2}){2})?$/.test(text) ||
    /^(?:[0-9a-fA-F]{4}\.){2,3}[0-9a-fA-F]{4}$/.test(text),
  uri: (text) => /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) || text.startsWith('/'),
  uuid: (text) => /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/.test(text),
  uuid3: (text) => /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?3[0-9a-fA-F]{3}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/.test(text),
  uuid4: (text) =>
    /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?4[0-9a-fA-F]{3}-?[89abAB][0-9a-fA-F]{3}-?[0-9a-fA-F]{12}$/.test(text),
  uuid5: (text) =>
    /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?5[0-9a-fA-F]{3}-?[89abAB][0-9a-fA-F]{3}-?[0-9a-fA-F]{12}$/.test(text),
};

/** One label, or several of which the last has letters only. Letters and symbols of all scripts count. */
const HOST_LABEL = /^[a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]{0,62}$/u;
const HOST_NAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63}$/u;

/** Formats that are checked, too, but whose rules are too loose to be worth a copy. */
const UNDECIDED: ReadonlySet<string> = new Set([
  'creditcard',
  'isbn',
  'isbn10',
  'isbn13',
  'password',
  'rgbcolor',
  'ssn',
]);

/** Formats that only newer servers check, with the first minor version that does. */
export const FORMATS_SINCE: ReadonlyMap<string, number> = new Map([
  ['k8s-short-name', 34],
  ['k8s-long-name', 34],
]);

/** Whether a text has a format, for a server of Kubernetes 1.`minor`; undefined: it is checked there, and cannot be decided here. */
export function hasFormat(format: string, text: string, minor: number): boolean | undefined {
  const exact = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (exact !== undefined) return exact(text);
  const name = format.replaceAll('-', '') === 'datetime' ? 'date-time' : format;
  const known = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (known !== undefined) return known(text);
  // 1.34 knows them by name and looks for the name without its dashes, so it checks neither; what a later server does is not known here.
  const since = FORMATS_SINCE.get(name);
  if (since !== undefined) return minor <= since ? true : undefined;
  return UNDECIDED.has(name) && name !== 'password' ? undefined : true;
}

/** Whether any server checks a format. */
export function isChecked(format: string | undefined): boolean {
  if (format === undefined) return false;
  const name = format.replaceAll('-', '') === 'datetime' ? 'date-time' : format;
  return Object.hasOwn(FORMATS, name) || FORMATS_SINCE.has(name) || (UNDECIDED.has(name) && name !== 'password');
}

/** An address with the length of a prefix. */
export function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/');
  if (slash < 0 || !/^(?:0|[1-9]\d{0,2})$/.test(text.slice(slash + 1))) return false;
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

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/;

/** RFC 3339, with the latitude that the API server has. */
function isDateTime(text: string): boolean {
  return DATE_TIME.test(text) && isDay(text) && twoAt(text, 11) <= 23 && twoAt(text, 14) <= 59 && twoAt(text, 17) <= 60;
}

function isDay(text: string): boolean {
  const [year, month, day] = [twoAt(text, 0) * 100 + twoAt(text, 2), twoAt(text, 5), twoAt(text, 8)];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const short = month === 4 || month === 6 || month === 9 || month === 11;
  const last = month === 2 ? (leap ? 29 : 28) : short ? 30 : 31;
  return month >= 1 && month <= 12 && day >= 1 && day <= last;
}

/** The number that two digits make. */
function twoAt(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}

/** Go's durations, and the longer units that strfmt adds. */
function isDuration(text: string): boolean {
  return /^[+-]?(?:0|(?:\s*(?:\d+(?:\.\d*)?|\.\d+)\s*(?:ns|nano|us|µs|μs|micro|ms|milli|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?)+)$/i.test(
    text.trim(),
  );
}
