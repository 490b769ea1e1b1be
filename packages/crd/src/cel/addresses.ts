import { isIP } from 'node:net';
import { type Add, fault } from './fault.ts';

/** An address, version 4 or 6. */
export class Ip {
  readonly family: 4 | 6;
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    this.family = family;
    this.bits = bits;
  }

  /** As netip.Addr writes it: the first of the longest runs of zeros in version 6 is left out. */
  get text(): string {
    if (this.family === 4) return [24n, 16n, 8n, 0n].map((shift) => (this.bits >> shift) & 255n).join('.');
    const groups = GROUPS.map((shift) => ((this.bits >> shift) & 0xffffn).toString(16));
    const runs = [...groups.join(':').matchAll(/(?<![\da-f])0(?::0(?![\da-f]))+/g)].map(([run]) => run);
    const longest = runs.toSorted((a, b) => b.length - a.length)[0];
    if (longest === undefined) return groups.join(':');
    const [before = '', ...after] = groups.join(':').split(longest);
    return `${before.replace(/:$/, '')}::${after.join(longest).replace(/^:/, '')}`;
  }

  /** Whether the first bits are these. */
  starts(prefix: bigint, bits: number): boolean {
    return this.bits >> BigInt(this.size - bits) === prefix;
  }

  get size(): number {
    return this.family === 4 ? 32 : 128;
  }
}

/** An address with the length of a prefix. */
export class Cidr {
  readonly ip: Ip;
  readonly length: number;

  constructor(ip: Ip, length: number) {
    this.ip = ip;
    this.length = length;
  }

  get text(): string {
    return `${this.ip.text}/${this.length}`;
  }

  holds(ip: Ip): boolean {
    const rest = BigInt(this.ip.size - this.length);
    return this.ip.family === ip.family && this.ip.bits >> rest === ip.bits >> rest;
  }
}

const GROUPS = [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n];

/** k8s.io/apiserver, pkg/cel/library, ip.go and cidr.go: no zones, and no addresses of version 4 in the form of version 6. */
export function addAddresses(add: Add): void {
  add('ip(string): Ip', (text: string) => orFault(readIp(text)));
  add('isIP(string): bool', (text: string) => readIp(text) !== undefined);
  add('ip_isCanonical(string): bool', (text: string) => orFault(readIp(text)).text === text);
  add('Ip == Ip', same);
  add('Ip.family(): int', ({ family }: Ip) => BigInt(family));
  add('Ip.isUnspecified(): bool', ({ bits }: Ip) => bits === 0n);
  add('Ip.isLoopback(): bool', isLoopback);
  add('Ip.isLinkLocalMulticast(): bool', isLinkLocalMulticast);
  add('Ip.isLinkLocalUnicast(): bool', isLinkLocalUnicast);
  add('Ip.isGlobalUnicast(): bool', (ip: Ip) => {
    const multicast = ip.family === 4 ? ip.starts(0xen, 4) : ip.starts(0xffn, 8);
    const broadcast = ip.family === 4 && ip.bits === 0xffff_ffffn;
    return ip.bits !== 0n && !broadcast && !isLoopback(ip) && !multicast && !isLinkLocalUnicast(ip);
  });
  add('cidr(string): Cidr', (text: string) => orFault(readCidr(text)));
  add('isCIDR(string): bool', (text: string) => readCidr(text) !== undefined);
  add('Cidr == Cidr', (a: Cidr, b: Cidr) => same(a.ip, b.ip) && a.length === b.length);
  add('Cidr.containsIP(string): bool', (cidr: Cidr, text: string) => cidr.holds(orFault(readIp(text))));
  add('Cidr.containsIP(Ip): bool', (cidr: Cidr, ip: Ip) => cidr.holds(ip));
  add('Cidr.containsCIDR(string): bool', (cidr: Cidr, text: string) => contains(cidr, orFault(readCidr(text))));
  add('Cidr.containsCIDR(Cidr): bool', contains);
  add('Cidr.ip(): Ip', ({ ip }: Cidr) => ip);
  add('Cidr.prefixLength(): int', ({ length }: Cidr) => BigInt(length));
  add('Cidr.masked(): Cidr', ({ ip, length }: Cidr) => {
    const rest = BigInt(ip.size - length);
    return new Cidr(new Ip(ip.family, (ip.bits >> rest) << rest), length);
  });
}

function contains(cidr: Cidr, other: Cidr): boolean {
  return cidr.length <= other.length && cidr.holds(other.ip);
}

function same(a: Ip, b: Ip): boolean {
  return a.family === b.family && a.bits === b.bits;
}

function isLoopback(ip: Ip): boolean {
  return ip.family === 4 ? ip.starts(127n, 8) : ip.bits === 1n;
}

function isLinkLocalMulticast(ip: Ip): boolean {
  return ip.family === 4 ? ip.starts(0xe0_0000n, 24) : (ip.bits >> 112n) % 0x1_0000n === 0xff02n || isScoped(ip);
}

/** Of version 6 the flags of a multicast address do not count. */
function isScoped(ip: Ip): boolean {
  return ip.starts(0xffn, 8) && ((ip.bits >> 112n) & 0xfn) === 2n;
}

function isLinkLocalUnicast(ip: Ip): boolean {
  return ip.family === 4 ? ip.starts(0xa9fen, 16) : ip.starts(0x3fan, 10);
}

/** netip.ParseAddr without what is left out here; undefined: it is no address. */
function readIp(text: string): Ip | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return undefined;
  if (family === 4) return new Ip(4, numberOf(text));
  const dotted = /[\d.]+$/.exec(text)?.[0] ?? '';
  const low = dotted.includes('.') ? numberOf(dotted) : 0n;
  const plain = dotted.includes('.')
    ? `${text.slice(0, -dotted.length)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`
    : text;
  const [head = '', tail] = plain.split('::');
  const [first, last] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const groups = [
    ...(first ?? []),
    ...Array(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill('0'),
    ...(last ?? []),
  ];
  const bits = groups.reduce((sum: bigint, group: string) => (sum << 16n) | BigInt(`0x${group}`), 0n);
  return bits >> 32n === 0xffffn ? undefined : new Ip(6, bits);
}

function numberOf(dotted: string): bigint {
  return dotted.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

/** netip.ParsePrefix. */
function readCidr(text: string): Cidr | undefined {
  const [, address = '', bits = ''] = /^([^/]*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const ip = bits === '' ? undefined : readIp(address);
  return ip === undefined || Number(bits) > ip.size ? undefined : new Cidr(ip, Number(bits));
}

function orFault<T>(answer: T | undefined): T {
  if (answer === undefined) throw fault('a text that is no address');
  return answer;
}
