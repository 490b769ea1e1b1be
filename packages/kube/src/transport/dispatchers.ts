import { isProxy, proxyFromEnv } from '@drydock/http/proxy';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Credential } from '../access/credentials.ts';
import { secureContextOf } from '../access/identity.ts';
import type { ClusterConfig } from '../access/kubeconfig.ts';
import { serverText } from '../access/server-text.ts';
import { ApiError } from '../errors.ts';

/** Which connections a request uses: calls, watches and urgent calls each have their own, so that no number of the others can starve them. */
export type Lane = 'calls' | 'watches' | 'urgent';

/** The connections of one client certificate. */
export interface Dispatchers {
  of(lane: Lane): Dispatcher;
  /** The next urgent call opens a connection: the one that failed may be to a peer that is gone, and nobody waits for the kernel to find that out. */
  renewUrgent(): void;
  /** Takes no more; what is under way ends. */
  close(): Promise<void>;
  /** Ends what is under way. */
  destroy(): Promise<void>;
}

/** Silence (ms) after which the kernel probes a connection: finds peers that vanished without closing. */
const KEEP_ALIVE_DELAY = 20_000;

const CONNECT_DEADLINE = 15_000;

/**
 * Builds the connections for one cluster and one client certificate; calls share `connections` of them, or with `http2` one, for every hundred under way, where the server speaks it. Of watches each has its own: one session
 * carries 100 of them, and everything behind them would be stuck.
 */
export function createDispatchers(
  config: ClusterConfig,
  credential: Credential,
  options: { readonly requestTimeout: number; readonly connections: number; readonly http2: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Dispatchers {
  const { requestTimeout, connections, http2 } = options;
  const tls = {
    ...(config.server.startsWith('https:')
      ? { secureContext: secureContextOf(config.server, credential.ca ?? config.ca, credential) }
      : {}),
    ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
    rejectUnauthorized: config.insecureSkipTlsVerify !== true,
  };
  const connect = { ...tls, timeout: CONNECT_DEADLINE, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY };
  const proxy = proxyOf(config, env);
  if (proxy !== undefined && !isProxy(proxy)) {
    // Not quoted: it may hold a password.
    const named = config.proxyUrl === undefined ? 'the proxy that HTTPS_PROXY or HTTP_PROXY names' : 'proxy-url';
    const said = `${named} is not an http, https or socks5 URL`;
    throw new ApiError({ code: 'Kubeconfig', action: `connect to ${serverText(config.server)}`, said });
  }
  const build = (lane: Agent.Options): Dispatcher =>
    proxy === undefined
      ? new Agent({ allowH2: false, ...lane, connect })
      : new ProxyAgent({
          ...lane,
          allowH2: false,
          uri: proxy,
          requestTls: connect,
          connectTimeout: CONNECT_DEADLINE,
          clientFactory: (origin, more) => new Pool(origin, { ...more, headersTimeout: CONNECT_DEADLINE }),
        });
  const usual = { pipelining: 1, headersTimeout: requestTimeout, bodyTimeout: requestTimeout };
  const lanes: Record<Lane, Dispatcher> = {
    calls: build({ ...usual, connections, allowH2: http2 }),
    // A quiet watch is healthy: its life is bounded by timeoutSeconds and by the reader's own guard.
    watches: build({ ...usual, bodyTimeout: 0 }),
    urgent: build(usual),
  };
  const all = new Set(Object.values(lanes));
  return {
    of: (lane) => lanes[lane],
    renewUrgent: () => {
      const { urgent } = lanes;
      lanes.urgent = build(usual);
      all.add(lanes.urgent);
      // Another urgent call may be under way on a connection that is well.
      void urgent.close().then(
        () => all.delete(urgent),
        () => all.delete(urgent),
      );
    },
    close: async () => {
      await Promise.allSettled([...all].map((dispatcher) => dispatcher.close()));
    },
    destroy: async () => {
      await Promise.all([...all].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** The proxy between here and the server: the kubeconfig's, else the environment's. */
export function proxyOf(config: ClusterConfig, env: Readonly<Record<string, string | undefined>>): string | undefined {
  return config.proxyUrl ?? proxyFromEnv(config.server, env);
}
