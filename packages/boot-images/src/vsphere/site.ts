import type { Infrastructure, VSphereFailureDomain } from '@drydock/api';
import type { Placement } from '@drydock/templates';
import { BootImageError } from '../errors.ts';
import type { JsonObject } from '../observe/json.ts';
import { matchFailureDomain, type Workspace, workspaceOf } from './failure-domain.ts';

/** Where the machines of one set are made, and where their template lives. */
export interface Site {
  readonly workspace: Workspace;
  readonly domain: VSphereFailureDomain;
  readonly placement: Placement;
  readonly infrastructureName: string;
}

/** Whether {@link siteOf} finds all that it needs. */
function isComplete(infrastructure: Infrastructure, domain: VSphereFailureDomain): boolean {
  return Boolean(infrastructure.status?.infrastructureName) && (domain.topology.networks ?? []).length > 0;
}

/** Puts workspace and failure domain together. Throws `WorkspaceIncomplete`. */
export function siteOf(infrastructure: Infrastructure, workspace: Workspace, domain: VSphereFailureDomain): Site {
  const infrastructureName = infrastructure.status?.infrastructureName;
  if (!infrastructureName) throw incomplete('infrastructure/cluster has no status.infrastructureName');
  const networks = domain.topology.networks ?? [];
  if (networks.length === 0) throw incomplete(`failure domain ${domain.name} names no network`);
  return {
    workspace,
    domain,
    infrastructureName,
    placement: {
      server: workspace.server,
      datacenter: workspace.datacenter,
      failureDomain: domain.name,
      // An empty folder is the datacenter's own vm folder, as machine-api has it.
      folder: workspace.folder === '' ? `/${workspace.datacenter.replace(/^\//, '')}/vm` : workspace.folder,
      datastore: workspace.datastore,
      resourcePool: workspace.resourcePool,
      computeCluster: domain.topology.computeCluster,
      networks,
    },
  };
}

/** Where a set with this provider spec makes its template; undefined where that lies nowhere, or where something is missing. */
export function siteFor(spec: JsonObject, infrastructure: Infrastructure): Site | undefined {
  const workspace = workspaceOf(spec);
  const domain = workspace && matchFailureDomain(workspace, infrastructure);
  if (workspace === undefined || domain === undefined || !isComplete(infrastructure, domain)) return undefined;
  return siteOf(infrastructure, workspace, domain);
}

/** Where sets with these provider specs make their templates, each place once. Specs that lie nowhere are left out. */
export function placementsOf(specs: readonly JsonObject[], infrastructure: Infrastructure): readonly Placement[] {
  const places = new Map<string, Placement>();
  for (const spec of specs) {
    const { placement } = siteFor(spec, infrastructure) ?? {};
    if (placement !== undefined) places.set(JSON.stringify(placement), placement);
  }
  return [...places.values()];
}

/** The error for a workspace or failure domain that lacks what an image needs. */
export function incomplete(message: string): BootImageError {
  return new BootImageError('WorkspaceIncomplete', message, {
    retriable: false,
    nextStep: 'complete the providerSpec of the set or infrastructure/cluster',
  });
}
