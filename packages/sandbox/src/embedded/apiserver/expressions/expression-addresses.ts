import { isIP } from 'node:net';

/** An IP address as a number of 32 or 128 bits. */
export interface Address {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** Parses an address; undefined for other texts, for addresses with a zone, and for IPv4-mapped IPv6 addresses. */
export function parseAddress(text: string): Address | undefined {
  const version = isIP(text);
  if (version === 0 || text.includes('%')) return undefined;
  if (version === 4) return { version: 4, value: fromParts(text.split('.').map(Number), 8n) };
  const groups = groupsOf(text);
  const value = fromParts(groups, 16n);
  if (value >> 32n === 0xffffn) return undefined;
  return { version: 6, value };
}

/** The groups of an IPv6 address, as numbers. */
function groupsOf(text: string): number[] {
  const [left = '', right] = canonicalIPv6(text).split('::');
  const read = (part: string): number[] => (part === '' ? [] : part.split(':').map((one) => Number.parseInt(one, 16)));
  if (right === undefined) return read(left);
  const [head, tail] = [read(left), read(right)];
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** RFC 5952, which URLs follow. */
function canonicalIPv6(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function fromParts(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);
}

/** The canonical text. */
export function addressText({ version, value }: Address): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
  const groups = Array.from({ length: 8 }, (_none, at) => (value >> BigInt(112 - 16 * at)) & 0xffffn);
  return canonicalIPv6(groups.map((group) => group.toString(16)).join(':'));
}

/** A range of addresses. */
export interface Range {
  readonly address: Address;
  readonly bits: number;
}

/** Parses CIDR notation. */
export function parseRange(text: string): Range | undefined {
  const [base = '', bits = '', more] = text.split('/');
  const address = parseAddress(base);
  if (address === undefined || more !== undefined || !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  return Number(bits) <= widthOf(address) ? { address, bits: Number(bits) } : undefined;
}

function widthOf({ version }: Address): number {
  return version === 4 ? 32 : 128;
}

/** The range with the bits after its prefix cleared. */
export function masked({ address, bits }: Range): Range {
  const shift = BigInt(widthOf(address) - bits);
  return { address: { ...address, value: (address.value >> shift) << shift }, bits };
}

/** Whether an address is in a range. */
export function contains(range: Range, address: Address): boolean {
  if (range.address.version !== address.version) return false;
  const shift = BigInt(widthOf(address) - range.bits);
  return range.address.value >> shift === address.value >> shift;
}

/** Whether an address is in a range in CIDR notation. */
export function isWithin(address: Address, range: string): boolean {
  const parsed = parseRange(range);
  return parsed !== undefined && contains(parsed, address);
}
