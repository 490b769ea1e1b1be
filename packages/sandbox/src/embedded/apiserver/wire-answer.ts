import { exactText } from '@drydock/kube/testing/api-server';
import { ApiFailure, PlainFailure, statusBody } from './api-failure.ts';
import type { WireRequest, WireResponse } from './https-listener.ts';

/** An answer that is ready to be sent. */
export interface Answer {
  readonly code: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** How paths are answered that lead to nothing at all. */
export const PAGE_NOT_FOUND: Answer = { code: 404, type: TEXT_TYPE, text: '404 page not found\n' };

/** A JSON answer. */
export function jsonAnswer(code: number, body: unknown, pretty = false): Answer {
  return { code, type: JSON_TYPE, text: pretty ? `${JSON.stringify(body, undefined, 2)}\n` : `${exactText(body)}\n` };
}

/** A plain text. */
export function textAnswer(code: number, text: string): Answer {
  return { code, type: TEXT_TYPE, text };
}

/** The answer for what was thrown. Anything but an ApiFailure is a fault of this server: 500, and one line in its log. */
export function failureAnswer(error: unknown): Answer {
  if (error instanceof ApiFailure)
    return { ...jsonAnswer(error.status.code, statusBody(error.status)), headers: error.headers };
  if (error instanceof PlainFailure) return textAnswer(error.code, error.message);
  process.stderr.write(
    `embedded API server: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  const message = `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`;
  const causes = [{ message: error instanceof Error ? error.message : String(error) }];
  return jsonAnswer(500, statusBody({ code: 500, reason: 'InternalError', message, details: { causes } }));
}

/** Sends an answer, unless the client is gone. */
export function send(request: WireRequest, response: WireResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed || response.writableEnded) return;
  const { code, type, text, headers = {} } = answer;
  const body = Buffer.from(text);
  response.statusCode = code;
  response.setHeader('cache-control', 'no-cache, private');
  if (code !== 304) {
    response.setHeader('content-type', type);
    response.setHeader('content-length', body.length);
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value as string | string[]);
  // What is left of a body nobody reads would keep the connection busy.
  if (code === 413 && request.httpVersionMajor === 1) response.setHeader('connection', 'close');
  (response as { end(chunk?: Buffer): void }).end(request.method === 'HEAD' || code === 304 ? undefined : body);
}

/** A header that is sent once. */
export function headerOf(request: WireRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
