import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { type Env, proxyFromEnv } from '@drydock/http/proxy';
import { VimError } from '../errors.ts';

/** Chooses the proxy for an HTTPS server; undefined: none. `host` has no brackets. */
export type ProxyChoice = (host: string, port: number) => URL | undefined;

/** Reads the environment. Throws where the proxy that it names speaks neither HTTP nor HTTPS. */
export function proxyFromEnvironment(env: Env): ProxyChoice {
  const choose: ProxyChoice = (host, port) => {
    const named = proxyFromEnv(`https://${hostPort(host, port)}`, env);
    if (named === undefined) return undefined;
    const proxy = URL.parse(named);
    if (proxy?.protocol === 'http:' || proxy?.protocol === 'https:') return proxy;
    // Not quoted, and without the parser's error, which has all of it: a password may be in it.
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_REFUSED',
      op: 'connect',
      message: 'the proxy that HTTPS_PROXY names is not an http:// or https:// URL',
      sent: false,
    });
  };
  // Refused before the first connection.
  choose('proxied.invalid', 443);
  return choose;
}

/** An IPv6 address stands in brackets. */
function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A TCP connection through an HTTP proxy's CONNECT. */
export function openTunnel(proxy: URL, host: string, port: number, timeoutMs: number): Promise<Socket> {
  const target = hostPort(host, port);
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
