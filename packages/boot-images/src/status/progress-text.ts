import type { TemplateProgress } from '@drydock/templates';

/** Seconds that remain at the present rate; undefined where bytes, total or rate are not known. */
export function etaSeconds(progress: TemplateProgress): number | undefined {
  const { bytes, total, rate } = progress;
  if (bytes === undefined || total === undefined || rate === undefined || rate <= 0) return undefined;
  return Math.max(0, Math.ceil((total - bytes) / rate));
}

/** One table cell: `41% 0.9GB/s 38s`. Parts that are not known are left out; nothing known is `-`. */
export function progressText(progress: TemplateProgress): string {
  const { bytes, sent, total, rate } = progress;
  const parts: string[] = [];
  if (bytes !== undefined && total !== undefined && total > 0) {
    parts.push(`${Math.min(sent === true ? 99 : 100, Math.floor((bytes / total) * 100))}%`);
  } else if (bytes !== undefined) {
    parts.push(amount(bytes));
  }
  if (rate !== undefined && rate > 0) parts.push(`${amount(rate)}/s`);
  const eta = etaSeconds(progress);
  if (eta !== undefined) parts.push(duration(eta));
  return parts.length === 0 ? '-' : parts.join(' ');
}

function amount(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  // From 900 up the next unit reads better in a narrow column: 0.9GB.
  while (value >= 900 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)}${units[unit]}`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3600)}h`;
}
