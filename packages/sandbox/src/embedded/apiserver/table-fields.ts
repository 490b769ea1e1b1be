/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value at a path; undefined where a step leads nowhere. */
export function valueAt(object: unknown, ...path: readonly string[]): unknown {
  let value: unknown = object;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Fields)[step];
  }
  return value ?? undefined;
}

/** The text at a path; '' where there is none. */
export function textAt(object: unknown, ...path: readonly string[]): string {
  const value = valueAt(object, ...path);
  return typeof value === 'string' ? value : '';
}

/** The scalar at a path as a text; `otherwise` where there is none. */
export function scalarAt(object: unknown, otherwise: string, ...path: readonly string[]): string {
  const value = valueAt(object, ...path);
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : otherwise;
}

/** The number at a path; 0 where there is none. */
export function numberAt(object: unknown, ...path: readonly string[]): number {
  const value = valueAt(object, ...path);
  return typeof value === 'number' ? value : 0;
}

/** The objects of a list at a path. */
export function listAt(object: unknown, ...path: readonly string[]): readonly Fields[] {
  const value = valueAt(object, ...path);
  return Array.isArray(value) ? (value as readonly Fields[]) : [];
}

/** The status of a condition. */
export function conditionOf(object: unknown, type: string): string | undefined {
  const found = listAt(object, 'status', 'conditions').find((one) => textAt(one, 'type') === type);
  return found === undefined ? undefined : textAt(found, 'status');
}

export const joined = (texts: readonly string[]): string => texts.join(',');

const OPERATORS: Readonly<Record<string, string>> = { In: 'in', NotIn: 'notin' };

/** A label selector as Tables show it: `a=b,c in (d,e)`. */
export function selectorText(selector: unknown): string {
  if (selector === undefined) return '<none>';
  const labels = Object.entries((valueAt(selector, 'matchLabels') ?? {}) as Readonly<Record<string, string>>);
  const terms = labels.map(([key, value]) => `${key}=${value}`).sort();
  for (const one of listAt(selector, 'matchExpressions')) {
    const [key, operator] = [textAt(one, 'key'), textAt(one, 'operator')];
    const values = ((valueAt(one, 'values') ?? []) as readonly string[]).toSorted().join(',');
    const word = OPERATORS[operator];
    terms.push(word === undefined ? (operator === 'Exists' ? key : `!${key}`) : `${key} ${word} (${values})`);
  }
  return terms.length === 0 ? '<none>' : terms.join(',');
}
