import { ageOf } from './human-duration.ts';
import {
  conditionOf,
  entriesAt,
  type Fields,
  listAt,
  numberAt,
  scalarAt,
  textAt,
  textsAt,
  valueAt,
} from './table-fields.ts';

// Cells of Tables by the path of what they show.

export type Cell = (object: Fields, now: number) => unknown;

/** The cells of a kind by the name of their column. */
export type Cells = Readonly<Record<string, Cell>>;

/** The cells of kinds by `group/plural`. */
export type CellsByKind = Readonly<Record<string, Cells>>;

export const NONE = '<none>';
export const UNSET = '<unset>';

export const orNone = (text: string): string => text || NONE;

export const text =
  (path: string, otherwise = ''): Cell =>
  (object) =>
    textAt(object, path) || otherwise;

export const number =
  (path: string): Cell =>
  (object) =>
    numberAt(object, path);

export const flag =
  (path: string): Cell =>
  (object) =>
    valueAt(object, path) === true;

/** A string or a number as text. */
export const scalar =
  (path: string, otherwise: string): Cell =>
  (object) =>
    scalarAt(object, path) ?? otherwise;

/** The length of a list. */
export const count =
  (path: string): Cell =>
  (object) =>
    listAt(object, path).length;

export const age =
  (path: string, otherwise = '<unknown>'): Cell =>
  (object, now) => {
    const time = valueAt(object, path);
    return time === undefined ? otherwise : ageOf(time, now);
  };

export const condition =
  (type: string, otherwise: string): Cell =>
  (object) =>
    conditionOf(object, type) ?? otherwise;

/** A map of labels: `a=b,c=d`. */
export const labels =
  (path: string): Cell =>
  (object) =>
    orNone(labelTerms(object, path).join(','));

function labelTerms(object: Fields, path: string): string[] {
  return entriesAt(object, path)
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

/** A label selector: `a=b,c in (d,e)`. */
export const selector =
  (path: string): Cell =>
  (object) => {
    const expressions = listAt(object, `${path}.matchExpressions`).map(expressionTerm);
    return orNone([...labelTerms(object, `${path}.matchLabels`), ...expressions].join(','));
  };

function expressionTerm(expression: Fields): string {
  const key = textAt(expression, 'key');
  const values = textsAt(expression, 'values').toSorted().join(',');
  switch (textAt(expression, 'operator')) {
    case 'In':
      return `${key} in (${values})`;
    case 'NotIn':
      return `${key} notin (${values})`;
    case 'Exists':
      return key;
    default:
      return `!${key}`;
  }
}

/** At most three items, then how many more there are. */
export function abbreviated(items: readonly string[]): string {
  if (items.length <= 3) return orNone(items.join(','));
  return `${items.slice(0, 3).join(',')} + ${items.length - 3} more...`;
}

/** The phase, or that the object is being deleted. */
export const phase: Cell = (object) =>
  valueAt(object, 'metadata.deletionTimestamp') === undefined ? textAt(object, 'status.phase') : 'Terminating';
