import { isIP, isIPv4, isIPv6 } from 'node:net';

/** Formats of strings that an API server checks (kube-openapi, pkg/validation/strfmt), by name. Every other format is ignored by it. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  cidr: isCidr,
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text),
  'date-time': isDateTime,
  datetime: isDateTime,
  duration: isDuration,
  email: (text) => /^[^\s@<>()[\],;:\\"]+@[^\s@<>()[\],;:\\"]+$/.test(text),
  hexcolor: (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  hostname: (text) =>
    text.length <= 255 && /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,62})?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,62})?)*\.?$/.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
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

const LATER: Readonly<Record<string, (text: string) => boolean>> = {
  'k8s-short-name': (text) => text.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(text),
  'k8s-long-name': (text) =>
    text.length <= 253 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/.test(text),
};

/** Whether a text has a format, for a server of Kubernetes 1.`minor`; undefined: it is checked there, and cannot be decided here. */
export function hasFormat(format: string, text: string, minor: number): boolean | undefined {
  const name = format.replaceAll('-', '') === 'datetime' ? 'date-time' : format;
  const known = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (known !== undefined) return known(text);
  const since = FORMATS_SINCE.get(name);
  if (since !== undefined) return minor < since || LATER[name]?.(text) === true;
  return UNDECIDED.has(name) && name !== 'password' ? undefined : true;
}

/** An address with the length of a prefix. */
export function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/');
  if (slash < 0 || !/^(?:0|[1-9]\d{0,2})$/.test(text.slice(slash + 1))) return false;
  const family = isIP(text.slice(0, slash));
  return family !== 0 && Number(text.slice(slash + 1)) <= (family === 4 ? 32 : 128);
}

/** RFC 3339, with the latitude that the API server has. */
function isDateTime(text: string): boolean {
  const [, day, hour, minute, second] =
    /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/.exec(text) ?? [];
  return day !== undefined && isDay(day) && Number(hour) <= 23 && Number(minute) <= 59 && Number(second) <= 60;
}

function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.valueOf()) && at.toISOString().startsWith(text);
}

/** Go's durations, and the longer units that strfmt adds. */
function isDuration(text: string): boolean {
  return /^[+-]?(?:0|(?:\s*(?:\d+(?:\.\d*)?|\.\d+)\s*(?:ns|nano|us|µs|μs|micro|ms|milli|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?)+)$/i.test(
    text.trim(),
  );
}
