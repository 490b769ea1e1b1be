import { posix } from 'node:path';
import type { Infrastructure, VSphereFailureDomain } from '@drydock/api';
import { isObject, nonEmpty } from '../observe/json.ts';

/** `providerSpec.workspace` as far as placement goes; absent fields are ''. */
export interface Workspace {
  readonly server: string;
  readonly datacenter: string;
  readonly datastore: string;
  readonly resourcePool: string;
  readonly folder: string;
  readonly vmGroup: string;
}

/** Reads `providerSpec.workspace`; undefined when there is none. */
export function workspaceOf(spec: Readonly<Record<string, unknown>>): Workspace | undefined {
  const { workspace } = spec;
  if (!isObject(workspace)) return undefined;
  const field = (key: string): string => nonEmpty(workspace[key]) ?? '';
  return {
    server: field('server'),
    datacenter: field('datacenter'),
    datastore: field('datastore'),
    resourcePool: field('resourcePool'),
    folder: field('folder'),
    vmGroup: field('vmGroup'),
  };
}

/**
 * The first failure domain that the workspace lies in (boot-images.md §4.2): datacenter and datastore compare exactly, resource
 * pools after path cleaning, the vmGroup with the absent one as ''. The server must also be a configured vCenter.
 */
export function matchFailureDomain(
  workspace: Workspace,
  infrastructure: Infrastructure,
): VSphereFailureDomain | undefined {
  const vsphere = infrastructure.spec?.platformSpec?.vsphere;
  if (!(vsphere?.vcenters ?? []).some((vcenter) => vcenter.server === workspace.server)) return undefined;
  return (vsphere?.failureDomains ?? []).find(
    (domain) =>
      domain.server === workspace.server &&
      domain.topology.datacenter === workspace.datacenter &&
      domain.topology.datastore === workspace.datastore &&
      (domain.zoneAffinity?.hostGroup?.vmGroup ?? '') === workspace.vmGroup &&
      cleanPath(domain.topology.resourcePool ?? '') === cleanPath(workspace.resourcePool),
  );
}

/** Upstream's sentence for a workspace that lies nowhere. */
export function mismatchText(w: Workspace): string {
  const group = w.vmGroup === '' ? '' : `, vmGroup: ${w.vmGroup}`;
  return `providerSpec workspace (server: ${w.server}, datacenter: ${w.datacenter}, datastore: ${w.datastore}, resourcePool: ${w.resourcePool}${group}) does not match any vCenter/failure domain in the Infrastructure object`;
}

/** Go's `path.Clean`: '' is '.', and a trailing slash goes. */
export function cleanPath(path: string): string {
  const clean = posix.normalize(path);
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
}
