import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { XmlElement } from '../../xml/xml.ts';
import type { LeaseRecord } from './lease-record.ts';
import type { ServerSession } from './server-session.ts';
import { faultXml, type Refusal } from './soap-refusal.ts';
import { enveloped } from './update-page.ts';
import type { TaskRecord } from './vcenter-world.ts';

/** One call on its way through the server. */
export interface WireCall {
  /** A SOAP method; a REST call as `POST /rest/…` with ids as `id:*`; `upload`, `download`. */
  readonly method: string;
  /** The request's body; for uploads its path. */
  readonly text: string;
  /** The SOAP call, parsed. */
  readonly body: XmlElement | undefined;
  readonly session: ServerSession | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** An answer before it is sent. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** The task that it names. */
  readonly task?: TaskRecord;
}

/** Stands between a call and its answer; undefined: it has answered by itself, or cut the connection. */
export type Interceptor = (call: WireCall, act: () => Promise<WireAnswer>) => Promise<WireAnswer | undefined>;

/** Stands between a transfer and its receiver. `receive` reads the body through `pass` and resolves to the status. */
export type TransferInterceptor = (
  transfer: WireCall & { readonly lease: LeaseRecord | undefined },
  receive: (pass: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>) => Promise<number>,
) => Promise<void>;

/** The content type of SOAP. */
export const XML_TYPE = { 'content-type': 'text/xml; charset=utf-8' };

/** A response of a SOAP method; `inner` is XML. */
export function soapAnswer(method: string, inner: string, headers: WireAnswer['headers'] = XML_TYPE): WireAnswer {
  const bytes = Buffer.from(enveloped(`<${method}Response xmlns="urn:vim25">${inner}</${method}Response>`));
  return { status: 200, headers, bytes };
}

/** A SOAP fault. */
export function faultAnswer(refused: Refusal): WireAnswer {
  return { status: 500, headers: XML_TYPE, bytes: Buffer.from(enveloped(faultXml(refused))) };
}

/** Drops a connection so that the client sees a reset, not an end. */
export function resetConnection(request: IncomingMessage): void {
  const { socket } = request;
  if ('resetAndDestroy' in socket && typeof socket.resetAndDestroy === 'function' && !('encrypted' in socket)) {
    socket.resetAndDestroy();
    return;
  }
  // Behind TLS the socket below is the one to reset.
  const raw = (socket as { readonly _parent?: Socket })._parent;
  if (raw === undefined) socket.destroy();
  else raw.resetAndDestroy();
}
