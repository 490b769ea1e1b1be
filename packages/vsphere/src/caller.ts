import { randomBytes } from 'node:crypto';
import type { Caller, Credentials, MethodOptions, ObjectContent, VimLog } from './call.ts';
import type { Clock } from './clock.ts';
import { VimError } from './errors.ts';
import { type Retrieval, retrieveAll, theseObjects } from './retrieve.ts';
import { methodBody } from './schema.ts';
import { readServiceContent, soapActionOf } from './service-content.ts';
import { isDead, type LiveSession, Session, type SessionPort } from './session.ts';
import { envelope, readResponse, refKey } from './soap.ts';
import { TaskWaiter } from './tasks.ts';
import type { Transport } from './transport.ts';
import type { CallOptions, MoRef } from './vcenter.ts';
import type { XmlElement, XmlNode } from './xml.ts';

/** The caller as this package's own files see it. */
export interface SessionCaller extends Caller {
  /** Any retrieval, traversals included. */
  retrieveFrom(what: Retrieval, options?: CallOptions): Promise<readonly ObjectContent[]>;
  readonly session: Session;
}

/** What a caller is made of. */
export interface CallerOptions {
  readonly baseUrl: URL;
  readonly credentials: () => Promise<Credentials>;
  readonly clock: Clock;
  readonly log: VimLog;
  readonly transport: Transport;
}

const CONTROL_MS = 60_000;
const SERVICE_INSTANCE: MoRef = { type: 'ServiceInstance', value: 'ServiceInstance' };

/** Layers session, envelope and repetition over a transport. */
export function createCaller(options: CallerOptions): SessionCaller {
  const { baseUrl, transport, clock, log, credentials } = options;
  const server = baseUrl.host;
  const run = `drydock-${randomBytes(3).toString('hex')}`;
  let count = 0;

  const post = async (
    method: string,
    self: MoRef,
    body: readonly XmlNode[],
    how: MethodOptions & { readonly soapAction: string; readonly cookie?: string },
  ): Promise<{ readonly element: XmlElement; readonly setCookie: readonly string[] }> => {
    const opId = `${run}-${++count}`;
    const answer = await transport.exchange({
      op: `${method} on ${refKey(self)}`,
      opId,
      method: 'POST',
      path: baseUrl.pathname,
      body: envelope(method, self, body, opId),
      headers: {
        'content-type': 'text/xml; charset="utf-8"',
        soapaction: how.soapAction,
        ...(how.cookie === undefined ? {} : { cookie: `${COOKIE}=${how.cookie}` }),
      },
      timeoutMs: how.timeoutMs ?? CONTROL_MS,
      idempotent: how.idempotent === true,
      ...(how.signal === undefined ? {} : { signal: how.signal }),
    });
    return { element: readResponse(answer.document, method, self, opId), setCookie: answer.setCookie };
  };

  const port: SessionPort = {
    async discover(signal) {
      const soapAction = await soapActionOf(transport, baseUrl, signal);
      const { element } = await post('RetrieveServiceContent', SERVICE_INSTANCE, [], {
        soapAction,
        idempotent: true,
        signal,
      });
      return { content: readServiceContent(element, server), soapAction };
    },
    async login({ content, soapAction }, who, signal) {
      const body = methodBody('Login', { userName: who.user, password: who.password, locale: 'en_US' });
      const { setCookie } = await post('Login', content.sessionManager, body, { soapAction, signal });
      return sessionCookie(setCookie, server);
    },
    async probe(live, signal) {
      await post('CurrentTime', SERVICE_INSTANCE, [], { ...live, idempotent: true, signal });
    },
    async logout(live, signal) {
      await post('Logout', live.content.sessionManager, [], { ...live, signal, timeoutMs: 5_000 });
    },
  };
  const session = new Session({ port, credentials, clock, log, server });

  const attempt = async (
    live: LiveSession,
    method: string,
    self: MoRef,
    body: readonly XmlNode[],
    how?: MethodOptions,
  ): Promise<XmlElement> => {
    const signal = how?.signal === undefined ? session.closing : AbortSignal.any([how.signal, session.closing]);
    try {
      const { element } = await post(method, self, body, {
        ...how,
        soapAction: live.soapAction,
        cookie: live.cookie,
        signal,
      });
      session.answered();
      return element;
    } catch (error) {
      if (isDead(error)) session.invalidate(live.generation);
      else if (error instanceof VimError && error.kind === 'fault') session.answered();
      throw error;
    }
  };
  const call = async (
    method: string,
    self: MoRef,
    body: readonly XmlNode[],
    how?: MethodOptions,
  ): Promise<XmlElement> => {
    const live = await session.ensure(how?.signal);
    try {
      return await attempt(live, method, self, body, how);
    } catch (error) {
      if (how?.idempotent !== true || !worthRepeating(error)) throw error;
      log.info({ server, method, err: error }, 'The call is made once more.');
      return attempt(await session.ensure(how.signal), method, self, body, how);
    }
  };

  const retrieveFrom = async (what: Retrieval, how?: CallOptions): Promise<readonly ObjectContent[]> => {
    for (let again = false; ; again = true) {
      const { generation, content } = await session.ensure(how?.signal);
      const found = await retrieveAll(call, content.propertyCollector, what, how);
      // Without a session this method does not fault; it finds nothing and says why.
      const dead = found.some(({ missing }) => missing.some(({ fault }) => fault?.is('NotAuthenticated') === true));
      if (!dead) return found;
      session.invalidate(generation);
      if (again)
        throw new VimError({
          kind: 'fault',
          code: 'VIM_NOT_AUTHENTICATED',
          op: 'RetrievePropertiesEx',
          message: `${server} ends every session at once`,
          retriable: true,
        });
    }
  };
  const retrieve: Caller['retrieve'] = async (refs, type, paths, how) => {
    let left = refs;
    while (left.length > 0) {
      try {
        return await retrieveFrom({ type, paths, from: theseObjects(left) }, how);
      } catch (error) {
        // Some servers fail the whole call for one object that is gone.
        const gone =
          error instanceof VimError && error.fault?.is('ManagedObjectNotFound') === true
            ? error.fault.reference('obj')
            : undefined;
        const rest = gone === undefined ? left : left.filter((ref) => refKey(ref) !== refKey(gone));
        if (rest.length === left.length) throw error;
        left = rest;
      }
    }
    return [];
  };
  const tasks = new TaskWaiter({ retrieve, clock, server, closing: session.closing });

  return {
    server,
    baseUrl,
    credentials,
    clock,
    log,
    session,
    call,
    content: (how) => session.content(how?.signal),
    retrieve,
    retrieveFrom,
    waitForTask: (task, how) => tasks.wait(task, how),
    httpsAgentFor: (hostPort, sha1) => transport.agentFor(hostPort, sha1),
  };
}

const COOKIE = 'vmware_soap_session';

/** The raw value: a real vCenter puts it in quotes, which belong to it (VS-W78). */
function sessionCookie(setCookie: readonly string[], server: string): string {
  for (const line of setCookie) {
    const pair = line.split(';', 1)[0] ?? '';
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === COOKIE) return pair.slice(equals + 1).trim();
  }
  throw new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op: 'Login',
    message: `${server} accepts the login but gives no session cookie`,
  });
}

/** A lost answer or a dead session; a fault that names anything else is an answer. */
function worthRepeating(error: unknown): boolean {
  if (!(error instanceof VimError)) return false;
  return isDead(error) || ((error.kind === 'transport' || error.kind === 'protocol') && error.retriable);
}
