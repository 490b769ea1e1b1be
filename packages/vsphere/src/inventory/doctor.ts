import { VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import type { SessionCaller } from '../session/caller.ts';
import { requireService } from '../session/service-content.ts';
import { arrayOf, object, one, text } from '../soap/decode.ts';
import { methodBody } from '../soap/schema.ts';
import type { CallOptions, MoRef, SessionCount } from '../vcenter.ts';
import { child, childText, elements, textOf } from '../xml/xml.ts';
import { read } from './vm-summary.ts';

const SERVICE_INSTANCE: MoRef = { type: 'ServiceInstance', value: 'ServiceInstance' };
const userSession = object({ key: one(text), userName: one(text) });

/** See `VCenter.currentTime`. */
export async function currentTime(caller: SessionCaller, options?: CallOptions): Promise<Date> {
  const answer = await caller.call('CurrentTime', SERVICE_INSTANCE, [], { ...options, idempotent: true });
  const said = childText(answer, 'returnval') ?? '';
  const time = new Date(said);
  if (!Number.isNaN(time.getTime())) return time;
  throw new VimError({
    kind: 'protocol',
    code: 'VIM_BAD_RESPONSE',
    op: 'CurrentTime',
    message: `${caller.server} gives no time that can be read`,
  });
}

/** See `VCenter.sessions`. */
export async function sessions(caller: SessionCaller, options?: CallOptions): Promise<SessionCount> {
  const { user, all } = await readSessions(caller, options);
  return { user, ...(all === undefined ? {} : { count: all.filter((name) => name === user).length }) };
}

/**
 * See `VCenter.missingPrivileges`. Asks for the session, which no privilege is needed for; a server that does not know the question is asked for
 * all that the user has.
 */
export async function missingPrivileges(
  caller: SessionCaller,
  entity: MoRef,
  ids: readonly string[],
  options?: CallOptions,
): Promise<readonly string[]> {
  const self = requireService(await caller.content(options), 'authorizationManager', caller.server);
  const how = { ...options, idempotent: true };
  const { key, user } = await readSessions(caller, options);
  try {
    const body = methodBody('HasPrivilegeOnEntities', { entity: [entity], sessionId: key, privId: ids });
    const answer = await caller.call('HasPrivilegeOnEntities', self, body, how);
    const granted = new Set<string>();
    for (const one of elements(child(answer, 'returnval'), 'privAvailability'))
      if (childText(one, 'isGranted') === 'true') granted.add(childText(one, 'privId') ?? '');
    return ids.filter((id) => !granted.has(id));
  } catch (error) {
    if (!(error instanceof VimError) || !UNANSWERED.some((name) => error.fault?.is(name) === true)) throw error;
    const body = methodBody('FetchUserPrivilegeOnEntities', { entities: [entity], userName: user });
    const answer = await caller.call('FetchUserPrivilegeOnEntities', self, body, how);
    const granted = new Set(elements(child(answer, 'returnval'), 'privileges').map(textOf));
    return ids.filter((id) => !granted.has(id));
  }
}

/** Faults of a server that cannot answer, not of an entity that is not there. */
const UNANSWERED: readonly string[] = ['MethodNotFound', 'NotImplemented', 'NotSupported', 'InvalidRequest'];

/** The session of this client, and the users of all sessions where that may be read. */
async function readSessions(
  caller: SessionCaller,
  options?: CallOptions,
): Promise<{ readonly key: string; readonly user: string; readonly all: readonly string[] | undefined }> {
  const { sessionManager } = await caller.content(options);
  const [found] = await caller.retrieve(
    [sessionManager],
    sessionManager.type,
    ['currentSession', 'sessionList'],
    options,
  );
  const current = found === undefined ? undefined : read(found, 'currentSession', userSession);
  if (found === undefined || current?.key === undefined || current.userName === undefined) {
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_BAD_RESPONSE',
      op: 'RetrievePropertiesEx',
      message: `${caller.server} does not tell the session of ${refText(sessionManager)}`,
      retriable: true,
    });
  }
  const all = read(found, 'sessionList', arrayOf(userSession))?.map(({ userName }) => userName ?? '');
  return { key: current.key, user: current.userName, all };
}
