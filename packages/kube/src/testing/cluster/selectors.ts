import { isObject, type JsonObject, objectOf } from './json.ts';
import { badRequest } from './refusal.ts';

/** Whether an object is selected. */
export type Matcher = (object: JsonObject) => boolean;

type Labels = Readonly<Record<string, unknown>>;

const REQUIREMENT =
  /^\s*(?:!\s*(?<absent>[^\s=!<>,()]+)|(?<key>[^\s=!<>,()]+)(?:\s*(?<op>==|=|!=|>|<)\s*(?<value>[^\s=!<>,()]*)|\s+(?<in>in|notin)\s*\((?<values>[^()]*)\))?)\s*(?:,|$)/;

/** Parses a label selector: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `n>1`, `n<2`, joined by commas. 400 for anything else. */
export function labelMatcher(selector: string): Matcher {
  const requirements: ((labels: Labels) => boolean)[] = [];
  for (let rest = selector; rest.trim() !== ''; ) {
    const match = REQUIREMENT.exec(rest);
    if (match === null)
      throw badRequest(`unable to parse requirement: found '${rest}', expected: ',' or 'end of string'`);
    requirements.push(requirement(match.groups ?? {}));
    rest = rest.slice(match[0].length);
  }
  return (object) => {
    const labels = objectOf(objectOf(object['metadata'])['labels']);
    return requirements.every((one) => one(labels));
  };
}

function requirement(groups: Readonly<Record<string, string | undefined>>): (labels: Labels) => boolean {
  const { absent, key = '', op, value = '', values } = groups;
  if (absent !== undefined) return (labels) => !(absent in labels);
  if (values !== undefined) {
    const set = values.split(',').map((one) => one.trim());
    const inside = groups['in'] === 'in';
    return (labels) => (key in labels ? set.includes(String(labels[key])) === inside : !inside);
  }
  switch (op) {
    case undefined:
      return (labels) => key in labels;
    case '!=':
      return (labels) => labels[key] !== value;
    case '>':
      return (labels) => key in labels && Number(labels[key]) > Number(value);
    case '<':
      return (labels) => key in labels && Number(labels[key]) < Number(value);
    default:
      return (labels) => labels[key] === value;
  }
}

/** Parses a field selector on `metadata.name` and `metadata.namespace`, and of Events on who reports them; 400 for other fields, as for a kind without selectable fields. */
export function fieldMatcher(selector: string, group: string): Matcher {
  const matchers = selector
    .split(',')
    .filter((one) => one !== '')
    .map((one): Matcher => {
      const match = /^(metadata\.name|metadata\.namespace|reportingController)(==|=|!=)(.*)$/.exec(one.trim());
      if (match === null || (match[1] === 'reportingController' && group !== 'events.k8s.io'))
        throw badRequest(`field label not supported: ${one.split(/[=!]/)[0]}`);
      const [, path = '', op, value] = match;
      const [last = '', inside] = path.split('.').toReversed();
      return (object) => {
        const holder = inside === undefined ? object : object[inside];
        return ((isObject(holder) ? holder[last] : undefined) === value) === (op !== '!=');
      };
    });
  return (object) => matchers.every((one) => one(object));
}
