import type { ServedKind } from './kinds.ts';

/** Where the server keeps kinds whose place in etcd is not their plural. */
const PLACES: Readonly<Record<string, string>> = {
  '/endpoints': 'services/endpoints',
  '/nodes': 'minions',
  '/replicationcontrollers': 'controllers',
  '/services': 'services/specs',
  'networking.k8s.io/ingresses': 'ingress',
};

/** Groups whose server of their own keeps objects under the group's name. */
const OWN_PREFIX = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);

/** The key of an object in etcd, which some refusals name. */
export function storageKey(
  { group, plural, builtIn, namespaced }: ServedKind,
  namespace: string | undefined,
  name: string,
  dryRun: boolean,
): string {
  const grouped = !builtIn || OWN_PREFIX.has(group);
  const place = PLACES[`${group}/${plural}`] ?? (grouped ? `${group}/${plural}` : plural);
  // A dry run never reaches etcd, whose prefix is put before the key.
  return [dryRun ? '' : '/registry', place, ...(namespaced && namespace !== undefined ? [namespace] : []), name].join(
    '/',
  );
}
