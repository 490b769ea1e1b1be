/**
 * How Drydock reaches servers: which proxy a request goes through, decided in one way for API servers, vCenters, clouds, registries and
 * downloads. `@drydock/http/proxy` is the decision alone and loads no HTTP client.
 */
export { ProxyDispatcher, type ProxyDispatcherOptions } from './proxy-dispatcher.ts';
export { type Env, isProxy, PROXY_SCHEMES, proxyFromEnv } from './proxy-selection.ts';
