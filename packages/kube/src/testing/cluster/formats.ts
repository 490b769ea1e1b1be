import { isIP, isIPv4, isIPv6 } from 'node:net';

/** Whether texts have the formats that schemas may name; a format that is not here is not looked at. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  byte: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  cidr: (text) => {
    const [address = '', bits = '', more] = text.split('/');
    const version = isIP(address);
    return more === undefined && version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
  },
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDate(text),
  'date-time': isDateTime,
  datetime: isDateTime,
  duration: (text) => GO_DURATION.test(text) || ISO_DURATION.test(text),
  email: (text) => /^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/.test(text) && !text.includes('..'),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  mac: (text) => /^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$/.test(text),
  uri: (text) => /^([A-Za-z][-A-Za-z0-9+.]*:\S|\/)/.test(text) && !/[\s<>]/.test(text),
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID.test(text) && text.replaceAll('-', '')[12] === '3',
  uuid4: (text) => UUID.test(text) && text.replaceAll('-', '')[12] === '4',
  uuid5: (text) => UUID.test(text) && text.replaceAll('-', '')[12] === '5',
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
};

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const HOSTNAME = /^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$/;
const GO_DURATION = /^[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$/;
const ISO_DURATION =
  /^\d+\s*(ns|us|µs|ms|s|sec|second|seconds|m|min|minute|minutes|h|hr|hour|hours|d|day|days|w|week|weeks)$/;

function isDate(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number);
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDateTime(text: string): boolean {
  const parts = /^\d{4}-\d{2}-\d{2}[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.exec(text);
  return parts !== null && isDate(text) && Number(parts[1]) < 24 && Number(parts[2]) < 60 && Number(parts[3]) < 60;
}

/** Whether a text has a format. */
export function hasFormat(text: string, format: string): boolean {
  return FORMATS[format]?.(text) ?? true;
}
