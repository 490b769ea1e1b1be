import { BlockList, isIP, isIPv6 } from 'node:net';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a server according to HTTPS_PROXY, HTTP_PROXY and NO_PROXY, read as Go programs read them: loopback is
 * never proxied, NO_PROXY takes host names, `.suffix`, `*.suffix`, addresses, CIDR blocks, `host:port` and `*`.
 */
export function proxyFromEnv(server: string, env: Env): string | undefined {
  const url = new URL(server);
  const proxy =
    url.protocol === 'https:' ? (env['https_proxy'] ?? env['HTTPS_PROXY']) : (env['http_proxy'] ?? env['HTTP_PROXY']);
  if (!proxy) return undefined;
  const host = url.hostname.replace('[', '').replace(']', '').toLowerCase();
  if (host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))) return undefined;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const exempt = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(',').some((entry) => matches(entry, host, port));
  if (exempt) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

function matches(raw: string, host: string, port: string): boolean {
  let entry = raw.trim().toLowerCase();
  if (entry === '') return false;
  if (entry === '*') return true;
  if (entry.includes('/')) return inBlock(entry, host);
  if (isIP(entry) !== 0) return entry === host;
  const colon = entry.lastIndexOf(':');
  if (colon >= 0) {
    if (entry.slice(colon + 1) !== port) return false;
    entry = entry.slice(0, colon).replace('[', '').replace(']', '');
  }
  if (entry.startsWith('*.')) entry = entry.slice(1);
  return entry.startsWith('.') ? host.endsWith(entry) : host === entry || host.endsWith(`.${entry}`);
}

function inBlock(entry: string, host: string): boolean {
  const slash = entry.indexOf('/');
  const net = entry.slice(0, slash);
  const bits = Number(entry.slice(slash + 1));
  const family = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');
  if (isIP(net) === 0 || isIP(host) === 0 || !Number.isInteger(bits) || bits < 0 || bits > (isIPv6(net) ? 128 : 32)) {
    return false;
  }
  const block = new BlockList();
  block.addSubnet(net, bits, family(net));
  return block.check(host, family(host));
}
