import { ageOf } from './human-duration.ts';
import { selectorText } from './label-selectors.ts';
import { conditionOf, entriesAt, type Fields, listAt, numberAt, scalarAt, textAt, valueAt } from './object-fields.ts';

// Cells of Tables by the path of what they show.

export type Cell = (object: Fields, now: number) => unknown;

/** The cells of a kind by the name of their column. */
export type Cells = Readonly<Record<string, Cell>>;

/** The cells of kinds by `group/plural`. */
export type CellsByKind = Readonly<Record<string, Cells>>;

export const NONE = '<none>';
export const UNSET = '<unset>';

export function orNone(text: string): string {
  return text || NONE;
}

export function text(path: string, otherwise = ''): Cell {
  return (object) => textAt(object, path) || otherwise;
}

export function number(path: string): Cell {
  return (object) => numberAt(object, path);
}

export function flag(path: string): Cell {
  return (object) => valueAt(object, path) === true;
}

/** A string or a number as text. */
export function scalar(path: string, otherwise: string): Cell {
  return (object) => scalarAt(object, path) ?? otherwise;
}

/** The length of a list. */
export function count(path: string): Cell {
  return (object) => listAt(object, path).length;
}

export function age(path: string, otherwise = '<unknown>'): Cell {
  return (object, now) => {
    const time = valueAt(object, path);
    return time === undefined ? otherwise : ageOf(time, now);
  };
}

export function condition(type: string, otherwise: string): Cell {
  return (object) => conditionOf(object, type) ?? otherwise;
}

/** A map of labels: `a=b,c=d`. */
export function labels(path: string): Cell {
  return (object) => {
    const terms = entriesAt(object, path).map(([key, value]) => `${key}=${value}`);
    return orNone(terms.sort().join(','));
  };
}

export function selector(path: string): Cell {
  return (object) => orNone(selectorText(valueAt(object, path)));
}

/** At most three items, then how many more there are. */
export function abbreviated(items: readonly string[]): string {
  if (items.length <= 3) return orNone(items.join(','));
  return `${items.slice(0, 3).join(',')} + ${items.length - 3} more...`;
}

/** The phase, or that the object is being deleted. */
export const phase: Cell = (object) =>
  valueAt(object, 'metadata.deletionTimestamp') === undefined ? textAt(object, 'status.phase') : 'Terminating';
