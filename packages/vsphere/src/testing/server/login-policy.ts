import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServerSession } from './server-session.ts';
import type { VCenterServerState } from './vcenter-server-state.ts';

/** Name of the SOAP session's cookie. */
export const SOAP_COOKIE = 'vmware_soap_session';
/** Name of the REST session's cookie, and of the header with the same value. */
export const REST_COOKIE = 'vmware-api-session-id';

const LOCKOUT_WINDOW_MS = 180_000;
const LOCKOUT_MS = 300_000;
/** Setting: seconds after which a session without a call ends, as `1800s`. */
const IDLE_LIMIT = 'config.vmacore.soap.sessionTimeout';

/** Counts since the start. */
export interface LoginCounts {
  logins: number;
  refused: number;
  logouts: number;
}

/** Who may log in, and the sessions of those who did. */
export class LoginDesk {
  readonly counts: LoginCounts = { logins: 0, refused: 0, logouts: 0 };
  readonly state: VCenterServerState;
  /** Times of refusals by account. */
  readonly #refusals = new Map<string, number[]>();
  /** Account → until when it is locked. */
  readonly #lockedUntil = new Map<string, number>();

  constructor(state: VCenterServerState) {
    this.state = state;
  }

  /** Accounts that are locked now, in lower case. */
  lockedAccounts(): readonly string[] {
    const now = Date.now();
    return [...this.#lockedUntil]
      .filter(([, until]) => now < until)
      .map(([account]) => account)
      .toSorted();
  }

  /** Opens a session; undefined: the login is refused, and counted. */
  login(
    request: IncomingMessage,
    kind: ServerSession['kind'],
    user: string,
    password: string,
  ): ServerSession | undefined {
    if (!this.#admits(user, password)) return undefined;
    const { remoteAddress: address = '' } = request.socket;
    const agent = request.headers['user-agent'] ?? '';
    const idleLimitMs = this.#idleLimitMs();
    const opened = { id: randomUUID(), user, kind, address, agent, idleLimitMs };
    const session = new ServerSession(this.state.world.index, opened);
    this.state.sessions.set(session.id, session);
    this.counts.logins += 1;
    return session;
  }

  logout(session: ServerSession): void {
    this.counts.logouts += 1;
    this.end(session);
  }

  /** Ends a session: its waits end with NotAuthenticated, and what was made in it is gone. */
  end(session: ServerSession): void {
    this.state.sessions.delete(session.id);
    session.end();
  }

  /** The session that a request shows, which counts the call. */
  sessionOf(request: IncomingMessage): ServerSession | undefined {
    const shown = [request.headers[REST_COOKIE]];
    for (const pair of request.headers.cookie?.split(/;\s*/) ?? []) {
      const [name, ...value] = pair.split('=');
      if (name === SOAP_COOKIE || name === REST_COOKIE) shown.push(value.join('='));
    }
    this.#endIdle();
    for (const one of shown) {
      const session = this.state.sessions.get(String(one).replaceAll('"', ''));
      if (session === undefined) continue;
      session.calls += 1;
      session.lastCall = Date.now();
      return session;
    }
    return undefined;
  }

  /** Ends sessions that made no call for too long. */
  #endIdle(): void {
    const now = Date.now();
    for (const session of [...this.state.sessions.values()])
      if (now - session.lastCall > session.idleLimitMs && session.waits.size === 0) this.end(session);
  }

  /** The limit (ms) of sessions that are opened from now on; those that are open keep theirs, as in govmomi's simulator. */
  #idleLimitMs(): number {
    const seconds = Number.parseFloat(this.state.settings.get(IDLE_LIMIT) ?? '');
    return seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
  }

  #admits(user: string, password: string): boolean {
    const { logins } = this.state;
    const account = user.toLowerCase();
    const now = Date.now();
    const isLocked = logins.lockoutAfter > 0 && now < (this.#lockedUntil.get(account) ?? 0);
    if (!isLocked && !logins.refused && user === logins.user && password === logins.password) return true;
    this.counts.refused += 1;
    if (isLocked || logins.lockoutAfter === 0) return false;
    const refusals = (this.#refusals.get(account) ?? []).filter((at) => now - at < LOCKOUT_WINDOW_MS);
    refusals.push(now);
    this.#refusals.set(account, refusals);
    if (refusals.length >= logins.lockoutAfter) this.#lockedUntil.set(account, now + LOCKOUT_MS);
    return false;
  }
}
