import type { TLSSocket } from 'node:tls';
import { accessRequestOf, refusalOf } from './access-check.ts';
import { badRequest } from './api-failure.ts';
import type { AuditLog } from './audit-log.ts';
import type { Exchange } from './exchange.ts';
import type { WireRequest, WireResponse } from './https-listener.ts';
import { impersonated } from './impersonation.ts';
import { RequestRefused } from './objects.ts';
import { type PlainPaths, plainAnswer } from './plain-paths.ts';
import { requestInfoOf } from './request-info.ts';
import { type ResourceHandler, resourceAnswer } from './resource-requests.ts';
import { ANONYMOUS } from './user-authentication.ts';
import { type Answer, failureAnswer, headerOf, jsonAnswer, send } from './wire-answer.ts';

/** What answers requests. */
export interface ApiHandlerOptions extends ResourceHandler {
  readonly plain: PlainPaths;
  readonly audit?: AuditLog;
}

/** The HTTP face of an API server. Each request goes: who asks → in whose name → may that user → what is asked for. */
export function createApiHandler(options: ApiHandlerOptions): (request: WireRequest, response: WireResponse) => void {
  return (request, response) => {
    serve(options, request, response).catch((error: unknown) => {
      send(request, response, failureAnswer(error));
    });
  };
}

async function serve(options: ApiHandlerOptions, request: WireRequest, response: WireResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  let exchange: Exchange | undefined;
  let answer: Answer | undefined;
  try {
    exchange = begin(request, response, gone.signal);
    answer = await answerOf(options, exchange);
  } catch (error) {
    answer = refusedAnswer(error) ?? failureAnswer(error);
  }
  if (exchange !== undefined) log(options.audit, exchange, answer, 'ResponseComplete');
  if (answer !== undefined) send(request, response, answer);
}

function begin(request: WireRequest, response: WireResponse, signal: AbortSignal): Exchange {
  try {
    const info = requestInfoOf(request.method ?? 'GET', request.url ?? '/');
    return { request, response, info, received: new Date(), signal, user: ANONYMOUS, acting: ANONYMOUS };
  } catch (error) {
    throw error instanceof URIError ? badRequest('invalid URL escape') : error;
  }
}

async function answerOf(options: ApiHandlerOptions, exchange: Exchange): Promise<Answer | undefined> {
  const { authenticator, authorizer, plain, audit } = options;
  const { request, info } = exchange;
  exchange.user = authenticator.authenticate(socketOf(request), headerOf(request, 'authorization'));
  exchange.acting = exchange.user;
  exchange.acting = impersonated(
    request.headers,
    request.rawHeaders,
    exchange.user,
    authorizer,
    request.url ?? info.path,
  );
  const refusal = refusalOf(authorizer, exchange.acting, accessRequestOf(info));
  if (refusal !== undefined) throw refusal;
  if (info.resource === undefined) return plainAnswer(plain, info, request);
  return resourceAnswer(options, exchange, info.resource, () => log(audit, exchange, undefined, 'ResponseStarted'));
}

/** The connection of a request: HTTP/2 hides it behind the session of many requests. */
function socketOf(request: WireRequest): TLSSocket {
  return ('stream' in request ? request.stream.session?.socket : request.socket) as TLSSocket;
}

function refusedAnswer(error: unknown): Answer | undefined {
  if (!(error instanceof RequestRefused)) return undefined;
  const { code, body, retryAfter } = error.answer;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  return { ...jsonAnswer(code, body), headers };
}

function log(
  audit: AuditLog | undefined,
  exchange: Exchange,
  answer: Answer | undefined,
  stage: 'ResponseStarted' | 'ResponseComplete',
): void {
  if (audit === undefined) return;
  const { info, request, user, acting, received, body, created } = exchange;
  const code = answer?.code ?? 200;
  audit.write({
    ...{ info, user, received, body, stage, code },
    uri: request.url ?? info.path,
    userAgent: headerOf(request, 'user-agent') ?? '',
    ...(acting === user ? {} : { impersonated: acting }),
    ...(created === undefined ? {} : { name: created }),
    ...(answer === undefined || code < 400 ? {} : { message: messageOf(answer.text) }),
  });
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? '';
  } catch {
    return text;
  }
}
