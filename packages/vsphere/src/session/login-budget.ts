import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isVimError, VimError } from '../errors.ts';
import type { Credentials, VimLog } from '../soap/call.ts';
import {
  isNoteOf,
  LOGIN_MS,
  type LoginLeave,
  type LoginNote,
  type LoginNotes,
  lateText,
  loginLeave,
  nextLogin,
  oneNote,
  withoutDead,
} from './login-notes.ts';

/** What a {@link loginBudget} may be told. */
export interface LoginBudgetOptions {
  /** Absent: only this process knows. */
  readonly notes?: LoginNotes;
  /** Of others, who try for themselves: as long as they have one of the same password, nothing is tried here. */
  readonly others?: Pick<LoginNotes, 'read'>;
  /** So many refusals are taken before the wait. Default 2. */
  readonly attempts?: number;
  /** A person says that each password is to be tried once, whatever was refused. */
  readonly now?: boolean;
  /** Milliseconds since 1970. */
  readonly date?: () => number;
  /** Rejects when the signal ends. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly log?: VimLog;
  /** A server refused a login. */
  readonly onRefused?: (server: string) => void;
}

/** Who lets logins through: one for all connections of a process. */
export interface LoginBudget {
  /**
   * Makes a login; one at a time for each server and user. Rejects with `VIM_LOGIN_WITHHELD` where it may not be tried now, else with what the login rejects with. A refusal says whose
   * it is, how many there were and when the next attempt is due. The login has to end within `LOGIN_MS`; `signal` ends the wait for the logins of others.
   */
  attempt<T>(
    server: string,
    who: Credentials,
    login: () => Promise<T>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<T>;
}

/** A password that was given to this process. */
interface Password {
  readonly who: Credentials;
  /** By which it was called; a Secret that is written again with the same content has another one. */
  readonly versions: Set<string>;
  note: LoginNote | undefined;
  /** The note is where others see it; where it is missing there, they were let in. */
  shared: boolean;
  /** It was tried because a person said so. */
  pressed: boolean;
}

/** Passwords of one user that are remembered. */
const PASSWORDS = 8;
/** Whoever was refused so long ago (ms) and not since tries no more. */
const FORGOTTEN_MS = 24 * 3_600_000;
/** How often it is looked whether the logins of others ended. */
const LOOK_MS = 250;

/**
 * Keeps a wrong password from locking an account, which five refused logins within three minutes do. Each version of a password is tried twice, and from then on once in 30 minutes, by all together
 * who share the notes. Another version is tried at once; one that comes back has what it had. Each attempt is noted before it is made: two who do not know of each other would show it twice
 * as often, and whoever dies of it has made it.
 */
export function loginBudget(options: LoginBudgetOptions = {}): LoginBudget {
  const { notes, others: counting, attempts = 2, date = Date.now, sleep = pause, log, onRefused } = options;
  const passwords = new Map<string, Password[]>();
  const queues = new Map<string, Promise<unknown>>();
  let alone = false;
  const reach = async <T>(work: Promise<T>, server: string): Promise<T | undefined> =>
    work.catch((error: unknown) => {
      if (!alone)
        log?.warn(
          { server, err: error },
          'Refused logins are not shared with other processes now; this one counts for itself.',
        );
      alone = true;
      return undefined;
    });

  const remembered = (key: string, who: Credentials): Password => {
    const known = passwords.get(key) ?? [];
    passwords.set(key, known);
    const found = known.find((one) => isSame(one.who, who));
    const password = found ?? { who, versions: new Set(), note: undefined, shared: false, pressed: false };
    if (found === undefined) known.push(password);
    if (known.length > PASSWORDS) known.shift();
    if (who.version !== undefined) password.versions.add(who.version.id);
    return password;
  };

  const guarded = async <T>(
    server: string,
    who: Credentials,
    password: Password,
    login: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    const { user } = who;
    const { origin = '', id } = who.version ?? {};
    const pressing = options.now === true && !password.pressed;
    password.pressed = true;
    const isMine = (note: LoginNote): boolean => isNoteOf(note, password.versions);
    const mine = (all: readonly LoginNote[]): LoginNote | undefined => oneNote(all.filter(isMine));
    const foreign = counting && mine((await reach(counting.read(server, user), server)) ?? []);
    if (foreign !== undefined && foreign.refusals > 0 && !pressing) throw withheld(foreign, undefined, date());

    /** Of notes that are shared; where it was and is no more, somebody was let in. */
    const known = (all: readonly LoginNote[]): LoginNote | undefined =>
      mine(all) ?? (password.shared ? undefined : password.note);
    const keep = async (next: (now: LoginNote | undefined) => LoginNote | undefined, letIn = false): Promise<void> => {
      let kept = next(password.note);
      if (notes !== undefined && id !== undefined) {
        const change = notes.change(server, user, (now) => {
          kept = next(known(now));
          const others = now.filter((note) => !isMine(note));
          const rest = letIn ? others.map((note) => replacedBy(origin, note)) : others;
          return latestOf(kept === undefined ? rest : [...rest, kept], date());
        });
        password.shared =
          (await reach(
            change.then(() => true),
            server,
          )) === true;
      }
      password.note = kept;
    };
    const named = (note: LoginNote | undefined, changed: Partial<LoginNote>): LoginNote => {
      const { replaced: _, ...before } = note ?? { refusals: 0 };
      const versions = [...new Set([...(note?.versions ?? []), ...password.versions])].slice(-PASSWORDS);
      return { last: rfc3339(date()), ...before, ...changed, server, user, origin, versions };
    };
    const ended = (now: LoginNote | undefined): LoginNote | undefined => {
      if (now === undefined) return undefined;
      const { underway = [], ...rest } = withoutDead(now, date());
      const left = underway.filter((one) => one.id !== turn);
      if (left.length === 0) return rest.refusals === 0 ? undefined : rest;
      return { ...rest, underway: left };
    };

    const turn = randomUUID();
    const allowed = (note: LoginNote | undefined): LoginLeave =>
      pressing ? 'free' : loginLeave(note, attempts, date());
    const giveUpAt = date() + 2 * LOGIN_MS;
    for (;;) {
      const all = notes === undefined ? undefined : await reach(notes.read(server, user), server);
      const before = all === undefined ? password.note : known(all);
      const renamed = before !== undefined && id !== undefined && !before.versions.includes(id);
      let leave = allowed(before);
      let found = before;
      if (leave === 'free' || renamed)
        await keep((now) => {
          leave = allowed(now);
          found = now;
          if (leave !== 'free') return now === undefined ? undefined : { ...now, versions: named(now, {}).versions };
          const living = now === undefined ? undefined : withoutDead(now, date());
          return named(living, { underway: [...(living?.underway ?? []), { id: turn, since: rfc3339(date()) }] });
        });
      if (leave === 'free') break;
      if (leave === 'withheld' && found !== undefined) throw withheld(found, attempts, date());
      if (date() > giveUpAt) throw crowded(server, user);
      await sleep(LOOK_MS, signal);
    }
    try {
      const session = await login();
      await keep(() => undefined, true);
      return session;
    } catch (error) {
      if (!isRefusal(error)) {
        // The server did not look at it.
        await keep(ended);
        throw error;
      }
      onRefused?.(server);
      let note = named(undefined, {});
      await keep((now) => {
        const rest = ended(now);
        note = named(rest, { refusals: (rest?.refusals ?? 0) + 1, last: rfc3339(date()) });
        return note;
      });
      throw refused(error, note, attempts, date());
    }
  };

  return {
    attempt: (server, who, login, { signal } = {}) => {
      const key = `${server}\n${who.user.toLowerCase()}`;
      const turn = (queues.get(key) ?? Promise.resolve()).then(() =>
        guarded(server, who, remembered(key, who), login, signal),
      );
      queues.set(
        key,
        turn.catch(() => undefined),
      );
      return turn;
    },
  };
}

/** Whether a server refused who wanted in, rather than failed. */
function isRefusal(error: unknown): error is VimError {
  return isVimError(error) && (error.code === 'VIM_LOGIN_REFUSED' || error.fault?.has('InvalidLogin') === true);
}

function isSame(a: Credentials, b: Credentials): boolean {
  return a.user === b.user && a.password === b.password && a.version?.asked === b.version?.asked;
}

const rfc3339 = (at: number): string => new Date(at).toISOString();

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal === undefined ? {} : { signal });
}

/** A note of the same origin as a password that was let in. */
function replacedBy(origin: string, note: LoginNote): LoginNote {
  return note.origin === origin ? { ...note, replaced: true } : note;
}

/** What is worth keeping: whoever changes a Secret all the time must not fill the notes. */
function latestOf(notes: readonly LoginNote[], now: number): readonly LoginNote[] {
  const young = notes.filter(({ last }) => now - Date.parse(last) < FORGOTTEN_MS);
  return young.toSorted((a, b) => a.last.localeCompare(b.last)).slice(-4 * PASSWORDS);
}

function crowded(server: string, user: string): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_LOGIN_WITHHELD',
    op: 'Login',
    message: `${server} has not answered others who log in as ${user} with the same password`,
    sent: false,
    retryAfterMs: LOGIN_MS,
  });
}

function withheld(note: LoginNote, attempts: number | undefined, now: number): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_LOGIN_WITHHELD',
    op: 'Login',
    message: lateText(note, attempts),
    sent: false,
    retryAfterMs: nextLogin(note) - now,
  });
}

function refused(error: VimError, note: LoginNote, attempts: number, now: number): VimError {
  return new VimError({
    kind: error.kind,
    code: 'VIM_LOGIN_REFUSED',
    op: error.op,
    message: lateText(note, attempts),
    cause: error,
    ...(error.opId === '' ? {} : { opId: error.opId }),
    ...(error.fault === undefined ? {} : { fault: error.fault }),
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(note.refusals < attempts ? {} : { retryAfterMs: nextLogin(note) - now }),
  });
}
