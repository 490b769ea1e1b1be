import type { Readable } from 'node:stream';
import type { Credential } from '../access/credentials.ts';
import { flawOf } from '../access/expiry.ts';
import type { ClusterConfig, Impersonation } from '../access/kubeconfig.ts';
import { serverText } from '../access/server-text.ts';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, errorOfStatus } from '../errors.ts';
import { DeepJson, exactText } from '../json/exact-integers.ts';
import { JSON_PATCH } from '../patch-types.ts';
import { type AnswerBounds, beginningOf, MAX_BODY, tooLarge } from './body.ts';
import { type Collected, collect } from './collect.ts';
import { createDispatchers, type Dispatchers, type Lane, proxyOf } from './dispatchers.ts';
import { type Lifeline, lifeline } from './lifeline.ts';
import {
  badAnswer,
  connectionError,
  isStaleSocket,
  parseRetryAfter,
  redirected,
  statusOfBody,
} from './transport-errors.ts';

/** One finished request, for `rest_client_requests_total{code,method,host}` and the duration histogram. */
export interface RequestMetric {
  readonly method: string;
  /** HTTP status, or `<error>` when there was none, as client-go writes it. */
  readonly code: string;
  readonly host: string;
  readonly seconds: number;
}

/** Settings of a client that do not belong to the cluster. */
export interface TransportOptions extends AnswerBounds {
  /** Default `drydock`. The API server takes the part before the first `/` as the field manager of writes. */
  readonly userAgent?: string;
  /** How long (ms) headers, or the next part of a body, may take. Default 30 000. */
  readonly requestTimeout?: number;
  /** How long (ms) a whole call may take, from its place in the queue to the last byte. Default 120 000; a watch has it for its acceptance. */
  readonly callDeadline?: number;
  /** That calls share; what is beyond waits its turn. More are worth it where many writes wait for the disk of the server at the same time. Default 8. */
  readonly connections?: number;
  /** Calls share one connection where the server speaks HTTP/2: for whoever has many under way for a short time, to whom the handshakes of as many connections cost more than what is sent. Default false: what holds up that one holds up them all. */
  readonly http2?: boolean;
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
  /** Written with the integers that JavaScript cannot hold. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** Besides those of every request, which win. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** See `CallOptions.urgent`. */
  readonly urgent?: boolean | undefined;
  /** See `ChangeOptions.fence`. */
  readonly fence?: (() => void) | undefined;
}

/** Sends requests as one user to one API server. */
export interface Transport extends AsyncDisposable {
  /** The answer's body as text. Any status but 2xx is an `ApiError`. */
  call(request: WireRequest): Promise<string>;
  /** The answer's body as bytes, on a connection of its own, without a body time-out. Nothing is repeated. */
  stream(request: WireRequest): Promise<Readable>;
}

/** A refusal (429, or 503 of a read) with Retry-After is repeated this often by `call` itself. */
const MAX_REPEATS = 5;
/** An error's body is read this far (bytes): a Status is small. */
const MAX_ERROR_BODY = 1 << 20;
/** A longer Retry-After is the caller's business (ms). */
const LONGEST_WAIT = 10_000;

/** Opens nothing until the first request. */
export function createTransport(config: ClusterConfig, options: TransportOptions = {}): Transport {
  const clock = options.clock ?? systemClock;
  const {
    requestTimeout = 30_000,
    callDeadline = 120_000,
    connections = 8,
    http2 = false,
    maxBody = MAX_BODY,
  } = options;
  const env = options.env ?? process.env;
  const base = new URL(config.server);
  const via = viaText(base.origin, proxyOf(config, env));
  const prefix = base.pathname.endsWith('/') ? base.pathname.slice(0, -1) : base.pathname;
  const closing = new AbortController();
  const fixed: Record<string, string | string[]> = {
    accept: 'application/json',
    'user-agent': options.userAgent ?? 'drydock',
    ...impersonationHeaders(config.impersonate),
  };
  let open: { readonly dispatchers: Dispatchers; readonly credential: Credential } | undefined;
  if (config.insecureSkipTlsVerify === true) warnInsecure(serverText(config.server), options.warn);

  const retired = new Set<Dispatchers>();

  /** Calls under way finish with the old certificate; watches go on until the server ends them. */
  function retire(old: Dispatchers): void {
    retired.add(old);
    void old.close().then(() => retired.delete(old));
  }

  function dispatchersFor(credential: Credential): Dispatchers {
    if (open !== undefined && sameIdentity(open.credential, credential)) return open.dispatchers;
    const old = open?.dispatchers;
    open = {
      dispatchers: createDispatchers(config, credential, { requestTimeout, connections, http2 }, env),
      credential,
    };
    if (old !== undefined) retire(old);
    return open.dispatchers;
  }

  /** Sends one request; of a watch that was accepted the body is left to be read. */
  async function dispatch(request: WireRequest, lane: Lane, credential: Credential, life: Lifeline): Promise<Answer> {
    request.fence?.();
    const started = clock.now();
    const sent = bodyOf(request);
    let code = '<error>';
    const status = (known: number): void => {
      code = String(known);
    };
    let dispatchers: Dispatchers | undefined;
    try {
      dispatchers = dispatchersFor(credential);
      const dispatcher = dispatchers.of(lane);
      const wire = {
        origin: base.origin,
        path: prefix + request.path,
        method: request.method,
        headers: {
          ...request.headers,
          ...fixed,
          ...(credential.authorization === undefined ? {} : { authorization: credential.authorization }),
          ...(request.accept === undefined ? {} : { accept: request.accept }),
          ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        },
        body: sent,
      };
      if (lane !== 'watches') {
        const large = (): ApiError => tooLarge(request.action, 'the answer', maxBody);
        const { signal } = life;
        return await collect(dispatcher, wire, {
          signal,
          status,
          limit: maxBody,
          tooLarge: large,
          cut: MAX_ERROR_BODY,
        });
      }
      // Not only by the signal: undici heeds that no earlier than it has a connection.
      const answer = await life.until(() => dispatcher.request({ ...wire, signal: life.signal }));
      status(answer.statusCode);
      const { statusCode, headers, body } = answer;
      // A page is not a stream of events, and its lines would be reported one by one.
      if (statusCode === 200 && !isHtml(headers)) return { statusCode, headers, text: '', body };
      return { statusCode, headers, text: await beginningOf(body, MAX_ERROR_BODY) };
    } catch (error) {
      if (lane === 'urgent') dispatchers?.renewUrgent();
      request.signal?.throwIfAborted();
      throw connectionError(error, request.action, via);
    } finally {
      options.onRequest?.({ method: request.method, code, host: base.host, seconds: (clock.now() - started) / 1000 });
    }
  }

  function failure({ statusCode, headers, text }: Answer, credential: Credential, request: WireRequest): ApiError {
    if (statusCode >= 300 && statusCode < 400) return redirected(statusCode, headers, request.action);
    return errorOfStatus(statusOfBody(text), statusCode, {
      action: request.action,
      jsonPatch: request.contentType === JSON_PATCH,
      everywhere: /^\/(?:apis?|version)$/.test(request.path),
      retryAfter: parseRetryAfter(headers['retry-after'], clock.date()),
      known: statusCode === 401 ? flawOf(credential, clock.date()) : undefined,
    });
  }

  /**
   * One exchange that the server accepted; its refusal is thrown. It is sent once more with newer credentials, if there are any, after a 401, because that
   * was refused unread, and after a failed handshake, because then nothing was sent: both are how a rotation of certificates shows.
   */
  async function exchange(request: WireRequest, lane: Lane, life: Lifeline): Promise<Answer> {
    let credential = await life.until(() => config.credentials.get());
    life.arm();
    let answer: Answer | undefined;
    try {
      answer = await dispatch(request, lane, credential, life);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'Tls') || !config.credentials.reject(credential)) throw error;
      if (sameIdentity(await life.until(() => config.credentials.get()), credential)) throw error;
    }
    if (answer === undefined || (answer.statusCode === 401 && config.credentials.reject(credential))) {
      credential = await life.until(() => config.credentials.get());
      answer = await dispatch(request, lane, credential, life);
    }
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
    throw failure(answer, credential, request);
  }

  return {
    async call(request: WireRequest): Promise<string> {
      using life = lifeline(callDeadline, request.action, via, request.signal, closing.signal);
      for (let repeats = 0; ; repeats++) {
        try {
          return (await exchange(request, request.urgent === true ? 'urgent' : 'calls', life)).text;
        } catch (error) {
          const wait = repeats < MAX_REPEATS ? repeatAfter(error, request) : undefined;
          if (wait === undefined) throw error;
          await clock.sleep(wait, { signal: life.signal }).catch(() => undefined);
        }
      }
    },
    async stream(request: WireRequest): Promise<Readable> {
      const life = lifeline(callDeadline, request.action, via, request.signal, closing.signal);
      try {
        const { body, text } = await exchange(request, 'watches', life);
        if (body === undefined) throw badAnswer(text, request.action);
        life.relax();
        body.once('close', () => life[Symbol.dispose]());
        return body;
      } catch (error) {
        life[Symbol.dispose]();
        throw error;
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      closing.abort(new ApiError({ code: 'Connection', action: 'call the API server', said: 'the client was closed' }));
      if (open !== undefined) retired.add(open.dispatchers);
      open = undefined;
      await Promise.all([...retired].map((old) => old.destroy()));
    },
  };
}

/** The text of a request's body. */
function bodyOf({ body, action }: WireRequest): string | null {
  if (body === undefined) return null;
  try {
    return exactText(body);
  } catch (error) {
    if (error instanceof DeepJson) throw new ApiError({ code: 'BadRequest', action, said: error.message });
    throw error;
  }
}

/** An answer; where `body` is, the text has not been read. */
interface Answer extends Collected {
  readonly body?: Readable;
}

function isHtml({ 'content-type': type }: Collected['headers']): boolean {
  return typeof type === 'string' && type.includes('html');
}

/** How long (ms) to wait before the same request is sent again, or undefined if HTTP does not say that it is safe. */
function repeatAfter(error: unknown, request: WireRequest): number | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (request.method === 'GET' && isStaleSocket(error)) return 0;
  if (error.retryAfter === undefined || error.retryAfter > LONGEST_WAIT) return undefined;
  // 429 means refused before it was acted on, whatever the verb; a 503 of a write may have been acted on.
  const refused = error.status === 429 || (error.status === 503 && request.method === 'GET');
  return refused ? error.retryAfter : undefined;
}

/** Whether two credentials can share connections: tokens travel with each request, certificates belong to the connection. */
function sameIdentity(a: Credential, b: Credential): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}

/** The server as errors name it, with the proxy that stands before it, without the proxy's password. */
function viaText(origin: string, proxy: string | undefined): string {
  const host = proxy === undefined ? undefined : URL.parse(proxy)?.host;
  return host === undefined ? origin : `${origin} (through proxy ${host})`;
}

/** The headers by which the API server takes the caller for another user. */
export function impersonationHeaders(as: Impersonation | undefined): Record<string, string | string[]> {
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
