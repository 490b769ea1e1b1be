import type { Endpoint } from '../diff/finding.ts';
import { isList, isObject, type Json, type JsonObject, textOf } from '../schema/json.ts';
import type { Crd } from '../schema/schema.ts';
import { evaluateRule } from '../validate/cel.ts';

/** What one rule of a webhook or a policy covers, and what narrows it: all of it must fit an object. */
export interface AdmissionFilter {
  readonly endpoints: readonly Endpoint[];
  readonly closed: boolean;
  /** Label selectors, of the namespace and of the object. */
  readonly namespaces: readonly JsonObject[];
  readonly objects: readonly JsonObject[];
  /** Names of objects; none is every name. */
  readonly names: readonly string[];
  /** Expressions of match conditions: one that is false lets a write pass unasked. */
  readonly conditions: readonly string[];
}

/** Labels of a namespace; undefined where they are not known. */
export type LabelsOf = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** Whether writes of an object may be asked about. What cannot be told is taken to fit. */
export function fits(filter: AdmissionFilter, object: JsonObject, crd: Crd, labelsOf: LabelsOf): boolean {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {};
  const namespace = textOf(metadata['namespace']);
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {};
  const around = crd.scope === 'Cluster' ? undefined : labelsOf(namespace);
  return (
    (filter.names.length === 0 || filter.names.includes(textOf(metadata['name']))) &&
    (around === undefined || filter.namespaces.every((selector) => selects(selector, around))) &&
    filter.objects.every((selector) => selects(selector, labels)) &&
    writesOf(filter.endpoints).some((write) =>
      filter.conditions.every((condition) => !isFalse(condition, variables(object, crd, write, around))),
    )
  );
}

/** A label selector, as the API has it; one that is empty selects everything. */
function selects({ matchLabels, matchExpressions }: JsonObject, labels: JsonObject): boolean {
  const has = (key: string): boolean => Object.hasOwn(labels, key);
  return (
    Object.entries(isObject(matchLabels) ? matchLabels : {}).every(
      ([key, value]) => has(key) && labels[key] === value,
    ) &&
    (isList(matchExpressions) ? matchExpressions.filter(isObject) : []).every(({ key, operator, values }) => {
      const name = textOf(key);
      const isIn = has(name) && isList(values) && values.includes(labels[name] as Json);
      switch (operator) {
        case 'In':
          return isIn;
        case 'NotIn':
          return !isIn;
        case 'Exists':
          return has(name);
        case 'DoesNotExist':
          return !has(name);
        default:
          return true;
      }
    })
  );
}

interface AdmissionWrite {
  readonly operation: 'CREATE' | 'UPDATE';
  readonly subResource: '' | 'status';
}

function writesOf(endpoints: readonly Endpoint[]): readonly AdmissionWrite[] {
  const writes: AdmissionWrite[] = [];
  if (endpoints.includes('create')) writes.push({ operation: 'CREATE', subResource: '' });
  if (endpoints.includes('spec')) writes.push({ operation: 'UPDATE', subResource: '' });
  if (endpoints.includes('status')) writes.push({ operation: 'UPDATE', subResource: 'status' });
  return writes;
}

/** What is known of a write that nobody has made yet: not who makes it, and of the object what a write seldom changes. */
function variables(object: JsonObject, crd: Crd, write: AdmissionWrite, around: JsonObject | undefined): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {};
  const { name = '', namespace = '' } = metadata;
  const { group, kind, plural: resource } = crd;
  const request = { ...write, kind: { group, kind }, resource: { group, resource }, name, namespace };
  const namespaceObject =
    around === undefined ? {} : { namespaceObject: { metadata: { name: namespace, labels: around } } };
  return { request, object, ...(write.operation === 'UPDATE' ? { oldObject: object } : {}), ...namespaceObject };
}

/** Everything that an expression says of a variable; a quoted text, which is left alone, comes first. */
const MENTIONED =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.])(request|object|oldObject|namespaceObject|authorizer)\b((?:\s*\.\s*\w+\b(?!\s*\())*)/g;
const KNOWN = {
  request: /^\.(?:(?:kind|resource)\.(?:group|kind|resource)|subResource|name|namespace|operation)$/,
  object: /^\.(?:kind|apiVersion|metadata\.(?:name|namespace|labels|annotations)(?:\.\w+)?)$/,
  namespaceObject: /^\.metadata\.(?:name|labels)(?:\.\w+)?$/,
} as const;

/** Whether a condition is false, whoever writes and whatever he writes. */
function isFalse(condition: string, known: JsonObject): boolean {
  let decidable = true;
  // A rule knows one variable, `self`.
  const rule = condition.replaceAll(MENTIONED, (all, variable: string | undefined, path: string) => {
    if (variable === undefined) return all;
    const allowed = variable === 'oldObject' ? KNOWN.object : KNOWN[variable as keyof typeof KNOWN];
    decidable &&= allowed?.test(path.replaceAll(/\s/g, '')) === true;
    return `self.${variable}${path}`;
  });
  if (!decidable) return false;
  const answer = evaluateRule({ rule }, {}, known, undefined, false);
  return answer.kind === 'fails' && answer.broken !== true;
}
