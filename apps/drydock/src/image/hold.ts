import { durationMs as goDurationMs } from '@drydock/api/duration';
import { UsageError } from '../exit.ts';

const LONG: Readonly<Record<string, number>> = { d: 24, w: 168 };

/** A duration such as 30m, 12h, 7d or 1d12h in ms: Go's, with days and weeks besides; undefined for what is none. */
export function durationMs(text: string): number | undefined {
  const hours = text.replaceAll(
    /(?<![\d.])(\d{1,5})([dw])/g,
    (_, count: string, unit: string) => `${Number(count) * (LONG[unit] ?? 0)}h`,
  );
  return goDurationMs(hours) || undefined;
}

/** When a hold ends, in RFC 3339; undefined for `until-released`. Throws `UsageError` for what is neither that nor a duration such as 12h, 7d, 1d12h. */
export function holdUntil(text: string, now: Date): string | undefined {
  if (text === 'until-released') return undefined;
  const length = durationMs(text);
  if (length === undefined)
    throw new UsageError(`--hold ${text}: a duration such as 12h or 7d is expected, or until-released`);
  return `${new Date(now.getTime() + length).toISOString().slice(0, 19)}Z`;
}
