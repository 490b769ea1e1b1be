import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LoginDesk, REST_COOKIE } from './login-policy.ts';
import { lackedPrivilege } from './method-checks.ts';
import { DATA_PATH, readData, runRest, writeData } from './rest-methods.ts';
import type { WireAnswer, WireCall } from './wire-call.ts';

const VERSIONS =
  '<?xml version="1.0" encoding="UTF-8"?><namespaces version="1.0"><namespace><name>urn:vim25</name><version>6.5</version>' +
  '<priorVersions><version>6.0</version><version>5.5</version></priorVersions></namespace></namespaces>';

/** A REST call, or another request that is no SOAP call. */
export interface RestCall extends WireCall {
  readonly url: URL;
  readonly bytes: Buffer;
}

/** A request that is no SOAP call. */
export function restCall(
  desk: LoginDesk,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  bytes: Buffer,
): RestCall {
  const path = url.pathname.replaceAll(/\/id:[^/]*/g, '/id:*');
  const action = url.searchParams.get('~action');
  return {
    method: `${request.method ?? ''} ${path}${action === null ? '' : `?~action=${action}`}`,
    ...{ text: bytes.toString('utf8'), body: undefined, session: desk.sessionOf(request), request, response },
    ...{ url, bytes },
  };
}

/** Answers it. */
export function answerRest(desk: LoginDesk, call: RestCall): WireAnswer {
  const { state } = desk;
  const { request, session, bytes } = call;
  const { pathname, searchParams: query } = call.url;
  if (pathname.endsWith('/vimServiceVersions.xml')) return plain(200, VERSIONS, { 'content-type': 'text/xml' });
  if (!pathname.startsWith('/rest/')) return plain(404);
  const path = pathname.slice('/rest'.length);
  if (path === '/com/vmware/cis/session') return answerSession(desk, call);
  if (session === undefined) return plain(401);
  if (path.startsWith(DATA_PATH)) {
    const answer = request.method === 'GET' ? readData(state, path) : writeData(state, path, bytes);
    return plain(answer.status, answer.bytes);
  }
  const lacked = lackedPrivilege(state, call.method);
  if (lacked !== undefined) return json(403, unauthorized(lacked));
  let body: unknown;
  try {
    body = bytes.length === 0 ? {} : JSON.parse(call.text);
  } catch {
    return json(400, { type: 'com.vmware.vapi.std.errors.invalid_argument', value: {} });
  }
  const spec = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};
  const answer = runRest({ state, method: request.method ?? '', path, query, body: spec });
  if (answer.value === undefined) return plain(answer.status);
  return json(answer.status, answer.status === 200 ? { value: answer.value } : answer.value);
}

function answerSession(desk: LoginDesk, { request, session, url }: RestCall): WireAnswer {
  if (request.method === 'DELETE' || request.method === 'GET' || url.searchParams.has('~action')) {
    if (session === undefined) return plain(401);
    if (request.method !== 'DELETE')
      return json(200, { value: { user: session.user, created_time: session.at, last_accessed_time: new Date() } });
    desk.logout(session);
    return plain(200);
  }
  const [user = '', ...password] = Buffer.from(request.headers.authorization?.replace(/^Basic /, '') ?? '', 'base64')
    .toString('utf8')
    .split(':');
  const opened = desk.login(request, 'rest', user, password.join(':'));
  if (opened === undefined) return plain(401);
  const answer = json(200, { value: opened.id });
  if (String(request.headers['vmware-use-header-authn']).toLowerCase() === 'true') return answer;
  return { ...answer, headers: { ...answer.headers, 'set-cookie': `${REST_COOKIE}=${opened.id}; Path=/rest` } };
}

function plain(status: number, body: string | Uint8Array = '', headers: WireAnswer['headers'] = {}): WireAnswer {
  return { status, headers, bytes: Buffer.from(body) };
}

function json(status: number, value: unknown): WireAnswer {
  return plain(status, JSON.stringify(value), { 'content-type': 'application/json' });
}

function unauthorized(privilege: string): unknown {
  const id = 'vapi.security.authorization.invalid';
  const message = { id, default_message: 'Unable to authorize user', args: [privilege] };
  return { type: 'com.vmware.vapi.std.errors.unauthorized', value: { messages: [message] } };
}
