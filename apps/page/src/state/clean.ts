import { oneLine, shortText } from '@drydock/api/text';

/** No sentence on the page is longer. */
const MOST = 2000;

/** The same value with each of its texts on one line and no longer than a person reads: others wrote most of them. */
export function clean<T>(value: T): T {
  return cleaned(value) as T;
}

/** Rows whose identity another one has, too, once it is clean, get one of their own. */
export function distinct<T extends { readonly id: string }>(rows: readonly T[]): readonly T[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const before = seen.get(row.id) ?? 0;
    seen.set(row.id, before + 1);
    return before === 0 ? row : { ...row, id: `${row.id} (${before + 1})` };
  });
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return oneLine(shortText(value, MOST));
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, cleaned(of)]));
}
