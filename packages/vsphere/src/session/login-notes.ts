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
  /** Logins that were begun and not answered yet. */
  readonly underway?: readonly LoginUnderway[];
  /** Another password of the same origin was let in since. It is told no more, but it counts when this one comes back. */
  readonly replaced?: true;
}

/** A login that somebody makes. */
export interface LoginUnderway {
  /** Its maker's. */
  readonly id: string;
  /** RFC 3339. */
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

/** When the next attempt is due, in milliseconds since 1970, if no other is due before. */
export function nextLogin({ last }: LoginNote): number {
  return Date.parse(last) + AGAIN_MS;
}

/** What a note leaves to do, by `attempts` refusals that may be taken before the wait. */
export function loginLeave(note: LoginNote | undefined, attempts: number, now: number): LoginLeave {
  if (note === undefined) return 'free';
  const { refusals, underway = [] } = withoutDead(note, now);
  if (refusals + underway.length < attempts) return 'free';
  if (refusals >= attempts && nextLogin(note) > now) return 'withheld';
  return underway.length === 0 ? 'free' : 'wait';
}

/** The note with those who died counted: where the password was refused before, they were refused, too; else nobody knows, and they are left out. */
export function withoutDead(note: LoginNote, now: number): LoginNote {
  const { underway = [], ...rest } = note;
  // A clock that is ahead of ours must not hold anybody for longer than its own.
  const living = underway.filter(({ since }) => Math.abs(now - Date.parse(since)) < LOGIN_MS);
  const dead = note.refusals > 0 ? underway.filter((one) => !living.includes(one)) : [];
  const last = dead.reduce((latest, { since }) => later(since, latest), note.last);
  const refusals = note.refusals + dead.length;
  return { ...rest, refusals, last, ...(living.length === 0 ? {} : { underway: living }) };
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
  return {
    ...first,
    versions: [...new Set(notes.flatMap(({ versions }) => versions))],
    refusals: notes.reduce((sum, { refusals }) => sum + refusals, 0),
    last: notes.map(({ last }) => last).reduce(later),
    ...(underway.length === 0 ? {} : { underway }),
  };
}

/** How a note reads, as a clause: it changes only with the note. `attempts`: so many are made before the wait. */
export function lateText(note: LoginNote, attempts = 2): string {
  const { server, user, origin, refusals, last } = note;
  const times = refusals === 1 ? 'once' : refusals === 2 ? 'twice' : `${refusals} times`;
  const which = origin === '' ? 'with this password' : `with the password of ${origin}`;
  const when = refusals < attempts ? '' : `; the next attempt is due at ${clockText(nextLogin(note))}`;
  return `${server} refused ${user} ${which} ${times}, last at ${clockText(Date.parse(last))}${when}`;
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
  const { server, user, origin, versions, refusals, last, underway } = value as Readonly<Record<string, unknown>>;
  return (
    [server, user, origin, last].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(refusals) &&
    Number(refusals) >= 0 &&
    Number.isFinite(Date.parse(String(last))) &&
    Array.isArray(versions) &&
    versions.every((version) => typeof version === 'string') &&
    (underway === undefined || (Array.isArray(underway) && underway.every(isUnderway)))
  );
}

function isUnderway(value: unknown): value is LoginUnderway {
  if (typeof value !== 'object' || value === null) return false;
  const { id, since } = value as Readonly<Record<string, unknown>>;
  return typeof id === 'string' && typeof since === 'string' && Number.isFinite(Date.parse(since));
}
