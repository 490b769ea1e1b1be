import type { ServerResponse } from 'node:http';
import { ApiError } from '../../errors.ts';
import type { Transport, WireRequest } from '../../transport/transport.ts';
import { type Answer, type SeenRequest, sendStatus } from '../server.ts';

/**
 * Puts a transport behind a real HTTP server: `misbehavingServer(httpAnswer(wire))`. What the transport throws becomes a Status, or,
 * where there was no answer, a reset; what it streams goes out byte for byte.
 */
export function httpAnswer(wire: Transport): Answer {
  return (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    serve(wire, wireRequest(request, gone.signal), request.query.get('watch') === 'true', response).catch(
      (error: unknown) => fail(error, response),
    );
  };
}

function wireRequest({ method, path, query, headers, body }: SeenRequest, signal: AbortSignal): WireRequest {
  const { 'content-type': contentType, accept } = headers;
  const text = query.toString();
  return {
    method: method as WireRequest['method'],
    path: text === '' ? path : `${path}?${text}`,
    action: `${method} ${path}`,
    signal,
    ...(body === '' ? {} : { body: JSON.parse(body) as unknown }),
    ...(typeof contentType === 'string' ? { contentType } : {}),
    ...(typeof accept === 'string' ? { accept } : {}),
  };
}

async function serve(wire: Transport, request: WireRequest, watch: boolean, response: ServerResponse): Promise<void> {
  if (!watch) {
    const body = await wire.call(request);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(body);
    return;
  }
  const stream = await wire.stream(request);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  response.once('close', () => stream.destroy());
  stream.on('error', () => response.destroy());
  stream.pipe(response);
}

function fail(error: unknown, response: ServerResponse): void {
  if (!(error instanceof ApiError) || error.status === 0 || response.headersSent) {
    response.destroy();
    return;
  }
  const { status, reason, details, said: message, retryAfter } = error;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter / 1000) };
  sendStatus(response, status, { reason, message, details }, headers);
}
