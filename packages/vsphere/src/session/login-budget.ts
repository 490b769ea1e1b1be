import { isVimError, VimError } from '../errors.ts';
import type { Credentials, VimLog } from '../soap/call.ts';
import { isNoteOf, type LoginNote, type LoginNotes, lateText, nextLogin } from './login-notes.ts';

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
  readonly log?: VimLog;
  /** A server refused a login. */
  readonly onRefused?: (server: string) => void;
}

/** Who lets logins through: one for all connections of a process. */
export interface LoginBudget {
  /**
   * Makes a login; one at a time for each server and user. Rejects with `VIM_LOGIN_WITHHELD` where it may not be tried now, else with what the login rejects with. A refusal says whose
   * it is, how many there were and when the next attempt is due.
   */
  attempt<T>(server: string, who: Credentials, login: () => Promise<T>): Promise<T>;
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

/**
 * Keeps a wrong password from locking an account, which five refused logins within three minutes do. Each version of a password is tried twice, and from then on once in 30 minutes, by all together
 * who share the notes. Another version is tried at once. From the second time on the attempt is noted before it is made, so that whoever dies of it has made it.
 */
export function loginBudget(options: LoginBudgetOptions = {}): LoginBudget {
  const { notes, others, attempts = 2, date = Date.now, log, onRefused } = options;
  const passwords = new Map<string, Password[]>();
  const queues = new Map<string, Promise<unknown>>();
  const blocked = (note: LoginNote | undefined): note is LoginNote =>
    note !== undefined && note.refusals >= attempts && nextLogin(note) > date();
  const reach = async <T>(work: Promise<T>, server: string): Promise<T | undefined> =>
    work.catch((error: unknown) => {
      log?.warn(
        { server, err: error },
        'Refused logins are not shared with other processes now; this one counts for itself.',
      );
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
  ): Promise<T> => {
    const { user } = who;
    const { origin = '', id } = who.version ?? {};
    const pressing = options.now === true && !password.pressed;
    password.pressed = true;
    const mine = (all: readonly LoginNote[]): LoginNote | undefined =>
      all.find((note) => isNoteOf(note, password.versions));
    const foreign = others && mine((await reach(others.read(server, user), server)) ?? []);
    if (foreign !== undefined && !pressing) throw withheld(foreign, undefined, date());
    const all = notes && (await reach(notes.read(server, user), server));
    const shared = all && mine(all);
    if (all !== undefined && shared === undefined && password.shared) password.note = undefined;
    const before = shared ?? password.note;

    const keep = async (
      next: (now: LoginNote | undefined) => LoginNote | undefined,
    ): Promise<LoginNote | undefined> => {
      const was = password.note;
      let kept = next(was ?? before);
      if (notes !== undefined && id !== undefined) {
        const change = notes.change(server, user, (now) => {
          kept = next(mine(now) ?? was);
          // A password that was replaced is none any more.
          const rest = now.filter((note) => note.origin !== origin);
          return kept === undefined ? rest : [...rest, kept];
        });
        password.shared =
          (await reach(
            change.then(() => true),
            server,
          )) === true;
      }
      password.note = kept;
      return kept;
    };
    const counted = (refusals: number): LoginNote => {
      const versions = [...password.versions].slice(-PASSWORDS);
      return { server, user, origin, versions, refusals, last: new Date(date()).toISOString() };
    };

    let reserved: LoginNote | undefined;
    if (before !== undefined) {
      let faster: LoginNote | undefined;
      const renamed = id !== undefined && !before.versions.includes(id);
      if (blocked(before) && !pressing && !renamed) throw withheld(before, attempts, date());
      reserved = await keep((now) => {
        faster = blocked(now) && !pressing ? now : undefined;
        if (faster !== undefined) return { ...faster, versions: counted(0).versions };
        return counted((now?.refusals ?? 0) + 1);
      });
      if (faster !== undefined) throw withheld(faster, attempts, date());
    }
    try {
      const session = await login();
      if (before !== undefined || all?.some((note) => note.origin === origin) === true) await keep(() => undefined);
      return session;
    } catch (error) {
      if (!isRefusal(error)) {
        // The server did not look at it.
        if (reserved !== undefined) await keep((now) => (now?.last === reserved?.last ? before : now));
        throw error;
      }
      onRefused?.(server);
      const note = await keep((now) => counted((now?.refusals ?? 0) + (reserved === undefined ? 1 : 0)));
      throw refused(error, note ?? counted(1), attempts, date());
    }
  };

  return {
    attempt: (server, who, login) => {
      const key = `${server}\n${who.user.toLowerCase()}`;
      const turn = (queues.get(key) ?? Promise.resolve()).then(() => guarded(server, who, remembered(key, who), login));
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
