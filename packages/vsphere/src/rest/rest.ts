import type { IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { isVimError, VimError, type VimErrorCode } from '../errors.ts';
import { LOGIN_MS } from '../session/login-notes.ts';
import { connectionError, hostPortOf } from '../session/transport.ts';
import type { Caller, Credentials } from '../soap/call.ts';
import { untilAborted } from '../soap/signals.ts';
import type { CallOptions } from '../vcenter.ts';

/** `api`: bare answers, since 7.0 U2. `rest`: answers inside `{value}`, older servers and the simulator. */
export type RestGeneration = 'api' | 'rest';

/** One REST request. Paths are given for both generations; they start behind `/api` and `/rest/com/vmware`. */
export interface RestRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: (generation: RestGeneration) => string;
  /** As JSON; both generations wrap what they are given in another way. */
  readonly body?: (generation: RestGeneration) => unknown;
}

/** A REST session at one vCenter, opened by the first call. */
export interface Rest extends AsyncDisposable {
  /** The answer's value, parsed; undefined for an empty answer. */
  call(request: RestRequest): Promise<unknown>;
  /** What makes a request one of the session, for what is no JSON. */
  headers(options: CallOptions): Promise<Readonly<Record<string, string>>>;
}

interface RestSession {
  readonly generation: RestGeneration;
  readonly id: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const PREFIX: Readonly<Record<RestGeneration, string>> = { api: '/api', rest: '/rest/com/vmware' };
const SESSION: Readonly<Record<RestGeneration, string>> = { api: '/api/session', rest: '/rest/com/vmware/cis/session' };
const DEADLINE_MS = 60_000;
const LOGOUT_MS = 5_000;
/** Lists of identifiers: a thousand tags are 100 kB. Read in one go, which must not take long. */
const MAX_BYTES = 4 << 20;

/** Opens nothing yet. One login serves all calls; a session that ended is replaced once per call. */
export function createRest(caller: Caller): Rest {
  let session: Promise<RestSession> | undefined;
  const closing = new AbortController();

  const exchange = (op: string, how: ExchangeOptions): Promise<Answer> => {
    const agent = caller.httpsAgentFor(hostPortOf(caller.baseUrl));
    return send(caller.baseUrl, agent, op, how);
  };
  const login = async ({ user, password }: Credentials): Promise<RestSession> => {
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    for (const generation of ['api', 'rest'] as const) {
      const op = `POST ${SESSION[generation]}`;
      const headers = { authorization, ...(generation === 'rest' ? { 'vmware-use-header-authn': 'true' } : {}) };
      const path = SESSION[generation];
      // At most two of them.
      const timeoutMs = LOGIN_MS / 2;
      const answer = await exchange(op, { method: 'POST', path, headers, timeoutMs, signal: closing.signal });
      // An older server does not know the newer address.
      if (answer.status === 404 && generation === 'api') continue;
      if (answer.status === 401) throw statusError(op, caller.server, answer, 'VIM_LOGIN_REFUSED');
      if (answer.status !== 200 && answer.status !== 201) throw statusError(op, caller.server, answer);
      const id = unwrap(generation, parse(op, answer));
      if (typeof id !== 'string' || id === '') throw unusable(op, 'names no session');
      return { generation, id };
    }
    throw unusable('POST session', 'is at neither of the known addresses');
  };
  const ensure = (): Promise<RestSession> => {
    if (session !== undefined) return session;
    const opening = caller.login(login);
    session = opening;
    opening.catch(() => {
      if (session === opening) session = undefined;
    });
    return opening;
  };
  const attempt = async (live: RestSession, request: RestRequest): Promise<unknown> => {
    const path = `${PREFIX[live.generation]}${request.path(live.generation)}`;
    const op = `${request.method} ${path}`;
    const signal = request.signal === undefined ? closing.signal : AbortSignal.any([request.signal, closing.signal]);
    const body = request.body?.(live.generation);
    const answer = await exchange(op, { method: request.method, path, headers: headersOf(live), body, signal });
    if (answer.status < 200 || answer.status > 299) throw statusError(op, caller.server, answer);
    return answer.text.trim() === '' ? undefined : unwrap(live.generation, parse(op, answer));
  };
  return {
    async call(request) {
      const opened = ensure();
      const live = await untilAborted(opened, request.signal, `${request.method} session`);
      try {
        return await attempt(live, request);
      } catch (error) {
        if (!isVimError(error, 'VIM_NOT_AUTHENTICATED')) throw error;
        if (session === opened) session = undefined;
        return attempt(await untilAborted(ensure(), request.signal, `${request.method} session`), request);
      }
    },
    async headers({ signal }) {
      return headersOf(await untilAborted(ensure(), signal, 'GET session'));
    },
    async [Symbol.asyncDispose]() {
      const live = await session?.catch(() => undefined);
      session = undefined;
      if (live !== undefined && !closing.signal.aborted) {
        const [path, headers] = [SESSION[live.generation], headersOf(live)];
        await exchange('DELETE session', { method: 'DELETE', path, headers, timeoutMs: LOGOUT_MS }).catch(
          () => undefined,
        );
      }
      closing.abort();
    },
  };
}

function headersOf({ id }: RestSession): Readonly<Record<string, string>> {
  return { 'vmware-api-session-id': id };
}

interface ExchangeOptions extends CallOptions {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly timeoutMs?: number;
}

async function send(baseUrl: URL, agent: Agent, op: string, how: ExchangeOptions): Promise<Answer> {
  const text = how.body === undefined ? '' : JSON.stringify(how.body);
  const timeout = AbortSignal.timeout(how.timeoutMs ?? DEADLINE_MS);
  const signal = how.signal === undefined ? timeout : AbortSignal.any([timeout, how.signal]);
  let sent = false;
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const request = httpsRequest({
        agent,
        host: baseUrl.hostname.replaceAll(/[[\]]/g, ''),
        port: baseUrl.port === '' ? 443 : Number(baseUrl.port),
        method: how.method,
        path: how.path,
        headers: {
          host: baseUrl.host,
          accept: 'application/json',
          'content-length': String(Buffer.byteLength(text)),
          ...(text === '' ? {} : { 'content-type': 'application/json' }),
          ...how.headers,
        },
        signal,
      });
      request.on('socket', () => {
        sent = true;
      });
      request.on('error', reject);
      request.on('response', (response) => {
        read(response).then((body) => resolve({ status: response.statusCode ?? 0, text: body }), reject);
      });
      request.end(text);
    });
  } catch (cause) {
    if (cause instanceof VimError) throw cause;
    if (how.signal?.aborted === true)
      throw new VimError({ kind: 'aborted', code: 'VIM_ABORTED', op, message: 'the call was given up', cause });
    if (timeout.aborted)
      throw new VimError({
        kind: 'timeout',
        code: 'VIM_TIMEOUT',
        op,
        message: `no answer at ${baseUrl.host}`,
        retriable: true,
        cause,
      });
    throw connectionError(op, '', `at ${baseUrl.host}`, sent, cause);
  }
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > MAX_BYTES) throw unusable('REST', `is longer than ${MAX_BYTES} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

function parse(op: string, answer: Answer): unknown {
  try {
    return JSON.parse(answer.text);
  } catch (cause) {
    throw unusable(op, 'is not JSON', cause);
  }
}

function unwrap(generation: RestGeneration, value: unknown): unknown {
  return generation === 'rest' && isRecord(value) && 'value' in value ? value['value'] : value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const CODE_OF_STATUS: ReadonlyMap<number, VimErrorCode> = new Map<number, VimErrorCode>([
  [401, 'VIM_NOT_AUTHENTICATED'],
  [403, 'VIM_NO_PERMISSION'],
  [404, 'VIM_NOT_FOUND'],
]);
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

function statusError(op: string, server: string, { status, text }: Answer, code?: VimErrorCode): VimError {
  const type = errorType(text);
  return new VimError({
    kind: 'http',
    code: code ?? CODE_OF_STATUS.get(status) ?? 'VIM_HTTP_STATUS',
    op,
    status,
    message: `${server} answers HTTP status ${status}${type === undefined ? '' : ` (${type})`}`,
    retriable: PASSING_STATUS.has(status),
  });
}

/** The machine-readable word of an error body: `error_type` of /api, `type` of /rest. */
function errorType(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (!isRecord(body)) return undefined;
    const type = body['error_type'] ?? body['type'];
    return typeof type === 'string' && /^[\w.]{1,100}$/.test(type) ? type : undefined;
  } catch {
    return undefined;
  }
}

function unusable(op: string, what: string, cause?: unknown): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op,
    message: `the answer ${what}`,
    ...(cause === undefined ? {} : { cause }),
  });
}
