import type { Clock } from '@drydock/kube';

/** An access token, or what the cloud said instead. */
export type Token =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly missing: string; readonly message: string };

/** Access tokens (or keys, `T`), one for each version of credentials, renewed before they expire. */
export interface Tokens<C, T = Token> {
  /** Rejects as `CloudHttps.ask` does. */
  readonly of: (credentials: C, signal: AbortSignal) => Promise<T>;
  /** A token was refused before its time. */
  readonly forget: (credentials: { readonly version: string }) => void;
}

/** A token, and how long (ms) it counts. */
export interface HeldToken<T = Token> {
  readonly token: T;
  readonly forMs: number;
}

/** What is refused is asked again after a minute: an account may have been repaired. */
const REFUSED_MS = 60_000;
const EARLY_MS = 300_000;
const LONGEST_MS = 3_600_000;

/** A token that is good for so long (ms). */
export function heldToken(token: string, forMs: number): HeldToken {
  return { token: { kind: 'token', token }, forMs: usableMs(forMs) };
}

/** How long (ms) a token is used that is good for so long (ms). */
export function usableMs(forMs: number): number {
  return Number.isNaN(forMs) ? 0 : Math.min(forMs - EARLY_MS, LONGEST_MS);
}

/** Credentials that are of no use. `missing`: what it takes; `why`: without anything of them. */
export function refusedToken(
  { where }: { readonly where: string },
  missing: string,
  why: string,
): HeldToken<Extract<Token, { readonly kind: 'refused' }>> {
  const message = `the credentials in Secret ${where} are of no use: ${why}`;
  return { token: { kind: 'refused', missing, message }, forMs: REFUSED_MS };
}

/** Keeps the tokens of the newest version. Who asks at the same time waits for the same one. */
export function tokensBy<C extends { readonly version: string }, T = Token>(
  make: (credentials: C, signal: AbortSignal) => Promise<HeldToken<T>>,
  clock: Clock,
): Tokens<C, T> {
  const held = new Map<string, { readonly token: Promise<HeldToken<T>>; until: number }>();
  return {
    of: async (credentials, signal) => {
      const { version } = credentials;
      const known = held.get(version);
      if (known !== undefined && known.until > clock.now()) return (await known.token).token;
      // Of the versions before nobody asks again.
      held.clear();
      const entry = { token: make(credentials, signal), until: Number.POSITIVE_INFINITY };
      held.set(version, entry);
      try {
        const made = await entry.token;
        entry.until = clock.now() + made.forMs;
        return made.token;
      } catch (error) {
        if (held.get(version) === entry) held.delete(version);
        throw error;
      }
    },
    forget: ({ version }: Pick<C, 'version'>) => void held.delete(version),
  };
}
