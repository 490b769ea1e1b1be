import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isVimError, VimError } from '../errors.ts';
import type { Credentials, VimLog } from '../soap/call.ts';
import {
  accountLeave,
  CEILING,
  isAhead,
  isNoteOf,
  isSpent,
  isTold,
  LOGIN_MS,
  type LoginNote,
  type LoginNotes,
  lateText,
  letInNote,
  limitText,
  loginAccount,
  loginLeave,
  nextLogin,
  noteAt,
  oneNote,
  withUnderway,
} from './login-notes.ts';

/** What a {@link loginBudget} may be told. */
export interface LoginBudgetOptions {
  /** Absent: only this process knows. */
  readonly notes?: LoginNotes;
  /** Of others, who try for themselves: their refusals count against the account, and as long as they have one of the same password, nothing is tried here. */
  readonly others?: Pick<LoginNotes, 'read'>;
  /** So many refusals are taken before the wait. Default 2. */
  readonly attempts?: number;
  /** A person wants each password tried once, although it was refused. One refusal more than the ceiling is risked for that. */
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
   * Makes a login; one at a time for each server and account. Rejects with `VIM_LOGIN_WITHHELD` where the password may not be tried now, with `VIM_LOGIN_LIMIT` where no password of the
   * account may, else with what the login rejects with. A refusal says whose it is, how many there were and when the next attempt is due. The login has to end within `LOGIN_MS`;
   * `signal` ends the wait for the logins of others.
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
  /** This process has shown it. */
  tried: boolean;
  /** This process was let in with it: an answer that is lost was no refusal. */
  letIn: boolean;
}

/** Passwords of one user that are remembered. */
const PASSWORDS = 8;
/** Whoever was refused so long ago (ms) and not since tries no more. */
const FORGOTTEN_MS = 24 * 3_600_000;
/** How often it is looked whether the logins of others ended. */
const LOOK_MS = 250;

/**
 * Keeps wrong passwords from locking an account, which five refused logins within three minutes do. Two rules, for all processes that share the notes together:
 *
 * - An account is refused at most three times within any three minutes, whatever the passwords, and a fourth time where a person asks for an attempt. A login without an answer counts.
 * - A password is tried twice, and from then on once in 30 minutes; one that follows a refused one is tried once, at once. A password that comes back has what it had.
 *
 * Each attempt is noted before it is made: two processes that do not know of each other would show a password twice as often, and whoever dies of an attempt has made it.
 */
export function loginBudget(options: LoginBudgetOptions = {}): LoginBudget {
  const { notes, others: elsewhere, attempts = 2, date = Date.now, sleep = pause, log, onRefused } = options;
  const passwords = new Map<string, Password[]>();
  const queues = new Map<string, Promise<unknown>>();
  const self = randomUUID();
  let turns = 0;
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
    const password = found ?? { who, versions: new Set(), note: undefined, shared: false, tried: false, letIn: false };
    if (found === undefined) known.push(password);
    // What was refused lately counts against the account, whatever came after it.
    const forgotten = known.findIndex((one) => one !== password && !isRecent(one.note, date()));
    if (known.length > PASSWORDS && forgotten >= 0) known.splice(forgotten, 1);
    if (who.version !== undefined) password.versions.add(who.version.id);
    return password;
  };

  const guarded = async <T>(
    server: string,
    who: Credentials,
    password: Password,
    account: readonly Password[],
    login: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    const { user } = who;
    const { origin = '', id, asked } = who.version ?? {};
    const wish = asked === undefined ? undefined : createHash('sha256').update(asked).digest('hex').slice(0, 16);
    const isMine = (note: LoginNote): boolean => isNoteOf(note, password.versions);
    const mine = (all: readonly LoginNote[]): LoginNote | undefined => oneNote(all.filter(isMine));
    const current = (all: readonly LoginNote[]): readonly LoginNote[] => all.map((note) => noteAt(note, date()));
    const local = (): readonly LoginNote[] => current(account.flatMap(({ note }) => note ?? []));

    /** Of notes that are shared, if they could be read; where it was and is no more, somebody was let in. */
    const known = (all: readonly LoginNote[] | undefined): LoginNote | undefined => {
      const [own] = current(password.note === undefined ? [] : [password.note]);
      return all === undefined ? own : (mine(all) ?? (password.shared ? undefined : own));
    };
    type Change = (now: LoginNote | undefined, all: readonly LoginNote[]) => LoginNote | undefined;
    const keep = async (next: Change, letIn = false): Promise<void> => {
      let kept = next(known(undefined), []);
      if (notes !== undefined && id !== undefined) {
        const change = notes.change(server, user, (found) => {
          const all = current(found);
          kept = next(known(all), all);
          const others = all.filter((note) => !isMine(note));
          const rest = letIn ? others.map((note) => replacedBy(origin, note)) : others;
          return latestOf(kept === undefined ? rest : [...rest, kept], date());
        });
        password.shared =
          (await reach(
            change.then(() => true),
            server,
          )) === true;
      }
      // How the logins of others end is not heard of here.
      password.note = kept && withUnderway(kept, (one) => one.id.startsWith(self));
    };
    const named = (note: LoginNote | undefined, all: readonly LoginNote[], changed: Partial<LoginNote>): LoginNote => {
      const others = [
        ...all.filter((one) => !isMine(one)),
        ...account.flatMap((one) => (one === password ? [] : (one.note ?? []))),
      ];
      const follows = others.some(({ refusals }) => refusals > 0);
      const fresh = { refusals: 0, ...(follows ? { once: true as const } : {}) };
      const { replaced: _, ...before }: Partial<LoginNote> & typeof fresh = note ?? fresh;
      const versions = [...new Set([...(note?.versions ?? []), ...password.versions])].slice(-PASSWORDS);
      const wished = wish === undefined ? {} : { asked: wish };
      return { last: rfc3339(date()), ...before, ...wished, ...changed, server, user, origin, versions };
    };

    turns += 1;
    const turn = `${self} ${turns}`;
    const without = (note: LoginNote): LoginNote => withUnderway(note, (one) => one.id !== turn);
    let foreign: readonly LoginNote[] = [];
    const decide = (note: LoginNote | undefined, all: readonly LoginNote[]): 'free' | 'wait' | VimError => {
      const now = date();
      const isWish =
        wish !== undefined &&
        all.every((one) => one.asked !== wish) &&
        account.every((one) => !one.tried || one.who.version?.asked !== asked);
      const pressing = isWish || (options.now === true && !password.tried);
      const theirs = mine(foreign);
      if (!pressing && theirs !== undefined && isTold(theirs)) return withheld(theirs, undefined, now);
      const leave = pressing ? 'free' : loginLeave(note, attempts, now);
      if (leave === 'withheld' && note !== undefined) return withheld(note, attempts, now);
      const most = pressing ? CEILING + 1 : CEILING;
      const room = accountLeave([...all, ...foreign], local(), most, now);
      if (room.leave === 'withheld') return limited(server, user, room, now);
      return leave === 'free' ? room.leave : 'wait';
    };
    const giveUpAt = date() + 2 * LOGIN_MS;
    for (;;) {
      foreign = current((elsewhere && (await reach(elsewhere.read(server, user), server))) ?? []);
      const found = notes && (await reach(notes.read(server, user), server));
      const before = known(found && current(found));
      const renamed = before !== undefined && id !== undefined && !before.versions.includes(id);
      const ahead = found?.some((note) => isAhead(note, date())) === true;
      let decision = decide(before, current(found ?? []));
      if (decision === 'free' || renamed || ahead)
        await keep((note, all) => {
          decision = decide(note, all);
          if (decision !== 'free') return note && { ...note, versions: named(note, all, {}).versions };
          return named(note, all, { underway: [...(note?.underway ?? []), { id: turn, since: rfc3339(date()) }] });
        });
      if (decision === 'free') break;
      if (decision !== 'wait') throw decision;
      if (date() > giveUpAt) throw crowded(server, user);
      await sleep(LOOK_MS, signal);
    }
    password.tried = true;
    try {
      const session = await login();
      password.letIn = true;
      await keep((note) => note && letInNote(note, turn, date()), true);
      return session;
    } catch (error) {
      if (!isRefusal(error)) {
        const unheard = { id: turn, since: rfc3339(date() - LOGIN_MS) };
        const lost = isLost(error) && !password.letIn;
        await keep((note, all) =>
          lost
            ? named(note, all, { underway: [...((note && without(note))?.underway ?? []), unheard] })
            : note && without(note),
        );
        throw error;
      }
      onRefused?.(server);
      const last = rfc3339(date());
      let note = named(undefined, [], { refusals: 1, last });
      await keep((now, all) => {
        const rest = now && without(now);
        const recent = [...(rest?.recent ?? []), { id: turn, since: last }];
        note = named(rest, all, { refusals: (rest?.refusals ?? 0) + 1, last, recent });
        return note;
      });
      throw refused(error, note, attempts, date());
    }
  };

  return {
    attempt: (server, who, login, { signal } = {}) => {
      const key = `${server}\n${loginAccount(who.user)}`;
      const turn = (queues.get(key) ?? Promise.resolve()).then(() =>
        guarded(server, who, remembered(key, who), passwords.get(key) ?? [], login, signal),
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

/** Whether the server may have refused a login whose answer nobody heard. */
function isLost(error: unknown): boolean {
  return isVimError(error) && error.sent && ['transport', 'timeout', 'aborted'].includes(error.kind);
}

/** Whether a note counts against the account. */
function isRecent(note: LoginNote | undefined, now: number): boolean {
  return note !== undefined && !isSpent({ ...noteAt(note, now), refusals: 0 });
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
  const young = notes.filter((note) => !isSpent(note) && now - Date.parse(note.last) < FORGOTTEN_MS);
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

function limited(
  server: string,
  user: string,
  { count, until }: { count: number; until: number },
  now: number,
): VimError {
  return new VimError({
    kind: 'protocol',
    code: 'VIM_LOGIN_LIMIT',
    op: 'Login',
    message: limitText(server, user, count, until),
    sent: false,
    retryAfterMs: until - now,
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
