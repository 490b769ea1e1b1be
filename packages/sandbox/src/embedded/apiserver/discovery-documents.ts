import { createHash } from 'node:crypto';
import type { ServedResource, ServedSubresource } from './objects.ts';
import builtInGroups from './recorded/group-order.json' with { type: 'json' };

/** Discovery of what is served, in the forms that clients ask for. */
export interface DiscoveryDocuments {
  /** `/api`. */
  readonly legacyVersions: unknown;
  /** `/apis`. */
  readonly groups: unknown;
  /** `/apis/GROUP`; undefined for a group that is not served. */
  group(name: string): unknown;
  /** `/api/v1` and `/apis/GROUP/VERSION`; undefined for what is not served. */
  resources(group: string, version: string): unknown;
  /** The aggregated form of `/api` (`legacy`) and `/apis`. */
  aggregated(legacy: boolean, form: AggregatedForm): AggregatedDocument;
  /** Groups and versions, the preferred one of a group first. */
  readonly served: ReadonlyMap<string, readonly string[]>;
}

/** Versions of the aggregated form. */
export type AggregatedForm = 'v2' | 'v2beta1';

/** A document with the ETag that names its content. */
export interface AggregatedDocument {
  readonly body: unknown;
  readonly etag: string;
}

/** Built-in groups in the order in which the server lists them; others follow by name. */
const GROUP_ORDER: readonly string[] = builtInGroups;

/** Builds the documents. It is cheap to do again after each change of what is served. */
export function discoveryDocuments(resources: readonly ServedResource[]): DiscoveryDocuments {
  const served = versionsByGroup(resources);
  const of = (group: string, version: string): readonly ServedResource[] =>
    resources.filter((one) => one.group === group && one.version === version);
  const group = (name: string): unknown => {
    const versions = served.get(name);
    if (versions === undefined || name === '') return undefined;
    const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions: entries, preferredVersion: entries[0] };
  };
  return {
    served,
    legacyVersions: {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:0' }],
    },
    groups: {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: [...served.keys()].filter((name) => name !== '').map(group),
    },
    group: (name) => {
      const found = group(name);
      return found === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...(found as object) };
    },
    resources: (name, version) => {
      if (served.get(name)?.includes(version) !== true) return undefined;
      const groupVersion = name === '' ? version : `${name}/${version}`;
      const list = of(name, version).flatMap(legacyResources);
      return {
        kind: 'APIResourceList',
        ...(name === '' ? {} : { apiVersion: 'v1' }),
        groupVersion,
        resources: list,
      };
    },
    aggregated: (legacy, form) => {
      const names = [...served.keys()].filter((name) => (name === '') === legacy);
      const items = names.map((name) => ({
        metadata: name === '' ? {} : { name },
        versions: (served.get(name) ?? []).map((version) => ({
          version,
          resources: of(name, version).map(aggregatedResource),
          freshness: 'Current',
        })),
      }));
      const body = {
        kind: 'APIGroupDiscoveryList',
        apiVersion: `apidiscovery.k8s.io/${form}`,
        metadata: {},
        items,
      };
      return { body, etag: `"${createHash('sha512').update(JSON.stringify(body)).digest('hex').toUpperCase()}"` };
    },
  };
}

function versionsByGroup(resources: readonly ServedResource[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { group, version } of resources) {
    const versions = found.get(group);
    if (versions === undefined) found.set(group, [version]);
    else if (!versions.includes(version)) versions.push(version);
  }
  const rank = (group: string): number => {
    const at = GROUP_ORDER.indexOf(group);
    return at === -1 ? GROUP_ORDER.length : at;
  };
  const names = [...found.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return new Map(names.map((name) => [name, (found.get(name) ?? []).sort(byPriority)]));
}

/** Versions as Kubernetes ranks them: stable before beta before alpha, higher before lower, other names last. */
export function byPriority(a: string, b: string): number {
  const [left, right] = [rankOf(a), rankOf(b)];
  if (left === undefined || right === undefined) {
    if (left === right) return a < b ? -1 : 1;
    return left === undefined ? 1 : -1;
  }
  for (const [at, value] of left.entries()) {
    const difference = (right[at] ?? 0) - value;
    if (difference !== 0) return difference;
  }
  return 0;
}

function rankOf(version: string): readonly number[] | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (match === null) return undefined;
  const [, major = '0', stage, minor = '0'] = match;
  return [stage === undefined ? 2 : stage === 'beta' ? 1 : 0, Number(major), Number(minor)];
}

function legacyResources(resource: ServedResource): readonly object[] {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = resource;
  const main = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(verbs.includes('list') && verbs.includes('create') ? { storageVersionHash: storageVersionHash(resource) } : {}),
  };
  const subresources = resource.subresources.map((sub) => ({
    name: `${plural}/${sub.name}`,
    singularName: '',
    namespaced,
    ...(ofParent(sub, resource) ? {} : { group: sub.group, version: sub.version }),
    kind: sub.kind,
    verbs: sub.verbs,
  }));
  return [main, ...subresources];
}

/** Whether a subresource has the group and version of its resource, which may be left out. */
function ofParent(sub: ServedSubresource, { group, version }: ServedResource): boolean {
  return sub.version === '' || (sub.group === group && sub.version === version);
}

function storageVersionHash({ group, storageVersion, kind }: ServedResource): string {
  const digest = createHash('sha256').update(`${group}/${storageVersion}/${kind}`).digest();
  return digest.subarray(0, 8).toString('base64');
}

function aggregatedResource(resource: ServedResource): object {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories, builtIn } = resource;
  // The server leaves it to the reader where the kind is of the group and version itself, and it is Kubernetes' own.
  const { group, version } = builtIn ? { group: '', version: '' } : resource;
  const own = { group, version };
  const subresources = resource.subresources.map((sub) => ({
    subresource: sub.name,
    responseKind: ofParent(sub, resource)
      ? { ...own, kind: sub.kind }
      : { group: sub.group, version: sub.version, kind: sub.kind },
    verbs: sub.verbs,
  }));
  return {
    resource: plural,
    responseKind: { ...own, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
