import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { SOAP_NS, VIM_NS, XSI_NS } from '../xml/xml.ts';

/** One call as it arrived. */
export interface ReceivedCall {
  readonly method: string;
  readonly body: string;
  readonly cookie: string | undefined;
  readonly soapAction: string | undefined;
}

/** What the server does with a call: the XML inside `<MResponse>`, or a way out of the ordinary. */
export type Reply =
  | string
  | { readonly fault: string; readonly fields?: string }
  | { readonly status: number; readonly contentType: string; readonly body: string }
  | { readonly act: 'hang' | 'reset' }
  /** The headers promise more than comes. */
  | { readonly truncated: string };

/** A vCenter of a few lines, for what a simulator cannot be made to do. */
export interface SoapServer extends AsyncDisposable {
  readonly url: string;
  readonly calls: readonly ReceivedCall[];
  /** Connections that completed a TLS handshake. */
  readonly handshakes: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Replaces the reply to a method; a function sees each call. */
  on(method: string, reply: Reply | ((call: ReceivedCall) => Reply)): void;
  /** Forgets all sessions, as a restarted vCenter does. */
  forgetSessions(): void;
}

/** Starts a server on loopback with this certificate. Cookies are in quotes, as a real vCenter's are. */
export async function startSoapServer(identity: {
  readonly certificate: string;
  readonly privateKey: string;
}): Promise<SoapServer> {
  const calls: ReceivedCall[] = [];
  const replies = new Map<string, Reply | ((call: ReceivedCall) => Reply)>();
  const sessions = new Set<string>();
  const sockets = new Set<Socket>();
  let handshakes = 0;
  let logins = 0;

  const standard = (call: ReceivedCall): Reply => {
    if (call.method === 'RetrieveServiceContent') return SERVICE_CONTENT;
    if (call.method === 'Login') return '<returnval><key>k</key></returnval>';
    if (call.cookie === undefined || !sessions.has(call.cookie)) return { fault: 'NotAuthenticated' };
    if (call.method === 'Logout') sessions.delete(call.cookie);
    if (call.method === 'CurrentTime') return '<returnval>2026-01-01T00:00:00Z</returnval>';
    return '';
  };
  const serve = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'text/xml');
      response.end(
        '<namespaces><namespace><name>urn:vim25</name><version>9.1.0.0</version><priorVersions><version>8.0.2.0</version></priorVersions></namespace></namespaces>',
      );
      return;
    }
    const method = /<soapenv:Body><(\w+)/.exec(body)?.[1] ?? '';
    const { cookie, soapaction } = request.headers;
    const call: ReceivedCall = {
      method,
      body,
      cookie,
      soapAction: typeof soapaction === 'string' ? soapaction : undefined,
    };
    calls.push(call);
    const scripted = replies.get(method);
    const dead =
      method !== 'Login' && method !== 'RetrieveServiceContent' && (cookie === undefined || !sessions.has(cookie));
    const reply =
      scripted === undefined || dead ? standard(call) : typeof scripted === 'function' ? scripted(call) : scripted;
    if (method === 'Login' && typeof reply === 'string') {
      const value = `"cookie ${++logins}=="`;
      sessions.add(`vmware_soap_session=${value}`);
      response.setHeader('set-cookie', [`other=1`, `vmware_soap_session=${value}; Path=/; HttpOnly; Secure`]);
    }
    send(request, response, method, reply);
  };
  const server = createServer({ cert: identity.certificate, key: identity.privateKey }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => serve(request, response, Buffer.concat(chunks).toString('utf8')));
  });
  server.on('secureConnection', () => handshakes++);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/sdk`,
    calls,
    get handshakes() {
      return handshakes;
    },
    get open() {
      return sockets.size;
    },
    on: (method, reply) => void replies.set(method, reply),
    forgetSessions: () => sessions.clear(),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function send(request: IncomingMessage, response: ServerResponse, method: string, reply: Reply): void {
  if (typeof reply === 'string')
    xml(response, 200, `<${method}Response xmlns="${VIM_NS}">${reply}</${method}Response>`);
  else if ('fault' in reply) {
    const detail = `<${reply.fault}Fault xmlns="${VIM_NS}" x:type="${reply.fault}">${reply.fields ?? ''}</${reply.fault}Fault>`;
    xml(
      response,
      500,
      `<s:Fault><faultcode>ServerFaultCode</faultcode><faultstring/><detail>${detail}</detail></s:Fault>`,
    );
  } else if ('status' in reply) {
    response.writeHead(reply.status, { 'content-type': reply.contentType });
    response.end(reply.body);
  } else if ('truncated' in reply) {
    response.writeHead(200, { 'content-type': 'text/xml', 'content-length': String(reply.truncated.length + 100) });
    response.write(reply.truncated, () => request.socket.destroy());
  } else if (reply.act === 'reset') request.socket.destroy();
}

function xml(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/xml; charset=utf-8' });
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?>\n<s:Envelope xmlns:s="${SOAP_NS}" xmlns:x="${XSI_NS}"><s:Body>${body}</s:Body></s:Envelope>`,
  );
}

const SERVICE_CONTENT =
  '<returnval><rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector>' +
  '<about><fullName>fake</fullName><version>8.0.2</version><build>1</build><apiType>VirtualCenter</apiType><apiVersion>8.0.2.0</apiVersion><instanceUuid>uuid-1</instanceUuid></about>' +
  '<sessionManager type="SessionManager">sm</sessionManager><searchIndex type="SearchIndex">si</searchIndex><viewManager type="ViewManager">vw</viewManager>' +
  '<customFieldsManager type="CustomFieldsManager">cf</customFieldsManager></returnval>';
