import type { Answer, Progress } from '../src/state/page-state.ts';

/** Each answer as a word; a note is none. */
export const WORDS: Readonly<Record<Answer | 'note', string>> = {
  yes: 'Yes',
  wait: 'Wait',
  no: 'No',
  unknown: 'Unknown',
  unmanaged: 'Not managed',
  note: 'Note',
};

/** A time in UTC with whole seconds, as `2026-08-02T09:00:00Z`; a text that is no time stays. */
export function isoTime(time: string): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? time : new Date(at).toISOString().replace(/\.\d+/, '');
}

/** `1.2 GiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const at = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  return `${at === 0 ? Math.round(count) : (count / 1024 ** at).toFixed(1)} ${units[at]}`;
}

/** `1.2 GiB of 2.4 GiB, 96 MiB/s, 12s left`. */
export function progressText({ bytes: done, total, rate, etaSeconds }: Progress): string {
  const parts = [
    done === undefined ? undefined : `${bytes(done)}${total === undefined ? '' : ` of ${bytes(total)}`}`,
    rate === undefined ? undefined : `${bytes(rate)}/s`,
    etaSeconds === undefined ? undefined : `${lasting(etaSeconds)} left`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

function lasting(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}

/** `1 machine set`, `1,000 machine sets`. */
export function counted(count: number, one: string): string {
  return `${count.toLocaleString('en')} ${one}${count === 1 ? '' : 's'}`;
}
