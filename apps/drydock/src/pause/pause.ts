import { type Lease, readJson } from '@drydock/api';
import { oneLine, shortText } from '@drydock/api/text';
import { age } from '../table.ts';

/** The annotation of a role's Lease that says that the role is to do nothing: a {@link Pause} as JSON, or any other text, which is then the reason. */
export const PAUSE = 'drydock.dev/pause';

/** What ends a pause of boot images. */
export const RESUME = 'drydock resume --role boot-images';

/** That a role is to do nothing, as a person wants it. Times in RFC 3339. */
export interface Pause {
  readonly by?: string;
  readonly since?: string;
  readonly reason?: string;
  /** When it lapses by itself; absent where only `drydock resume` ends it. */
  readonly until?: string;
}

/** Longest word of a pause that is told (UTF-16 units). */
const LONGEST = 512;

/** The pause that a Lease asks for, at this time (ms); undefined where it asks for none, or for one that has lapsed. What cannot be read as one is one all the same. */
export function pauseOf(lease: Pick<Lease, 'metadata'> | undefined, now: number): Pause | undefined {
  const text = lease?.metadata.annotations?.[PAUSE];
  if (text === undefined) return undefined;
  const pause = readPause(text);
  return pause.until !== undefined && Date.parse(pause.until) <= now ? undefined : pause;
}

function readPause(text: string): Pause {
  let found: unknown;
  try {
    found = readJson(text);
  } catch {
    found = undefined;
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    return text.trim() === '' ? {} : { reason: shortText(text, LONGEST) };
  const said = found as Readonly<Record<string, unknown>>;
  const word = (key: keyof Pause): Pause => {
    const value = said[key];
    return typeof value === 'string' && value !== '' ? { [key]: shortText(value, LONGEST) } : {};
  };
  // A time that is none never lapses.
  const until = Number.isNaN(Date.parse(word('until').until ?? '')) ? {} : word('until');
  return { ...word('by'), ...word('since'), ...word('reason'), ...until };
}

/** A clause: `paused since 3m by alice, until 2026-01-01T02:00:00Z: the storage is moved`. */
export function pauseText({ by, since, reason, until }: Pause, now?: number): string {
  const ago = age(since, now);
  const head = ['paused', ago === '' ? '' : `since ${ago}`, by === undefined ? '' : `by ${by}`];
  const words = head.filter((word) => word !== '').join(' ');
  return oneLine(
    `${words}${until === undefined ? '' : `, until ${until}`}${reason === undefined ? '' : `: ${reason}`}`,
  );
}
