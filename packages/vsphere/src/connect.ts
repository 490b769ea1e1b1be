import { VimError } from './errors.ts';
import { checkImport, startImport } from './import/import.ts';
import { customFields } from './inventory/custom-fields.ts';
import { currentTime, missingPrivileges, sessions } from './inventory/doctor.ts';
import { disksOn, places } from './inventory/estate.ts';
import { findByInstanceUuid, findByPath, findChild } from './inventory/find.ts';
import { guest } from './inventory/guest.ts';
import { children, datastore, hosts, vm } from './inventory/inventory.ts';
import { obstacle } from './inventory/obstacle.ts';
import { destroy, markAsTemplate, reconfigure, rename } from './inventory/vm.ts';
import { createLibraries } from './rest/libraries.ts';
import { createRest } from './rest/rest.ts';
import { createTags } from './rest/tags.ts';
import { createCaller } from './session/caller.ts';
import type { LoginBudget } from './session/login-budget.ts';
import { proxyFromEnvironment } from './session/proxy.ts';
import { checkFingerprint, type TlsTrust } from './session/tls.ts';
import { createTransport } from './session/transport.ts';
import type { Credentials, VimLog } from './soap/call.ts';
import { type Clock, systemClock } from './soap/clock.ts';
import type { UpdateFeed } from './updates/feed.ts';
import { sessionFeed } from './updates/session-feed.ts';
import type { VCenter } from './vcenter.ts';

/** How to reach one vCenter as one user. */
export interface ConnectOptions {
  /** `https://host[:port]`, with or without `/sdk`. */
  readonly url: string | URL;
  /** Asked at every login, so that a rotated password is taken up. */
  readonly credentials: () => Promise<Credentials>;
  /** Verification by the system's roots unless said. */
  readonly tls?: TlsTrust;
  /** Shared by all connections of a process, so that no password is shown too often. Each has its own where it is absent. */
  readonly logins?: LoginBudget;
  readonly clock?: Clock;
  readonly log?: VimLog;
  /** Where HTTPS_PROXY and NO_PROXY are looked up; the process's environment unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A vCenter that can be watched as well; both in one session. */
export interface VCenterConnection extends VCenter {
  readonly updates: UpdateFeed;
}

const SILENT: VimLog = { info: () => undefined, warn: () => undefined };

/**
 * A client of one vCenter. Nothing is sent before the first call; the first call logs in. Share one client per vCenter and user: each has a session of its own. Disposal ends what
 * still runs, logs out within 5 s and closes every connection.
 */
export function connectVCenter(options: ConnectOptions): VCenterConnection {
  const baseUrl = sdkUrl(options.url);
  const trust = options.tls ?? {};
  const log = options.log ?? SILENT;
  const clock = options.clock ?? systemClock;
  if (trust.sha256Pin !== undefined) checkFingerprint(trust.sha256Pin);
  if (trust.insecure === true && trust.sha256Pin === undefined) {
    log.warn(
      { server: baseUrl.host },
      'The certificate of this vCenter is not verified: anybody in between can read the password.',
    );
  }
  const proxy = proxyFromEnvironment(options.env ?? process.env);
  const transport = createTransport({ baseUrl, trust, proxy });
  const caller = createCaller({
    ...{ baseUrl, credentials: options.credentials, clock, log, transport },
    ...(options.logins === undefined ? {} : { logins: options.logins }),
  });
  const fields = customFields(caller);
  const rest = createRest(caller);
  return {
    server: caller.server,
    instanceUuid: async (how) => (await caller.content(how)).about.instanceUuid,
    about: async (how) => (await caller.content(how)).about,
    currentTime: (how) => currentTime(caller, how),
    sessions: (how) => sessions(caller, how),
    missingPrivileges: (entity, ids, how) => missingPrivileges(caller, entity, ids, how),
    places: (how) => places(caller, how),
    disksOn: (place, how) => disksOn(caller, place, how),
    obstacle: (ref, methods, how) => obstacle(caller, ref, methods, how),
    guest: (ref, how) => guest(caller, ref, how),
    findByPath: (path, how) => findByPath(caller, path, how),
    findChild: (folder, name, how) => findChild(caller, folder, name, how),
    findByInstanceUuid: (uuid, how) => findByInstanceUuid(caller, uuid, how),
    children: (folder, how) => children(caller, fields, folder, how),
    vm: (ref, how) => vm(caller, fields, ref, how),
    hosts: (computeResource, how) => hosts(caller, computeResource, how),
    datastore: (ref, how) => datastore(caller, ref, how),
    checkImport: (request, how) => checkImport(caller, request, how),
    startImport: (request, how) => startImport(caller, request, how),
    reconfigure: (ref, change, how) => reconfigure(caller, ref, change, how),
    markAsTemplate: (ref, how) => markAsTemplate(caller, ref, how),
    rename: (ref, name, how) => rename(caller, ref, name, how),
    destroy: (ref, how) => destroy(caller, ref, how),
    definesAttribute: (name, how) => fields.defines(name, how),
    setCustomValue: (ref, name, value, how) => fields.set(ref, name, value, how),
    tags: createTags(rest, clock),
    libraries: createLibraries(rest, caller),
    updates: sessionFeed(caller.inLane('watch')),
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([rest[Symbol.asyncDispose](), caller.session.close()]);
      transport.close();
    },
  };
}

function sdkUrl(given: string | URL): URL {
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') {
    // The text is not repeated: somebody may have put a password into it.
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_REFUSED',
      op: 'connect',
      message: 'the address of the vCenter is not an https:// URL',
      sent: false,
    });
  }
  url.username = '';
  url.password = '';
  url.search = '';
  url.hash = '';
  url.pathname = url.pathname === '/' ? '/sdk' : url.pathname.replace(/\/+$/, '');
  return url;
}
