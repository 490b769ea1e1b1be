import type { WireRequest, WireResponse } from './https-listener.ts';
import type { ObjectsRequest, UserInfo } from './objects.ts';
import { contentTypeOf } from './request-body.ts';
import type { RequestInfo } from './request-info.ts';
import { headerOf, JSON_TYPE } from './wire-answer.ts';

/** A request on its way through the server. */
export interface Exchange {
  readonly request: WireRequest;
  readonly response: WireResponse;
  readonly info: RequestInfo;
  readonly received: Date;
  /** Ends when the client is gone. */
  readonly signal: AbortSignal;
  /** Who sent it, by its credentials. */
  user: UserInfo;
  /** In whose name it is answered: another one where the sender impersonates. */
  acting: UserInfo;
  body?: unknown;
  /** Of the object that was created. */
  created?: string;
}

/** The request as the objects half takes it. */
export function objectsRequest({ request, info, acting, body, signal }: Exchange): ObjectsRequest {
  const type = contentTypeOf(headerOf(request, 'content-type'));
  return {
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    path: request.url ?? info.path,
    ...(body === undefined ? {} : { body }),
    ...(type === undefined ? {} : { contentType: type }),
    accept: JSON_TYPE,
    agent: (headerOf(request, 'user-agent') ?? 'unknown').split('/', 1)[0] ?? 'unknown',
    user: acting,
    signal,
  };
}
