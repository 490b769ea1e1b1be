import type { Answer, Progress } from '../src/state/page-state.ts';

/** Each answer as a word, and as a sign that is told from the others without its colour. */
export const ANSWERS: Readonly<Record<Answer, { readonly word: string; readonly sign: string }>> = {
  yes: { word: 'Yes', sign: '✔' },
  wait: { word: 'Wait', sign: '◔' },
  no: { word: 'No', sign: '✖' },
  unknown: { word: 'Unknown', sign: '?' },
  unmanaged: { word: 'Not managed', sign: '–' },
};

/** `5m`, as the command line says it. */
export function age(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  return Number.isNaN(seconds) ? '' : lasting(seconds);
}

/** A length of time in its largest unit that is not coarse. */
export function lasting(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
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

/** A time as people here write it. */
export function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime())
    ? ''
    : at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
}

/** `1 set`, `3 sets`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
