import {
  type Admission,
  type JsonObject,
  listOf,
  metadataOf,
  objectOf,
  type ServedKind,
} from '@drydock/kube/testing/api-server';
import type { Draft } from './draft.ts';
import { selects } from './label-selectors.ts';

// Which requests a webhook or a policy is about.

/** Kinds that decide about requests: nobody is asked about them, or a broken webhook could never be removed. */
const EXEMPT = new Set([
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
]);

/** Whether nobody is asked about a kind. */
export function isExempt({ group, plural }: ServedKind): boolean {
  return group === 'admissionregistration.k8s.io' && EXEMPT.has(plural);
}

const includes = (list: unknown, value: string): boolean => {
  const all = listOf(list);
  return all.includes('*') || all.includes(value);
};

/** The version of the kind that a list of rules is about: the request's own, or an equivalent one; undefined: none. */
export function matchedVersion(
  rules: readonly unknown[],
  admission: Admission,
  equivalent: boolean,
): string | undefined {
  const { kind, version } = admission;
  const versions = [version, ...(equivalent ? kind.versions.filter((one) => one !== version) : [])];
  return versions.find((one) => rules.some((rule) => matchesRule(objectOf(rule), admission, one)));
}

function matchesRule(rule: JsonObject, { operation, kind, subresource, name }: Admission, version: string): boolean {
  if (!includes(rule['operations'], operation)) return false;
  if (!includes(rule['apiGroups'], kind.group) || !includes(rule['apiVersions'], version)) return false;
  const { scope = '*' } = rule;
  if (scope !== '*' && (scope === 'Namespaced') !== kind.namespaced) return false;
  const names = listOf(rule['resourceNames']);
  if (names.length > 0 && !names.includes(name)) return false;
  return listOf(rule['resources']).some((resource) => {
    const [plural = '', part] = String(resource).split('/');
    if (plural !== '*' && plural !== kind.plural) return false;
    if (part === undefined) return subresource === undefined;
    return part === '*' ? plural === '*' || subresource !== undefined : part === subresource;
  });
}

/** Whether a request passes the selectors on its namespace and its object. */
export function isSelected(
  { namespaceSelector, objectSelector }: { readonly namespaceSelector?: unknown; readonly objectSelector?: unknown },
  { kind, object, old }: Admission,
  namespace: JsonObject | undefined,
): boolean {
  const labelsOf = (of: JsonObject | undefined): JsonObject => objectOf(metadataOf(of ?? {})['labels']);
  const space = kind.kind === 'Namespace' && kind.group === '' ? (object ?? old) : namespace;
  const empty = (selector: unknown): boolean => Object.keys(objectOf(selector)).length === 0;
  if (
    !empty(namespaceSelector) &&
    space !== undefined &&
    !selects(objectOf(namespaceSelector) as Draft, labelsOf(space))
  ) {
    return false;
  }
  if (empty(objectSelector)) return true;
  const selector = objectOf(objectSelector) as Draft;
  return [object, old].some((one) => one !== undefined && selects(selector, labelsOf(one)));
}
