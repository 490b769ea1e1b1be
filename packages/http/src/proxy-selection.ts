import { BlockList, isIP } from 'node:net';

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The schemes of proxies that can be dialled. */
export const PROXY_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'socks5:']);

/**
 * The proxy for a request to a server, read from HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go programs read them (package
 * golang.org/x/net/http/httpproxy): the upper-case variable wins, loopback addresses are reached directly, and NO_PROXY takes `*`, names
 * with their subdomains, `.suffix` and `*.suffix` for subdomains alone, addresses and CIDR blocks, the names and addresses also with a
 * port. A proxy without a scheme speaks HTTP. Undefined: no proxy. The result is not checked; see `isProxy`.
 */
export function proxyFromEnv(server: string | URL, env: Env): string | undefined {
  const { protocol, hostname, port } = new URL(server);
  const https = protocol === 'https:';
  const proxy = https ? variable(env, 'HTTPS_PROXY') : variable(env, 'HTTP_PROXY');
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (proxy === undefined || host === 'localhost' || contains('127.0.0.0/8', host) || contains('::1/128', host))
    return undefined;
  const target = { host, port: port === '' ? (https ? '443' : '80') : port };
  if ((variable(env, 'NO_PROXY') ?? '').split(',').some((entry) => matches(entry.trim().toLowerCase(), target)))
    return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** Whether an address can be dialled as a proxy. Its user and password must be decodable, too, because an error about them would quote them. */
export function isProxy(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || !PROXY_SCHEMES.has(url.protocol)) return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
}

function variable(env: Env, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()] || undefined;
}

function matches(entry: string, target: { readonly host: string; readonly port: string }): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return contains(entry, target.host);
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  // An IPv6 address without brackets has colons of its own, and no port.
  const named = bracketed ?? plain ?? entry;
  if (named === '' || (port !== undefined && port !== target.port)) return false;
  if (isIP(named) !== 0) return contains(`${named}/${isIP(named) === 4 ? 32 : 128}`, target.host);
  const domain = named.startsWith('*.') ? named.slice(1) : named;
  return domain.startsWith('.')
    ? target.host.endsWith(domain)
    : target.host === domain || target.host.endsWith(`.${domain}`);
}

/** Whether a CIDR block contains an address; false for host names, and for blocks that are none. */
function contains(block: string, address: string): boolean {
  const [net = '', length = ''] = block.split('/');
  const [family, of] = [isIP(net), isIP(address)];
  if (family === 0 || of === 0 || !/^\d{1,3}$/.test(length) || Number(length) > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(net, Number(length), family === 4 ? 'ipv4' : 'ipv6');
  return list.check(address, of === 4 ? 'ipv4' : 'ipv6');
}
