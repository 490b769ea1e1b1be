import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type Clock, systemClock } from './clock.ts';
import type { Credential } from './credentials.ts';
import { createDispatchers, type Dispatchers } from './dispatchers.ts';
import { ApiError, errorOfStatus, type Status } from './errors.ts';
import type { ClusterConfig, Impersonation } from './kubeconfig.ts';
import { connectionError, isStaleSocket, parseRetryAfter, statusOfBody } from './transport-errors.ts';

/** One finished request, for `rest_client_requests_total{code,method,host}` and the duration histogram. */
export interface RequestMetric {
  readonly method: string;
  /** HTTP status, or `<error>` when there was none, as client-go writes it. */
  readonly code: string;
  readonly host: string;
  readonly seconds: number;
}

/** Settings of a client that do not belong to the cluster. */
export interface TransportOptions {
  /** Default `drydock`. The API server takes the part before the first `/` as the field manager of writes. */
  readonly userAgent?: string;
  /** How long (ms) headers, or the next part of a body, may take. Default 30 000. */
  readonly requestTimeout?: number;
  readonly onRequest?: (metric: RequestMetric) => void;
  /** Told once when TLS is not verified. Default: a process warning. */
  readonly warn?: (text: string) => void;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** One request. `action` names verb and object in errors. */
export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query below the server's base URL. */
  readonly path: string;
  readonly action: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests as one user to one API server. */
export interface Transport extends AsyncDisposable {
  /** The answer's body as text. Any status but 2xx is an `ApiError`. */
  call(request: WireRequest): Promise<string>;
  /** The answer's body as bytes, on a connection of its own, without a body time-out. Nothing is repeated. */
  stream(request: WireRequest): Promise<Readable>;
}

export const JSON_PATCH: string = 'application/json-patch+json';

/** A refusal (429, or 503 of a read) with Retry-After is repeated this often by `call` itself. */
const MAX_REPEATS = 5;
/** A longer Retry-After is the caller's business (ms). */
const LONGEST_WAIT = 10_000;

/** Opens nothing until the first request. */
export function createTransport(config: ClusterConfig, options: TransportOptions = {}): Transport {
  const clock = options.clock ?? systemClock;
  const requestTimeout = options.requestTimeout ?? 30_000;
  const base = new URL(config.server);
  const prefix = base.pathname.endsWith('/') ? base.pathname.slice(0, -1) : base.pathname;
  const closing = new AbortController();
  const fixed: Record<string, string | string[]> = {
    accept: 'application/json',
    'user-agent': options.userAgent ?? 'drydock',
    ...impersonationHeaders(config.impersonate),
  };
  let open: { readonly dispatchers: Dispatchers; readonly credential: Credential } | undefined;
  if (config.insecureSkipTlsVerify === true) warnInsecure(config.server, options.warn);

  const retired = new Set<Dispatchers>();

  /** Calls under way finish with the old certificate; watches go on until the server ends them. */
  function retire(old: Dispatchers): void {
    retired.add(old);
    void Promise.allSettled([old.calls.close(), old.watches.close()]).then(() => retired.delete(old));
  }

  function dispatchersFor(credential: Credential): Dispatchers {
    if (open !== undefined && open.credential.cert === credential.cert && open.credential.key === credential.key) {
      return open.dispatchers;
    }
    const old = open?.dispatchers;
    open = {
      dispatchers: createDispatchers(config, credential, requestTimeout, options.env ?? process.env),
      credential,
    };
    if (old !== undefined) retire(old);
    return open.dispatchers;
  }

  async function dispatch(request: WireRequest, lane: keyof Dispatchers, credential: Credential): Promise<Answer> {
    const started = clock.now();
    let code = '<error>';
    try {
      const answer = await dispatchersFor(credential)[lane].request({
        origin: base.origin,
        path: prefix + request.path,
        method: request.method,
        headers: {
          ...fixed,
          ...(credential.authorization === undefined ? {} : { authorization: credential.authorization }),
          ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        },
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: request.signal ?? closing.signal,
      });
      code = String(answer.statusCode);
      return answer;
    } catch (error) {
      request.signal?.throwIfAborted();
      throw connectionError(error, request.action, base.origin);
    } finally {
      options.onRequest?.({ method: request.method, code, host: base.host, seconds: (clock.now() - started) / 1000 });
    }
  }

  async function read(answer: Answer, request: WireRequest): Promise<string> {
    try {
      return await answer.body.text();
    } catch (error) {
      request.signal?.throwIfAborted();
      throw connectionError(error, request.action, base.origin);
    }
  }

  async function failure(answer: Answer, request: WireRequest): Promise<ApiError> {
    const status: Status = statusOfBody(await read(answer, request));
    return errorOfStatus(status, answer.statusCode, {
      action: request.action,
      jsonPatch: request.contentType === JSON_PATCH,
      retryAfter: parseRetryAfter(answer.headers['retry-after'], clock.date()),
    });
  }

  /** One exchange; a 401 is answered once with newer credentials if there are any, because it was refused unread. */
  async function exchange(request: WireRequest, lane: keyof Dispatchers): Promise<Answer> {
    request.signal?.throwIfAborted();
    closing.signal.throwIfAborted();
    const credential = await config.credentials.get();
    const answer = await dispatch(request, lane, credential);
    if (answer.statusCode !== 401 || !config.credentials.reject(credential)) return answer;
    await answer.body.dump();
    return dispatch(request, lane, await config.credentials.get());
  }

  async function attempt(request: WireRequest): Promise<string> {
    const answer = await exchange(request, 'calls');
    if (answer.statusCode >= 200 && answer.statusCode < 300) return read(answer, request);
    throw await failure(answer, request);
  }

  return {
    async call(request: WireRequest): Promise<string> {
      for (let repeats = 0; ; repeats++) {
        try {
          return await attempt(request);
        } catch (error) {
          const wait = repeats < MAX_REPEATS ? repeatAfter(error, request) : undefined;
          if (wait === undefined) throw error;
          await clock.sleep(wait, { signal: request.signal ?? closing.signal }).catch(() => undefined);
        }
      }
    },
    async stream(request: WireRequest): Promise<Readable> {
      const answer = await exchange(request, 'watches');
      if (answer.statusCode === 200) return answer.body;
      throw await failure(answer, request);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      closing.abort(new ApiError({ code: 'Connection', action: 'call the API server', said: 'the client was closed' }));
      if (open !== undefined) retired.add(open.dispatchers);
      open = undefined;
      await Promise.all([...retired].flatMap(({ calls, watches }) => [calls.destroy(), watches.destroy()]));
    },
  };
}

type Answer = Dispatcher.ResponseData;

/** How long (ms) to wait before the same request is sent again, or undefined if HTTP does not say that it is safe. */
function repeatAfter(error: unknown, request: WireRequest): number | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (request.method === 'GET' && isStaleSocket(error)) return 0;
  if (error.retryAfter === undefined || error.retryAfter > LONGEST_WAIT) return undefined;
  // 429 means refused before it was acted on, whatever the verb; a 503 of a write may have been acted on.
  const refused = error.status === 429 || (error.status === 503 && request.method === 'GET');
  return refused ? error.retryAfter : undefined;
}

function impersonationHeaders(as: Impersonation | undefined): Record<string, string | string[]> {
  if (as === undefined) return {};
  const headers: Record<string, string | string[]> = { 'impersonate-user': as.user };
  if (as.uid !== undefined) headers['impersonate-uid'] = as.uid;
  if (as.groups !== undefined && as.groups.length > 0) headers['impersonate-group'] = [...as.groups];
  for (const [key, values] of Object.entries(as.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key)}`] = [...values];
  }
  return headers;
}

function warnInsecure(server: string, warn: ((text: string) => void) | undefined): void {
  const text = `TLS of ${server} is not verified (insecure-skip-tls-verify): anyone on the way can read the credentials`;
  if (warn === undefined) process.emitWarning(text, { code: 'DRYDOCK_INSECURE_TLS' });
  else warn(text);
}
