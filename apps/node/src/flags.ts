import { InvalidArgumentError, type Option } from 'commander';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration as Go writes it, such as `120s` or `1m30s`; `0` is 0. */
export function duration(text: string): number {
  if (text === '0') return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text)
    throw new InvalidArgumentError('expected a duration such as 120s or 1m30s.');
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}

/** Collects a list whose flag may be repeated and may hold commas. */
export function list(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...before, ...names.filter((name) => name !== '')];
}

/** The same for whole numbers. */
export function numbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, ...list(text).map(integer)];
}

/** A whole number. */
export function integer(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('expected a whole number.');
  return Number(text);
}

/** An option's text for the help, with its default in words where it has one. */
export function optionText({ description, defaultValue, flags }: Option): string {
  const value: unknown = defaultValue;
  // Empty lists and numbers that must be given show nothing.
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '' || value === 0) return description;
  return `${description} (default: ${flags.includes('<duration>') ? `${Number(value) / 1_000}s` : value})`;
}
