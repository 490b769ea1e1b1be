/** Logins of one user with one password that one server refused. Nothing of the password is in it. */
export interface LoginNote {
  readonly server: string;
  readonly user: string;
  /** See `PasswordVersion`. */
  readonly origin: string;
  /** By which the password was called, the youngest last. */
  readonly versions: readonly string[];
  readonly refusals: number;
  /** When the last one was (RFC 3339). */
  readonly last: string;
}

/** Where notes are that several processes share. What it rejects with costs only the sharing. */
export interface LoginNotes {
  read(server: string, user: string): Promise<readonly LoginNote[]>;
  /** Puts what `next` makes of the notes that are there; `next` is asked again when somebody else was faster. */
  change(server: string, user: string, next: (notes: readonly LoginNote[]) => readonly LoginNote[]): Promise<unknown>;
}

/** What was refused too often is tried again after this time, once. */
const AGAIN_MS = 30 * 60_000;

/** When the next attempt is due, in milliseconds since 1970, if no other is due before. */
export function nextLogin({ last }: LoginNote): number {
  return Date.parse(last) + AGAIN_MS;
}

/** Whether a note is of a password that is called by one of these names. */
export function isNoteOf({ versions }: LoginNote, names: ReadonlySet<string>): boolean {
  return versions.some((version) => names.has(version));
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
  const { server, user, origin, versions, refusals, last } = value as Readonly<Record<string, unknown>>;
  return (
    [server, user, origin, last].every((text) => typeof text === 'string') &&
    Number.isInteger(refusals) &&
    Number.isFinite(Date.parse(String(last))) &&
    Array.isArray(versions) &&
    versions.every((version) => typeof version === 'string')
  );
}
