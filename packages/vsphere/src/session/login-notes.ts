/** Logins of one user with one password that one server refused. Nothing of the password is in it. */
export interface LoginNote {
  readonly server: string;
  readonly user: string;
  /** See `PasswordVersion`. */
  readonly origin: string;
  /** By which the password was called, the youngest last. */
  readonly versions: readonly string[];
  readonly refusals: number;
  /** When the last one was (RFC 3339); without any, when it was tried. */
  readonly last: string;
  /** Logins without an answer: still under way, or their maker died, or the answer was lost. */
  readonly underway?: readonly LoginTry[];
  /** Refusals of the last three minutes, which outlive a success. Version 0.1.0 does not write them. */
  readonly recent?: readonly LoginTry[];
  /** Another password of the account was refused before this one: it is tried once before the wait. */
  readonly once?: true;
  /** Digest of the last `asked` (see `PasswordVersion`) with which the password was tried. */
  readonly asked?: string;
  /** Another password of the same origin was let in since. The note is not reported, but counts when this password comes back. */
  readonly replaced?: true;
}

/** One login. */
export interface LoginTry {
  /** Unique; the same login has the same id wherever it is noted. */
  readonly id: string;
  /** When it began, or when it was refused (RFC 3339). */
  readonly since: string;
}

/** What may be done with a password: show it, wait for the answer to somebody who does, or let it be. */
export type LoginLeave = 'free' | 'wait' | 'withheld';

/** Where notes are that several processes share. What it rejects with costs only the sharing. */
export interface LoginNotes {
  read(server: string, user: string): Promise<readonly LoginNote[]>;
  /** Puts what `next` makes of the notes that are there; `next` is asked again when somebody else was faster. */
  change(server: string, user: string, next: (notes: readonly LoginNote[]) => readonly LoginNote[]): Promise<unknown>;
}

/** What was refused too often is tried again after this time, once. */
const AGAIN_MS = 30 * 60_000;

/** A login is given up after this time (ms). Whatever is under way for longer was begun by somebody who died of it. */
export const LOGIN_MS = 30_000;

/** How long (ms) a refusal counts against its account: the three minutes in which vCenter counts, and a second for rounding. */
const COUNTED_MS = 181_000;

/** Refusals of an account that may count at a time. vCenter locks the account at the fifth; the others are left to machines that share no notes. */
export const CEILING = 3;

/** One account has one name: `DOMAIN\user` is `user@domain`, and case does not matter. */
export function loginAccount(user: string): string {
  return user.replace(/^([^\\]*)\\(.*)$/, '$2@$1').toLowerCase();
}

/** When the next attempt is due, in milliseconds since 1970, if no other is due before. */
export function nextLogin({ last }: LoginNote): number {
  return Date.parse(last) + AGAIN_MS;
}

/** What a note, as {@link noteAt} returns it, leaves to do, by `attempts` refusals that may be taken before the wait. */
export function loginLeave(note: LoginNote | undefined, attempts: number, now: number): LoginLeave {
  if (note === undefined) return 'free';
  const most = attemptsOf(note, attempts);
  const underway = (note.underway ?? []).filter((one) => isLiving(one, now)).length;
  if (note.refusals + underway < most) return 'free';
  if (note.refusals >= most && nextLogin(note) > now) return 'withheld';
  return underway === 0 ? 'free' : 'wait';
}

/**
 * What the notes of an account, as {@link noteAt} returns them, leave to do: fewer than `limit` refusals may count at a time. A login without an answer may be one. `until`: when the next
 * attempt is possible (milliseconds since 1970). `own`: notes of this process, of which only refusals are taken: others may have ended their logins since.
 */
export function accountLeave(
  notes: readonly LoginNote[],
  own: readonly LoginNote[],
  limit: number,
  now: number,
):
  | { readonly leave: 'free' | 'wait' }
  | { readonly leave: 'withheld'; readonly count: number; readonly until: number } {
  const refused = new Map([...own, ...notes].flatMap((note) => countedTries(note, now)));
  const underway = notes.flatMap((note) => note.underway ?? []).filter((one) => isLiving(one, now));
  const times = [...refused.values()].toSorted((a, b) => a - b);
  const count = times.length;
  const deciding = times[count - limit];
  if (deciding !== undefined) return { leave: 'withheld', count, until: deciding + COUNTED_MS };
  return { leave: count + underway.length < limit ? 'free' : 'wait' };
}

/** The refusals that count, and the logins that may be refusals which nobody heard of. */
function countedTries({ recent = [], underway = [] }: LoginNote, now: number): readonly (readonly [string, number])[] {
  const unheard = underway.filter((one) => !isLiving(one, now)).map((one) => [one.id, endOf(one)] as const);
  return [...recent.map(({ id, since }) => [id, Date.parse(since)] as const), ...unheard];
}

/**
 * The note as it is at an instant: what no longer counts is gone. Logins of processes that died count as refusals where the password was refused before; elsewhere they count only against
 * the account, until the password is let in. What a clock that is ahead wrote counts from now, so that it holds nobody for longer than its own.
 */
export function noteAt(note: LoginNote, now: number): LoginNote {
  const { underway = [], recent: _, ...rest } = note;
  const text = (at: number): string => new Date(Math.min(at, now)).toISOString();
  const living = underway.filter((one) => isLiving(one, now));
  const dead = underway
    .filter((one) => !isLiving(one, now))
    .map(({ id, since }) => ({ id, since: text(Math.min(Date.parse(since), now - LOGIN_MS)) }));
  const refused = note.refusals > 0 ? dead.map((one) => ({ id: one.id, since: text(endOf(one)) })) : [];
  const recent = [...refusalsOf(note).map(({ id, since }) => ({ id, since: text(Date.parse(since)) })), ...refused];
  const unheard = note.refusals > 0 ? [] : dead.filter((one) => now - endOf(one) < COUNTED_MS);
  const counted = recent.filter(({ since }) => now - Date.parse(since) < COUNTED_MS);
  return {
    ...rest,
    refusals: note.refusals + refused.length,
    last: refused.reduce((latest, { since }) => later(since, latest), text(Date.parse(note.last))),
    ...(living.length + unheard.length === 0 ? {} : { underway: [...living, ...unheard] }),
    ...(counted.length === 0 ? {} : { recent: counted }),
  };
}

/** Whether a clock that is ahead of ours wrote the note. */
export function isAhead({ last, recent = [], underway = [] }: LoginNote, now: number): boolean {
  return [last, ...[...recent, ...underway].map(({ since }) => since)].some((at) => Date.parse(at) > now);
}

/** The note after its password was let in by the login `turn`. Logins with it that nobody heard of were no refusals; refusals still count against the account. */
export function letInNote(note: LoginNote, turn: string, now: number): LoginNote {
  const { once: _, replaced: __, ...rest } = withUnderway(note, (one) => one.id !== turn && isLiving(one, now));
  return { ...rest, refusals: 0 };
}

/** The note with some of its logins without an answer. */
export function withUnderway(note: LoginNote, chosen: (one: LoginTry) => boolean): LoginNote {
  const { underway = [], ...rest } = note;
  const left = underway.filter(chosen);
  return left.length === 0 ? rest : { ...rest, underway: left };
}

/** Whether nothing of the note counts any more. */
export function isSpent({ refusals, underway, recent }: LoginNote): boolean {
  return refusals === 0 && underway === undefined && recent === undefined;
}

function isLiving({ since }: LoginTry, now: number): boolean {
  return Math.abs(now - Date.parse(since)) < LOGIN_MS;
}

/** When a login whose answer nobody heard was refused at the latest. */
function endOf({ since }: LoginTry): number {
  return Date.parse(since) + LOGIN_MS;
}

/** Recent refusals. Version 0.1.0 counts them, and says only when the last one was. */
function refusalsOf({ recent, refusals, last, versions }: LoginNote): readonly LoginTry[] {
  if (recent?.some(({ since }) => since === last) === true) return recent;
  const length = Math.min(refusals, recent === undefined ? CEILING + 1 : 1);
  const unlisted = Array.from({ length }, (_, n) => ({ id: `${versions.at(-1) ?? ''} ${last} ${n}`, since: last }));
  return [...(recent ?? []), ...unlisted];
}

function attemptsOf({ once }: LoginNote, attempts: number): number {
  return once === true ? 1 : attempts;
}

/** Whether there is anything to tell: a refusal of a password that is still in use. */
export function isTold({ refusals, replaced }: LoginNote): boolean {
  return refusals > 0 && replaced !== true;
}

function later(a: string, b: string): string {
  return a.localeCompare(b) > 0 ? a : b;
}

/** Whether a note is of a password that is called by one of these names. */
export function isNoteOf({ versions }: LoginNote, names: ReadonlySet<string>): boolean {
  return versions.some((version) => names.has(version));
}

/** What notes say of one password together: others may have met it under another name, and not known. */
export function oneNote(notes: readonly LoginNote[]): LoginNote | undefined {
  const [first, ...others] = notes;
  if (first === undefined || others.length === 0) return first;
  const underway = notes.flatMap((note) => note.underway ?? []);
  const recent = notes.flatMap((note) => note.recent ?? []);
  return {
    ...first,
    versions: [...new Set(notes.flatMap(({ versions }) => versions))],
    refusals: notes.reduce((sum, { refusals }) => sum + refusals, 0),
    last: notes.map(({ last }) => last).reduce(later),
    ...(underway.length === 0 ? {} : { underway }),
    ...(recent.length === 0 ? {} : { recent }),
  };
}

/** How a note reads, as a clause: it changes only with the note. `attempts`: so many are made before the wait. */
export function lateText(note: LoginNote, attempts = 2): string {
  const { server, user, origin, refusals, last } = note;
  const times = refusals === 1 ? 'once' : refusals === 2 ? 'twice' : `${refusals} times`;
  const which = origin === '' ? 'with this password' : `with the password of ${origin}`;
  const when =
    refusals < attemptsOf(note, attempts) ? '' : `; the next attempt is due at ${clockText(nextLogin(note))}`;
  return `${server} refused ${user} ${which} ${times}, last at ${clockText(Date.parse(last))}${when}`;
}

/** Why an account is tried no more for now, as a clause. */
export function limitText(server: string, user: string, count: number, until: number): string {
  const next = clockText(Math.ceil(until / 1000) * 1000);
  return `${server} refused or did not answer ${count} logins of ${user} within three minutes, and five refusals lock an account; the next attempt is possible at ${next}`;
}

/** `2026-03-01T10:14:03Z`. */
function clockText(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Notes from JSON; what is none is left out. */
export function readLoginNotes(text: string | undefined): readonly LoginNote[] {
  let found: unknown;
  try {
    found = JSON.parse(text ?? '[]');
  } catch {
    return [];
  }
  return Array.isArray(found) ? found.filter(isNote) : [];
}

function isNote(value: unknown): value is LoginNote {
  if (typeof value !== 'object' || value === null) return false;
  const { server, user, origin, versions, refusals, last, asked, underway, recent } = value as Readonly<
    Record<string, unknown>
  >;
  return (
    [server, user, origin, last].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(refusals) &&
    Number(refusals) >= 0 &&
    Number.isFinite(Date.parse(String(last))) &&
    Array.isArray(versions) &&
    versions.every((version) => typeof version === 'string') &&
    (asked === undefined || typeof asked === 'string') &&
    [underway, recent].every((tries) => tries === undefined || (Array.isArray(tries) && tries.every(isTry)))
  );
}

function isTry(value: unknown): value is LoginTry {
  if (typeof value !== 'object' || value === null) return false;
  const { id, since } = value as Readonly<Record<string, unknown>>;
  return typeof id === 'string' && typeof since === 'string' && Number.isFinite(Date.parse(since));
}
