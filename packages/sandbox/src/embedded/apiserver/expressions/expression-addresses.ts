import { isIP, isIPv4 } from 'node:net';

/** An IP address as a number of 32 or 128 bits. */
export interface Address {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** Parses an address; undefined for what is none, for one with a zone, and for an IPv4 address in IPv6 clothes. */
export function parseAddress(text: string): Address | undefined {
  const version = isIP(text);
  if (version === 0 || text.includes('%')) return undefined;
  if (version === 4) return { version: 4, value: fromParts(text.split('.').map(Number), 8n) };
  const groups = groupsOf(text);
  const value = fromParts(groups, 16n);
  if (value >> 32n === 0xffffn) return undefined;
  return { version: 6, value };
}

function groupsOf(text: string): number[] {
  const dotted = /(\d+\.\d+\.\d+\.\d+)$/.exec(text)?.[1];
  let whole = text;
  if (dotted !== undefined && isIPv4(dotted)) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
    whole = `${text.slice(0, -dotted.length)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [left = '', right] = whole.split('::');
  const read = (part: string): number[] => (part === '' ? [] : part.split(':').map((one) => Number.parseInt(one, 16)));
  if (right === undefined) return read(left);
  const [head, tail] = [read(left), read(right)];
  return [...head, ...new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail];
}

function fromParts(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);
}

/** The canonical text. */
export function addressText({ version, value }: Address): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
  const groups = Array.from({ length: 8 }, (_none, at) =>
    Number((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16),
  );
  const zeros = [
    ...groups
      .map((one) => (one === '0' ? '0' : 'x'))
      .join('')
      .matchAll(/0{2,}/g),
  ];
  const longest = zeros.toSorted((a, b) => b[0].length - a[0].length)[0];
  if (longest === undefined) return groups.join(':');
  const head = groups.slice(0, longest.index).join(':');
  return `${head}::${groups.slice(longest.index + longest[0].length).join(':')}`;
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

/** The range with the bits behind its prefix cleared. */
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

/** Whether an address is in a named range. */
export function isWithin(address: Address, range: string): boolean {
  const parsed = parseRange(range);
  return parsed !== undefined && contains(parsed, address);
}
