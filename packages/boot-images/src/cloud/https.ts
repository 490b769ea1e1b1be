import type { Readable } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { quotedText } from '@drydock/api/text';
import { isProxy, proxyFromEnv } from '@drydock/http/proxy';
import { type Clock, systemClock } from '@drydock/kube';
import { Agent, type Dispatcher, ProxyAgent, request } from 'undici';
import { BootImageError } from '../errors.ts';

/** How conversations with a cloud are held. All optional. */
export interface CloudHttpsOptions {
  /** PEM: authorities besides the ones that Node trusts (`NODE_EXTRA_CA_CERTS` is among those). */
  readonly ca?: string;
  /** HTTPS_PROXY and NO_PROXY are read from it. Default: the process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Told of each exchange: HTTP status, or the code of what went wrong. */
  readonly onCall?: (host: string, code: string) => void;
  readonly bounds?: Partial<CloudBounds>;
  readonly clock?: Clock;
}

/** What one call may cost. */
export interface CloudBounds {
  /** Bytes of an answer. */
  readonly bytes: number;
  /** Ms of one exchange, from the wish for a connection to the last byte. */
  readonly exchangeMs: number;
  /** Exchanges, the first included. */
  readonly attempts: number;
  /** Ms of all of them with the pauses between. */
  readonly callMs: number;
}

/** Generous for what is asked of clouds: a page of a thousand images is below one MiB. */
export const cloudBounds: CloudBounds = { bytes: 8 << 20, exchangeMs: 10_000, attempts: 3, callMs: 20_000 };

/** One call. It must be one that may be repeated. */
export interface CloudRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** PEM: authorities that are trusted for this call besides the others. */
  readonly ca?: string | undefined;
  /** What is being done to which object, for errors: `get image rhcos-cloud/a`. */
  readonly action: string;
  /** Whether an answer besides 429 and 5xx means "later", as clouds say it in bodies. */
  readonly passing?: (answer: CloudAnswer) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** A whole answer that is none of "later". Header names are in lower case. */
export interface CloudAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Talks HTTPS to a cloud. Disposal ends what is under way. */
export interface CloudHttps extends AsyncDisposable {
  /**
   * Resolves to the answer, also to a refusal. Rejects with `CloudUnavailable` where there is none, or where it says "later" for too long, with `CloudAnswerInvalid`
   * where it is too large or leads elsewhere; and with the signal's reason. No error has a header or a body of the request in it.
   */
  readonly ask: (call: CloudRequest) => Promise<CloudAnswer>;
}

/** Bundles of authorities for which connections are kept: the one before, and none. */
const BUNDLES = 3;
const CONNECT_MS = 5_000;
const CONNECTIONS = 8;
const FIRST_PAUSE_MS = 500;

/** Opens nothing yet. */
export function cloudHttps(options: CloudHttpsOptions = {}): CloudHttps {
  const { env = process.env, clock = systemClock, onCall } = options;
  const bounds = { ...cloudBounds, ...options.bounds };
  /** By authorities, then by proxy. */
  const dispatchers = new Map<string, Map<string, Dispatcher>>();
  const leaving = new Set<Promise<void>>();
  const closing = new AbortController();

  /** Those with authorities that were replaced end when nothing uses them. */
  function leave(): void {
    for (const [ca, all] of dispatchers) {
      if (dispatchers.size <= BUNDLES) return;
      dispatchers.delete(ca);
      for (const one of all.values()) {
        const left = one.close().finally(() => leaving.delete(left));
        leaving.add(left);
      }
    }
  }

  function dispatcherFor(url: URL, action: string, ca: string): Dispatcher {
    const proxy = proxyFromEnv(url.origin, env) ?? '';
    const all = dispatchers.get(ca) ?? new Map<string, Dispatcher>();
    const known = all.get(proxy);
    if (known !== undefined) return known;
    if (proxy !== '' && !isProxy(proxy))
      // Not quoted: it may hold a password.
      throw unavailable(url.host, action, 'the proxy that HTTPS_PROXY names is no http, https or socks5 URL');
    const more = [options.ca, ca].filter((one) => one !== undefined && one !== '');
    const tls = more.length === 0 ? {} : { ca: [...getCACertificates('default'), ...(more as string[])] };
    const usual = { connections: CONNECTIONS, pipelining: 1, allowH2: false, connectTimeout: CONNECT_MS };
    const made =
      proxy === ''
        ? new Agent({ ...usual, connect: { ...tls, timeout: CONNECT_MS } })
        : new ProxyAgent({ ...usual, uri: proxy, requestTls: { ...tls, timeout: CONNECT_MS }, proxyTls: tls });
    all.set(proxy, made);
    dispatchers.set(ca, all);
    leave();
    return made;
  }

  async function exchange(call: CloudRequest, url: URL, left: number): Promise<CloudAnswer> {
    const { method, headers = {}, body, signal, action } = call;
    const withinMs = Math.max(0, Math.ceil(Math.min(bounds.exchangeMs, left)));
    const signals = [AbortSignal.timeout(withinMs), closing.signal];
    const until = AbortSignal.any(signal === undefined ? signals : [signal, ...signals]);
    let code = 'CloudUnavailable';
    try {
      const answer = await request(url, {
        dispatcher: dispatcherFor(url, action, call.ca ?? ''),
        method,
        headers: { accept: 'application/json', 'user-agent': 'drydock', ...headers },
        ...(body === undefined ? {} : { body }),
        signal: until,
      });
      const text = await bodyOf(answer.body, bounds.bytes);
      code = String(answer.statusCode);
      return { status: answer.statusCode, headers: answer.headers, text };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BootImageError) throw error;
      if (error instanceof TooLarge) {
        code = 'CloudAnswerInvalid';
        throw invalidAnswer(url.host, action, `the answer is larger than ${bounds.bytes} bytes`);
      }
      throw unavailable(url.host, action, reasonOf(error, until, withinMs), error);
    } finally {
      onCall?.(url.host, code);
    }
  }

  async function ask(call: CloudRequest): Promise<CloudAnswer> {
    const { action, signal } = call;
    const url = addressOf(call);
    const end = clock.now() + bounds.callMs;
    for (let attempt = 1; ; attempt += 1) {
      let failure: BootImageError;
      let pause = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      try {
        const answer = await exchange(call, url, end - clock.now());
        if (answer.status >= 300 && answer.status < 400)
          throw invalidAnswer(url.host, action, `the answer is a redirection (HTTP ${answer.status})`);
        if (answer.status !== 429 && answer.status < 500 && call.passing?.(answer) !== true) return answer;
        failure = unavailable(url.host, action, `it answers HTTP ${answer.status}: ask again later`);
        pause = Math.max(pause, retryAfterMs(answer, clock.date()));
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof BootImageError) || error.code !== 'CloudUnavailable') throw error;
        failure = error;
      }
      // A longer pause is the caller's, who has other things to do meanwhile.
      if (closing.signal.aborted || attempt >= bounds.attempts || clock.now() + pause >= end) throw failure;
      await clock.sleep(pause, {
        signal: signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]),
      });
    }
  }

  return {
    ask,
    [Symbol.asyncDispose]: async () => {
      closing.abort(new BootImageError('CloudUnavailable', 'the conversation was ended'));
      const all = [...dispatchers.values()].flatMap((byProxy) => [...byProxy.values()]);
      await Promise.allSettled([...all.map((dispatcher) => dispatcher.destroy()), ...leaving]);
    },
  };
}

/** The error for an answer that is not what the API promises. */
export function invalidAnswer(host: string, action: string, why: string): BootImageError {
  return new BootImageError('CloudAnswerInvalid', `failed to ${action} at ${host}: ${why}`, {
    nextStep: `see whether something between the operator and ${host} answers in its place, such as a proxy`,
  });
}

/** What an answer says, as it is quoted. */
export function quoted(text: string): string {
  return quotedText(text, 300);
}

function unavailable(host: string, action: string, why: string, cause?: unknown): BootImageError {
  return new BootImageError('CloudUnavailable', `failed to ${action} at ${host}: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    nextStep: `it is tried again; if it lasts, see whether the operator reaches ${host}: HTTPS_PROXY, NO_PROXY, authorities, firewalls`,
  });
}

function addressOf({ url, action }: CloudRequest): URL {
  const found = URL.parse(url);
  if (found?.protocol === 'https:' && found.username === '' && found.password === '') return found;
  throw invalidAnswer(found?.host ?? 'an address that cannot be read', action, 'only https:// is spoken');
}

/** Codes and no texts: those of others may name what they were given. */
function reasonOf(error: unknown, until: AbortSignal, withinMs: number): string {
  if (until.aborted) return `no complete answer within ${withinMs} ms`;
  for (let at = error; at instanceof Error; at = at instanceof AggregateError ? at.errors[0] : at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === 'string') return `no complete answer (${code})`;
  }
  return 'no complete answer';
}

function retryAfterMs({ headers }: CloudAnswer, now: Date): number {
  const text = headers['retry-after'];
  if (typeof text !== 'string') return 0;
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.max(0, ms);
}

/** An answer went on beyond its bound. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/** The text of a body of at most so many bytes; what comes after them is not waited for. Rejects with {@link TooLarge}, or with what ended the body early. */
export async function bodyOf(body: Readable, bytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytes) throw new TooLarge();
      chunks.push(chunk);
    }
  } finally {
    // Giving up a body makes it report an error to nobody.
    body.on('error', () => undefined);
    body.destroy();
  }
  return Buffer.concat(chunks).toString('utf8');
}
