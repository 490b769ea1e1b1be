import { UsageError } from '../exit.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A duration such as 30m, 12h, 7d or 1d12h in ms; undefined for what is none. */
export function durationMs(text: string): number | undefined {
  const parts = /^(?:\d{1,5}[smhdw])+$/.test(text) ? [...text.matchAll(/(\d+)([smhdw])/g)] : [];
  const length = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0);
  return length === 0 ? undefined : length;
}

/** When a hold ends, in RFC 3339; undefined for `until-released`. Throws `UsageError` for what is neither that nor a duration such as 12h, 7d, 1d12h. */
export function holdUntil(text: string, now: Date): string | undefined {
  if (text === 'until-released') return undefined;
  const length = durationMs(text);
  if (length === undefined)
    throw new UsageError(`--hold ${text}: a duration such as 12h or 7d is expected, or until-released`);
  return `${new Date(now.getTime() + length).toISOString().slice(0, 19)}Z`;
}
