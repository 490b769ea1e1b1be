import type { IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { VimError } from '../errors.ts';
import type { Budget } from '../soap/budget.ts';
import type { Lane } from '../soap/call.ts';
import { gate } from '../soap/gate.ts';
import type { XmlElement } from '../xml/xml.ts';
import { XmlSyntaxError } from '../xml/xml-characters.ts';
import { TREE_LIMITS, type TreeLimits, xmlTreeBuilder } from '../xml/xml-tree.ts';
import type { ProxyChoice } from './proxy.ts';
import { isUntrusted, type TlsTrust, trustedAgent } from './tls.ts';

/** One HTTP exchange whose answer is XML. */
export interface Exchange {
  readonly op: string;
  readonly opId?: string;
  readonly method: 'GET' | 'POST';
  /** Absolute path at the vCenter. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  /** Decides whether a truncated answer is worth another try. */
  readonly idempotent: boolean;
  readonly lane: Lane;
  /** What the answers of a whole conversation may cost, beside the limits of each. */
  readonly budget?: Budget;
  readonly signal?: AbortSignal | undefined;
  /** See `CallOptions.fence`. */
  readonly fence?: () => void;
}

/** A well-formed answer, status 200 or 500. */
export interface XmlAnswer {
  readonly status: number;
  readonly document: XmlElement;
  readonly setCookie: readonly string[];
}

/** Takes a body as it arrives; what it throws ends the exchange. */
export interface BodyReader<T> {
  feed(chunk: Uint8Array): void;
  /** Says that the body is complete. */
  end(): T;
}

/** The connections of one vCenter. */
export interface Transport {
  exchange(exchange: Exchange): Promise<XmlAnswer>;
  /**
   * An exchange that may last for minutes, on a connection of its own. A body of status 200 goes to `reader` and nothing is resolved to; a fault is read as
   * {@link Transport.exchange} reads it.
   */
  stream(exchange: Exchange, reader: BodyReader<void>): Promise<XmlAnswer | undefined>;
  /** See `Caller.httpsAgentFor`. */
  agentFor(hostPort: string, sslThumbprintSha1?: string): Agent;
  /** Cuts every connection. */
  close(): void;
}

/** What a {@link Transport} needs to know. */
export interface TransportOptions {
  readonly baseUrl: URL;
  readonly trust: TlsTrust;
  readonly proxy?: ProxyChoice;
  readonly limits?: TreeLimits;
}

/** Calls at a time by lane. A lane's connections are its own, so that none waits for another. */
const LANES: Readonly<Record<Lane, number>> = { templates: 4, session: 2, watch: 4, long: Number.POSITIVE_INFINITY };
/** Disks of one import go one after another; REST calls and a second import find room. */
const TRANSFER_SOCKETS = 8;

/** Opens nothing yet. */
export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, trust, proxy } = options;
  const own = hostPortOf(baseUrl);
  const lane = (maxSockets: number): { readonly agent: Agent; readonly atOnce: ReturnType<typeof gate> } => ({
    agent: trustedAgent(trust, { maxSockets, ...(proxy === undefined ? {} : { proxy }) }),
    // The agent's own limit does not count connections that are still in their handshake.
    atOnce: gate(maxSockets),
  });
  const lanes = {
    templates: lane(LANES.templates),
    session: lane(LANES.session),
    watch: lane(LANES.watch),
    long: lane(LANES.long),
  };
  const polls = trustedAgent(trust, {
    maxSockets: Number.POSITIVE_INFINITY,
    ...(proxy === undefined ? {} : { proxy }),
  });
  const agents = new Map<string, Agent>();
  const tree = (budget?: Budget): BodyReader<XmlElement> => {
    const builder = xmlTreeBuilder(options.limits ?? TREE_LIMITS);
    return {
      feed(chunk) {
        budget?.spend('bytes', chunk.byteLength);
        builder.feed(chunk);
      },
      end() {
        budget?.spend('nodes', builder.nodes);
        return builder.end();
      },
    };
  };
  return {
    exchange: (exchange) => {
      const { agent, atOnce } = lanes[exchange.lane];
      return atOnce(exchange.op, exchange.signal, async () => {
        const { body, ...rest } = await run(exchange, baseUrl, agent, () => tree(exchange.budget));
        return { ...rest, document: body };
      });
    },
    stream: async (exchange, reader) => {
      const { body, ...rest } = await run<XmlElement | undefined>(exchange, baseUrl, polls, (status) =>
        status === 200 ? nothingFrom(reader) : tree(),
      );
      return body === undefined ? undefined : { ...rest, document: body };
    },
    agentFor(hostPort, sha1 = '') {
      // A thumbprint for our own address adds nothing to the trust that the operator chose for it.
      const pin = hostPort === own ? '' : sha1;
      const key = `${hostPort}#${pin}`;
      let agent = agents.get(key);
      if (agent === undefined) {
        agent = trustedAgent(pin === '' ? trustFor(hostPort === own, trust) : { sha1: pin }, {
          maxSockets: TRANSFER_SOCKETS,
          // ESXi hosts are reached directly; only the vCenter may lie behind a proxy.
          ...(proxy === undefined || hostPort !== own ? {} : { proxy }),
        });
        agents.set(key, agent);
      }
      return agent;
    },
    close() {
      for (const { agent } of Object.values(lanes)) agent.destroy();
      polls.destroy();
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

function nothingFrom(reader: BodyReader<void>): BodyReader<undefined> {
  return {
    feed: (chunk) => reader.feed(chunk),
    end() {
      reader.end();
      return undefined;
    },
  };
}

/** `host:port` of a URL, the port always given. */
export function hostPortOf(url: URL): string {
  return `${url.hostname}:${url.port === '' ? '443' : url.port}`;
}

/** The vCenter's pin says nothing about another host; a CA and an explicit "insecure" do. */
function trustFor(own: boolean, trust: TlsTrust): TlsTrust {
  if (own || trust.sha256Pin === undefined) return trust;
  return trust.ca === undefined ? {} : { ca: trust.ca };
}

/** What {@link run} resolves to. */
interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly setCookie: readonly string[];
}

function run<T>(
  exchange: Exchange,
  baseUrl: URL,
  agent: Agent,
  readerFor: (status: number) => BodyReader<T>,
): Promise<Answer<T>> {
  const { op, opId = '', signal } = exchange;
  const where = `at ${baseUrl.host}`;
  if (signal?.aborted === true) return Promise.reject(aborted(op, opId, signal));
  return new Promise((resolve, reject) => {
    let sent = false;
    let settled = false;
    const request = httpsRequest({
      agent,
      host: baseUrl.hostname.replaceAll(/[[\]]/g, ''),
      port: baseUrl.port === '' ? 443 : Number(baseUrl.port),
      method: exchange.method,
      path: exchange.path,
      // A list goes out as it is: an object is taken apart first, which shows where there are hundreds of calls in a second.
      headers: headersOf(exchange, baseUrl),
    });
    const settle = (): boolean => {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      return true;
    };
    const fail = (error: unknown): void => {
      if (!settle()) return;
      request.destroy();
      reject(error);
    };
    const onAbort = (): void => {
      if (signal !== undefined) fail(aborted(op, opId, signal));
    };
    const timer = setTimeout(() => {
      const message = `no complete answer ${where} within ${exchange.timeoutMs} ms`;
      fail(new VimError({ kind: 'timeout', code: 'VIM_TIMEOUT', op, opId, message, retriable: true, sent }));
    }, exchange.timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    const truncated = (cause?: unknown): void => {
      const message = `the answer ${where} ends too early`;
      fail(protocolError(op, opId, message, exchange.idempotent, cause));
    };
    // The agent hands out verified connections only, and only then is the first byte written.
    request.on('socket', () => {
      try {
        exchange.fence?.();
        sent = true;
      } catch (error) {
        fail(error);
      }
    });
    request.on('error', (cause) => fail(connectionError(op, opId, where, sent, cause)));
    request.on('response', (response) => {
      const status = response.statusCode ?? 0;
      if (!isXml(response) || (status !== 200 && status !== 500)) {
        fail(statusError(op, opId, where, status));
        return;
      }
      const reader = readerFor(status);
      const guarded = (step: () => void): void => {
        try {
          step();
        } catch (cause) {
          // Not a truncation: the same bytes would come again.
          const message = `the answer ${where} is not usable XML: ${cause instanceof Error ? cause.message : ''}`;
          fail(cause instanceof XmlSyntaxError ? protocolError(op, opId, message, false, cause) : cause);
        }
      };
      response.on('data', (chunk: Buffer) => {
        if (!settled) guarded(() => reader.feed(chunk));
      });
      response.on('error', truncated);
      response.on('end', () => {
        if (!response.complete) truncated();
        else if (!settled) {
          guarded(() => {
            const body = reader.end();
            if (settle()) resolve({ status, body, setCookie: response.headers['set-cookie'] ?? [] });
          });
        }
      });
    });
    request.end(exchange.body);
  });
}

function headersOf({ headers = {}, body }: Exchange, baseUrl: URL): readonly string[] {
  const list = ['host', baseUrl.host, 'user-agent', 'drydock'];
  for (const name in headers) list.push(name, headers[name] ?? '');
  if (body !== undefined) list.push('content-length', String(Buffer.byteLength(body)));
  return list;
}

function isXml(response: IncomingMessage): boolean {
  const type = response.headers['content-type'];
  return type === undefined || /^(?:text|application)\/(?:[\w.-]+\+)?xml\b/i.test(type);
}

function aborted(op: string, opId: string, signal: AbortSignal): VimError {
  const cause: unknown = signal.reason;
  return new VimError({ kind: 'aborted', code: 'VIM_ABORTED', op, opId, message: 'the call was given up', cause });
}

function protocolError(op: string, opId: string, message: string, retriable: boolean, cause?: unknown): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op,
    opId,
    message,
    retriable,
    ...(cause === undefined ? {} : { cause }),
  });
}

const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

function statusError(op: string, opId: string, where: string, status: number): VimError {
  return new VimError({
    kind: 'http',
    code: 'VIM_HTTP_STATUS',
    op,
    opId,
    status,
    message: `HTTP status ${status} ${where}, and no SOAP answer`,
    retriable: PASSING_STATUS.has(status),
  });
}

/** Turns a socket's error into ours. `sent` says whether the request may have reached the server. */
export function connectionError(op: string, opId: string, where: string, sent: boolean, cause: unknown): VimError {
  if (isUntrusted(cause)) {
    const why = cause instanceof Error ? cause.message : '';
    const message = `the server ${where} is not trusted, and nothing was sent to it: ${why}`;
    return new VimError({ kind: 'transport', code: 'VIM_TLS_UNTRUSTED', op, opId, message, sent: false, cause });
  }
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unknown';
  const message = sent ? `the connection ${where} broke (${code})` : `no connection ${where} (${code})`;
  return new VimError({ kind: 'transport', code: 'VIM_UNREACHABLE', op, opId, message, retriable: true, sent, cause });
}
