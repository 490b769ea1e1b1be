import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Credential } from '../access/credentials.ts';
import { secureContextOf } from '../access/identity.ts';
import type { ClusterConfig } from '../access/kubeconfig.ts';
import { ApiError } from '../errors.ts';
import { proxyFromEnv } from './proxy.ts';

/** Calls and watches have connections of their own, so that no number of watches can starve a call. */
export interface Dispatchers {
  readonly calls: Dispatcher;
  readonly watches: Dispatcher;
}

/** Connections that calls share. */
const CALL_CONNECTIONS = 8;

/** Silence (ms) after which the kernel probes a connection: finds peers that vanished without closing. */
const KEEP_ALIVE_DELAY = 20_000;

const CONNECT_DEADLINE = 15_000;

/**
 * Builds the connections for one cluster and one client certificate. HTTP/2 stays off: one session carries 100
 * watches, and with few connections everything behind them is stuck.
 */
export function createDispatchers(
  config: ClusterConfig,
  credential: Credential,
  requestTimeout: number,
  env: Readonly<Record<string, string | undefined>>,
): Dispatchers {
  const tls = {
    ...(config.server.startsWith('https:')
      ? { secureContext: secureContextOf(config.server, credential.ca ?? config.ca, credential) }
      : {}),
    ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
    rejectUnauthorized: config.insecureSkipTlsVerify !== true,
  };
  const connect = { ...tls, timeout: CONNECT_DEADLINE, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY };
  const proxy = proxyOf(config, env);
  if (proxy !== undefined && !URL.canParse(proxy)) {
    // Not quoted: it may hold a password.
    const said = 'the proxy that HTTPS_PROXY or HTTP_PROXY names is not a URL';
    throw new ApiError({ code: 'Kubeconfig', action: `connect to ${config.server}`, said });
  }
  const build = (options: Agent.Options): Dispatcher =>
    proxy === undefined
      ? new Agent({ ...options, allowH2: false, connect })
      : new ProxyAgent({
          ...options,
          allowH2: false,
          uri: proxy,
          requestTls: connect,
          connectTimeout: CONNECT_DEADLINE,
          clientFactory: (origin, more) => new Pool(origin, { ...more, headersTimeout: CONNECT_DEADLINE }),
        });
  return {
    calls: build({
      connections: CALL_CONNECTIONS,
      pipelining: 1,
      headersTimeout: requestTimeout,
      bodyTimeout: requestTimeout,
    }),
    // A quiet watch is healthy: its life is bounded by timeoutSeconds and by the reader's own guard.
    watches: build({ pipelining: 1, headersTimeout: requestTimeout, bodyTimeout: 0 }),
  };
}

/** The proxy between here and the server: the kubeconfig's, else the environment's. */
export function proxyOf(config: ClusterConfig, env: Readonly<Record<string, string | undefined>>): string | undefined {
  return config.proxyUrl ?? proxyFromEnv(config.server, env);
}
