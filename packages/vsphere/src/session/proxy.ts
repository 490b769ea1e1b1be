import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { VimError } from '../errors.ts';

/** Chooses the proxy of a host:port from HTTPS_PROXY and NO_PROXY (lower case wins, as in curl). */
export function proxyFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): (hostPort: string) => URL | undefined {
  const configured = env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '';
  const exempt = (env['no_proxy'] ?? env['NO_PROXY'] ?? '')
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '');
  if (configured === '') return () => undefined;
  // Not quoted, and without the parser's error, which has all of it: a password may be in it.
  const proxy = URL.parse(configured.includes('://') ? configured : `http://${configured}`);
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:')
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_REFUSED',
      op: 'connect',
      message: 'the proxy that HTTPS_PROXY names is not an http:// or https:// URL',
      sent: false,
    });
  return (hostPort) => (isExempt(hostPort.toLowerCase(), exempt) ? undefined : proxy);
}

function isExempt(hostPort: string, entries: readonly string[]): boolean {
  const host = hostPort.slice(0, hostPort.lastIndexOf(':')).replaceAll(/[[\]]/g, '');
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return true;
  return entries.some((entry) => {
    if (entry === '*' || entry === hostPort) return true;
    const domain = entry.startsWith('*.') ? entry.slice(2) : entry.startsWith('.') ? entry.slice(1) : entry;
    return host === domain || host.endsWith(`.${domain}`);
  });
}

/** A TCP connection through an HTTP proxy's CONNECT. */
export function openTunnel(proxy: URL, host: string, port: number, timeoutMs: number): Promise<Socket> {
  const target = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const headers: Record<string, string> = { host: target };
  if (proxy.username !== '') {
    const pair = `${decoded(proxy.username)}:${decoded(proxy.password)}`;
    headers['proxy-authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
  const secure = proxy.protocol === 'https:';
  // Not by an import, which would load all that `node:http` offers, a WebSocket client among it: 10 MB.
  const { request: httpRequest } = process.getBuiltinModule('node:http');
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)({
      host: proxy.hostname,
      port: proxy.port === '' ? (secure ? 443 : 80) : Number(proxy.port),
      method: 'CONNECT',
      path: target,
      headers,
      agent: false,
      timeout: timeoutMs,
    });
    const fail = (message: string, code: string): void => {
      request.destroy();
      reject(Object.assign(new Error(message), { code }));
    };
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) resolve(socket as Socket);
      else {
        socket.destroy();
        fail(`the proxy answers ${response.statusCode ?? 0} to CONNECT`, 'ECONNREFUSED');
      }
    });
    request.once('timeout', () => fail('the proxy does not answer', 'ETIMEDOUT'));
    request.once('error', reject);
    request.end();
  });
}

/** A `%` that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
