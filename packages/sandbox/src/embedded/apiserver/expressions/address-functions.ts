import {
  type Address,
  addressText,
  contains,
  isWithin,
  masked,
  parseAddress,
  parseRange,
  type Range,
} from './expression-addresses.ts';
import { EvaluationError } from './expression-errors.ts';
import { Opaque } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';

const ip = (address: Address): Opaque => new Opaque('ip', address, addressText(address));
const cidr = (range: Range): Opaque => new Opaque('cidr', range, `${addressText(range.address)}/${range.bits}`);
const addressOf = ({ data }: Opaque): Address => data as Address;
const rangeOf = ({ data }: Opaque): Range => data as Range;

function parsedAddress(text: string): Address {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  const quoted = JSON.stringify(text);
  if (/^::ffff:\d+\./i.test(text)) throw new EvaluationError(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  if (/^[0-9a-f:]+%/i.test(text)) throw new EvaluationError(`IP address ${quoted} with zone value is not allowed`);
  throw new EvaluationError(
    `IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): unable to parse IP`,
  );
}

function parsedRange(text: string): Range {
  const range = parseRange(text);
  if (range !== undefined) return range;
  const problem = `netip.ParsePrefix(${JSON.stringify(text)}): ${text.includes('/') ? 'unable to parse IP' : "no '/'"}`;
  // The server repeats itself.
  const prefix = 'network address parse error during conversion from string: ';
  throw new EvaluationError(`${prefix}${prefix}${problem}`);
}

const isInOneOf =
  (...ranges: readonly string[]) =>
  (a: Opaque): boolean =>
    ranges.some((range) => isWithin(addressOf(a), range));

const isSpecial = isInOneOf(
  ...['0.0.0.0/32', '255.255.255.255/32', '127.0.0.0/8', '224.0.0.0/4', '169.254.0.0/16'],
  ...['::/128', '::1/128', 'ff00::/8', 'fe80::/10'],
);

const covers = (a: Range, b: Range): boolean => a.bits <= b.bits && contains(a, masked(b).address);

/** Functions of IP addresses and CIDR ranges. */
export const ADDRESS_FUNCTIONS: Functions = {
  'isIP(string):bool': (text: string) => parseAddress(text) !== undefined,
  'ip(string):ip': (text: string) => ip(parsedAddress(text)),
  'ip::isCanonical(string):bool': (text: string) => addressText(parsedAddress(text)) === text,
  'ip.family():int': (a: Opaque) => BigInt(addressOf(a).version),
  'ip.isUnspecified():bool': (a: Opaque) => addressOf(a).value === 0n,
  'ip.isLoopback():bool': isInOneOf('127.0.0.0/8', '::1/128'),
  'ip.isLinkLocalMulticast():bool': isInOneOf('224.0.0.0/24', 'ff02::/16'),
  'ip.isLinkLocalUnicast():bool': isInOneOf('169.254.0.0/16', 'fe80::/10'),
  'ip.isGlobalUnicast():bool': (a: Opaque) => !isSpecial(a),
  'isCIDR(string):bool': (text: string) => parseRange(text) !== undefined,
  'cidr(string):cidr': (text: string) => cidr(parsedRange(text)),
  'cidr.containsIP(string):bool': (a: Opaque, text: string) => contains(rangeOf(a), parsedAddress(text)),
  'cidr.containsIP(ip):bool': (a: Opaque, b: Opaque) => contains(rangeOf(a), addressOf(b)),
  'cidr.containsCIDR(string):bool': (a: Opaque, text: string) => covers(rangeOf(a), parsedRange(text)),
  'cidr.containsCIDR(cidr):bool': (a: Opaque, b: Opaque) => covers(rangeOf(a), rangeOf(b)),
  'cidr.ip():ip': (a: Opaque) => ip(rangeOf(a).address),
  'cidr.masked():cidr': (a: Opaque) => cidr(masked(rangeOf(a))),
  'cidr.prefixLength():int': (a: Opaque) => BigInt(rangeOf(a).bits),
};
