import { type Draft, each, part } from './draft.ts';
import { entriesAt, type Fields, listAt, textAt, textsAt } from './object-fields.ts';

/** Whether a LabelSelector selects labels. */
export function selects(selector: Draft, labels: Readonly<Record<string, unknown>>): boolean {
  const equal = Object.entries(part(selector, 'matchLabels') ?? {}).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    each(selector, 'matchExpressions').every(({ key, operator, values }) => {
      const has = String(key) in labels;
      const inside = Array.isArray(values) && values.includes(labels[String(key)]);
      switch (operator) {
        case 'In':
          return has && inside;
        case 'NotIn':
          return !inside;
        case 'Exists':
          return has;
        case 'DoesNotExist':
          return !has;
        default:
          return false;
      }
    })
  );
}

/** A LabelSelector in the syntax of queries, by key: `a=b,c in (d,e)`; '' for an empty one. */
export function selectorText(selector: unknown): string {
  const terms = [
    ...entriesAt(selector, 'matchLabels').map(([key, value]) => ({ key, text: `${key}=${value}` })),
    ...listAt(selector, 'matchExpressions').map((one) => ({ key: textAt(one, 'key'), text: expressionText(one) })),
  ];
  return terms
    .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
    .map(({ text }) => text)
    .join(',');
}

function expressionText(expression: Fields): string {
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
