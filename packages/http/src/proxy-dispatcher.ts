import { getCACertificates } from 'node:tls';
import { Agent, Dispatcher, ProxyAgent } from 'undici';
import { type Env, isProxy, proxyFromEnv } from './proxy-selection.ts';

/** How servers are reached. */
export interface ProxyDispatcherOptions {
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are read; default: the environment of the process. */
  readonly env?: Env;
  /** PEM of authorities that servers and proxies are verified with, besides the system's. */
  readonly ca?: string;
  /** Longest wait (ms) for the headers of an answer, and between two parts of its body; default: undici's 300 s. */
  readonly stalledMs?: number;
}

/** An undici dispatcher that reaches each server through the proxy that the environment names for it, or directly. */
export class ProxyDispatcher extends Dispatcher {
  readonly #env: Env;
  /** By proxy; undefined is none. They open no connection before the first request. */
  readonly #agents: ReadonlyMap<string | undefined, Dispatcher>;

  /** Throws a RangeError, which does not quote it, where the environment names something as a proxy that is none. */
  constructor({ env = process.env, ca, stalledMs }: ProxyDispatcherOptions = {}) {
    super();
    // As it is now: the agents below are those of these proxies.
    this.#env = { ...env };
    const tls = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] };
    const limits = stalledMs === undefined ? {} : { headersTimeout: stalledMs, bodyTimeout: stalledMs };
    const agents = new Map<string | undefined, Dispatcher>([[undefined, new Agent({ ...limits, connect: tls })]]);
    for (const scheme of ['https', 'http']) {
      const proxy = proxyFromEnv(`${scheme}://proxied.invalid`, { ...env, NO_PROXY: '', no_proxy: '' });
      if (proxy === undefined || agents.has(proxy)) continue;
      if (!isProxy(proxy))
        throw new RangeError(
          `the proxy that ${scheme.toUpperCase()}_PROXY names is not an http, https or socks5 URL; expected http://HOST:PORT`,
        );
      agents.set(proxy, new ProxyAgent({ ...limits, uri: proxy, requestTls: tls, proxyTls: tls }));
    }
    this.#agents = agents;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const proxy = proxyFromEnv(options.origin ?? '', this.#env);
    // The environment was copied, so each proxy that it names has an agent.
    return (this.#agents.get(proxy) as Dispatcher).dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.close()));
  }

  override async destroy(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }
}
