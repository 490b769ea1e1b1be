import { randomBytes } from 'node:crypto';
import { VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import type { Caller, Credentials, Lane, MethodOptions, ObjectContent, VimLog } from '../soap/call.ts';
import type { Clock } from '../soap/clock.ts';
import { methodBody } from '../soap/schema.ts';
import { envelope, readResponse, refKey } from '../soap/soap.ts';
import type { CallOptions, MoRef } from '../vcenter.ts';
import type { XmlElement, XmlNode } from '../xml/xml.ts';
import { XmlSyntaxError } from '../xml/xml-characters.ts';
import { withPlace } from './denial.ts';
import { type LoginBudget, loginBudget } from './login-budget.ts';
import { LOGIN_MS } from './login-notes.ts';
import { type Retrieval, retrieveAll, theseObjects } from './retrieve.ts';
import { readServiceContent, soapActionOf } from './service-content.ts';
import { isDead, type LiveSession, Session, type SessionPort } from './session.ts';
import { TaskWaiter } from './tasks.ts';
import type { BodyReader, Exchange, Transport } from './transport.ts';

/** The caller as this package's own files see it. */
export interface SessionCaller extends Caller {
  /** Any retrieval, traversals included. */
  retrieveFrom(what: Retrieval, options?: CallOptions): Promise<readonly ObjectContent[]>;
  /** The same, of which only what `read` makes of each object is kept: a whole inventory is hundreds of megabytes. */
  retrieveEach<T>(what: Retrieval, read: (content: ObjectContent) => T, options?: CallOptions): Promise<readonly T[]>;
  readonly session: Session;
  /** The same session by other connections. */
  inLane(lane: Lane): SessionCaller;
  /**
   * A call whose answer is read as it arrives, for polls that last minutes. `body` writes the envelope. Never repeated, and made only in the session of `generation`: what it is
   * made on ended with that session.
   */
  stream(
    method: string,
    self: MoRef,
    body: (opId: string) => string,
    reader: BodyReader<void>,
    options: { readonly generation: number; readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
}

/** What a caller is made of. */
export interface CallerOptions {
  readonly baseUrl: URL;
  readonly credentials: () => Promise<Credentials>;
  readonly clock: Clock;
  readonly log: VimLog;
  readonly transport: Transport;
  /** That of all connections of the process; one of its own where it is absent. */
  readonly logins?: LoginBudget;
}

const CONTROL_MS = 60_000;
/** What a fence stands before; whoever passed it may look at what became of it. */
const FENCED: ReadonlySet<string> = new Set([
  'AddCustomFieldDef',
  'Destroy_Task',
  'MarkAsTemplate',
  'ReconfigVM_Task',
  'Rename_Task',
  'SetField',
]);
const SERVICE_INSTANCE: MoRef = { type: 'ServiceInstance', value: 'ServiceInstance' };

/** Layers session, envelope and repetition over a transport. */
export function createCaller(options: CallerOptions): SessionCaller {
  const { baseUrl, transport, clock, log, credentials, logins = loginBudget() } = options;
  const server = baseUrl.host;
  const run = `drydock-${randomBytes(3).toString('hex')}`;
  let count = 0;

  type How = MethodOptions & { readonly soapAction: string; readonly cookie?: string };
  const request = (
    method: string,
    self: MoRef,
    body: (opId: string) => string,
    how: How,
  ): Exchange & { readonly opId: string } => {
    const opId = `${run}-${++count}`;
    const op = `${method} on ${refText(self)}`;
    return {
      op,
      opId,
      method: 'POST',
      path: baseUrl.pathname,
      body: textOf(op, opId, body),
      headers: {
        'content-type': 'text/xml; charset="utf-8"',
        soapaction: how.soapAction,
        ...(how.cookie === undefined ? {} : { cookie: `${COOKIE}=${how.cookie}` }),
      },
      timeoutMs: how.timeoutMs ?? CONTROL_MS,
      idempotent: how.idempotent === true,
      lane: how.lane ?? 'templates',
      ...(how.budget === undefined ? {} : { budget: how.budget }),
      ...(how.signal === undefined ? {} : { signal: how.signal }),
      ...(how.fence === undefined || !FENCED.has(method) ? {} : { fence: how.fence }),
    };
  };
  const post = async (
    method: string,
    self: MoRef,
    body: readonly XmlNode[],
    how: How,
  ): Promise<{ readonly element: XmlElement; readonly setCookie: readonly string[] }> => {
    const exchange = request(method, self, (opId) => envelope(method, self, body, opId), how);
    const answer = await transport.exchange(exchange);
    return { element: readResponse(answer.document, method, self, exchange.opId), setCookie: answer.setCookie };
  };

  /** Who is logged in, or was tried last. */
  let user = '';
  const login: Caller['login'] = async (show) => {
    const who = await credentials();
    ({ user } = who);
    const begin = (): ReturnType<typeof show> => {
      // It may have waited for another one.
      session.closing.throwIfAborted();
      return show(who);
    };
    return logins.attempt(server, who, begin, { signal: session.closing });
  };
  const port: SessionPort = {
    async discover(signal) {
      const soapAction = await soapActionOf(transport, baseUrl, signal);
      const { element } = await post('RetrieveServiceContent', SERVICE_INSTANCE, [], {
        soapAction,
        idempotent: true,
        lane: 'session',
        signal,
      });
      return { content: readServiceContent(element, server), soapAction };
    },
    login: ({ content, soapAction }) =>
      login(async (who) => {
        const body = methodBody('Login', { userName: who.user, password: who.password, locale: 'en_US' });
        const how = { soapAction, lane: 'session', timeoutMs: LOGIN_MS } as const;
        const { setCookie } = await post('Login', content.sessionManager, body, how);
        log.info({ server, user: who.user }, 'Logged in to vCenter.');
        return sessionCookie(setCookie, server);
      }),
    async probe(live, signal) {
      await post('CurrentTime', SERVICE_INSTANCE, [], { ...live, idempotent: true, lane: 'session', signal });
    },
    async logout(live, signal) {
      await post('Logout', live.content.sessionManager, [], { ...live, signal, lane: 'session', timeoutMs: 5_000 });
    },
  };
  const session = new Session({ port, clock, log, server });

  /** Whoever waits again and again does so with one signal: it is joined once. */
  const joined = new WeakMap<AbortSignal, AbortSignal>();
  const untilClosed = (signal: AbortSignal): AbortSignal => {
    const known = joined.get(signal) ?? AbortSignal.any([signal, session.closing]);
    joined.set(signal, known);
    return known;
  };

  /** Runs an exchange in a session, and tells the session what its outcome says about it. */
  const within = async <T>(
    live: LiveSession,
    how: MethodOptions | undefined,
    exchange: (how: How) => Promise<T>,
  ): Promise<T> => {
    const signal = how?.signal === undefined ? session.closing : untilClosed(how.signal);
    try {
      const answer = await exchange({ ...how, soapAction: live.soapAction, cookie: live.cookie, signal });
      session.answered();
      return answer;
    } catch (error) {
      if (isDead(error)) session.invalidate(live.generation);
      else if (error instanceof VimError && error.kind === 'fault') session.answered();
      throw error;
    }
  };
  const attempt = async (
    live: LiveSession,
    method: string,
    self: MoRef,
    body: readonly XmlNode[],
    how?: MethodOptions,
  ): Promise<XmlElement> => within(live, how, async (bound) => (await post(method, self, body, bound)).element);
  const stream: SessionCaller['stream'] = async (method, self, body, reader, how) => {
    const live = await session.ensure(how.signal);
    if (live.generation !== how.generation) throw orphaned(server, method);
    await within(live, how, async (bound) => {
      const exchange = request(method, self, body, bound);
      const refused = await transport.stream(exchange, reader);
      if (refused !== undefined) readResponse(refused.document, method, self, exchange.opId);
    });
  };
  const surface = (lane: Lane): SessionCaller => {
    const once = async (
      method: string,
      self: MoRef,
      body: readonly XmlNode[],
      how?: MethodOptions,
    ): Promise<XmlElement> => {
      const live = await session.ensure(how?.signal);
      const inThis: MethodOptions = { lane, ...how };
      try {
        return await attempt(live, method, self, body, inThis);
      } catch (error) {
        if (how?.idempotent !== true || !worthRepeating(error)) throw error;
        log.info({ server, method, err: error }, 'The call is made once more.');
        return attempt(await session.ensure(how.signal), method, self, body, inThis);
      }
    };

    const call: typeof once = async (method, self, body, how) => {
      try {
        return await once(method, self, body, how);
      } catch (error) {
        throw await denied(error, how?.signal);
      }
    };
    /** The look for the object must not begin another one. */
    const denied = (error: unknown, signal: AbortSignal | undefined): Promise<unknown> =>
      withPlace(
        error,
        user,
        async (refs, type, paths, how) => {
          const { content } = await session.ensure(how?.signal);
          const what = { type, paths, from: theseObjects(refs) };
          return retrieveAll(once, content.propertyCollector, what, server, how, (object) => object);
        },
        signal,
      );

    const retrieveEach: SessionCaller['retrieveEach'] = async (what, read, how) => {
      for (let again = false; ; again = true) {
        const { generation, content } = await session.ensure(how?.signal);
        let dead = false;
        const found = await retrieveAll(call, content.propertyCollector, what, server, how, (object) => {
          // Without a session this method does not fault; it finds nothing and says why.
          dead ||= object.missing.some(({ fault }) => fault?.is('NotAuthenticated') === true);
          return read(object);
        });
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
    const retrieveFrom: SessionCaller['retrieveFrom'] = (what, how) => retrieveEach(what, (content) => content, how);
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
      login,
      clock,
      log,
      session,
      inLane: surface,
      call,
      stream,
      content: (how) => session.content(how?.signal),
      retrieve,
      retrieveFrom,
      retrieveEach,
      waitForTask: async (task, how) => {
        try {
          return await tasks.wait(task, how);
        } catch (error) {
          throw await denied(error, how?.signal);
        }
      },
      httpsAgentFor: (hostPort, sha1) => transport.agentFor(hostPort, sha1),
    };
  };
  return surface('templates');
}

/** What belonged to an earlier session ended with it. */
function orphaned(server: string, op: string): VimError {
  const message = `the session at ${server} in which this was made has ended`;
  return new VimError({ kind: 'protocol', code: 'VIM_NOT_AUTHENTICATED', op, message, retriable: true, sent: false });
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

/** What is sent. A name, or whatever else came from a person, may have a character that no XML can carry. */
function textOf(op: string, opId: string, body: (opId: string) => string): string {
  try {
    return body(opId);
  } catch (cause) {
    if (!(cause instanceof XmlSyntaxError)) throw cause;
    const message = `${cause.message}: a name or a value for the server is none`;
    throw new VimError({ kind: 'protocol', code: 'VIM_INVALID_NAME', op, opId, message, sent: false, cause });
  }
}
