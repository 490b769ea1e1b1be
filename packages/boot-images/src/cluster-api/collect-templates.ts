import { type Client, isNotFound, type Resource } from '@drydock/kube';
import { type ActPorts, actCollection } from './act.ts';
import { isOurs } from './clone.ts';
import { type Collection, type CollectionOptions, type CollectStep, decideCollection } from './collect.ts';
import { type ClusterApiObject, CORE, type ServedKinds } from './kinds.ts';
import type { NeedSources } from './needs.ts';
import { ROTATED_KINDS, rotatedSet } from './set.ts';

/** What a collection reads from and writes to. */
export interface CollectPorts extends ActPorts {
  readonly client: Pick<Client, 'create' | 'patch' | 'delete' | 'list'>;
  readonly served: Pick<ServedKinds, 'of'>;
  /** Kinds of which templates of ours may be. */
  readonly templates: readonly Resource<ClusterApiObject>[];
  /** See {@link NeedSources.history}. */
  readonly history: NeedSources['history'];
  readonly removed: (template: ClusterApiObject) => void;
  /** Throws where this process may not write any more. */
  readonly mayWrite?: () => void;
}

/** What of a collection is done. */
export interface CollectedOnly {
  /** Default: whatever nothing needs. */
  readonly only?: (step: CollectStep) => boolean;
  /** Only says what would be done. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes away templates of ours that nothing in a namespace needs any more. What needs them is asked of the server after the templates were read, so that whoever needs one by then makes
 * its removal fail. With `dryRun` nothing is written.
 */
export async function collectTemplates(
  namespace: string,
  ports: CollectPorts,
  options: CollectionOptions & CollectedOnly,
): Promise<Collection> {
  const { signal } = options;
  const all = <T extends ClusterApiObject>(resource: Resource<T> | undefined): Promise<readonly T[]> =>
    resource === undefined ? Promise.resolve([]) : listed(ports.client, resource, namespace, { signal });
  const templates: ClusterApiObject[] = [];
  for (const kind of ports.templates) templates.push(...(await all(kind)).map((one) => typed(kind, one)));
  const own = templates.filter(isOurs);
  if (own.length === 0) return { steps: [], after: undefined };
  const sets = [];
  for (const { group, kind } of ROTATED_KINDS)
    sets.push(...(await all(ports.served.of(group, kind))).map((one) => rotatedSet(kind, one)));
  const machineKinds = new Set(ports.templates.map(({ group, kind }) => `${machineKind(kind)} ${group}`));
  const infrastructure: ClusterApiObject[] = [];
  for (const id of machineKinds) {
    const [kind = '', group = ''] = id.split(' ');
    const resource = ports.served.of(group, kind);
    if (resource !== undefined) infrastructure.push(...(await all(resource)).map((one) => typed(resource, one)));
  }
  const sources: NeedSources = {
    ...{ sets, infrastructure, history: ports.history },
    clusterClasses: await all(ports.served.of(CORE, 'ClusterClass')),
  };
  const { steps: decided, after } = decideCollection(templates, sources, options);
  const steps = decided.filter((step) => options.only?.(step) !== false);
  if (options.dryRun === true) return { steps, after };
  for (const step of steps) {
    signal?.throwIfAborted();
    ports.mayWrite?.();
    const acted = await actCollection(step, options.now, ports, { signal });
    if (acted === 'done' && step.kind === 'delete') ports.removed(step.template);
  }
  // What was only told of now goes when its time is over.
  const retired = steps.some(({ kind }) => kind === 'retire') ? options.graceMs : undefined;
  return { steps, after: retired === undefined || after === undefined ? (retired ?? after) : Math.min(retired, after) };
}

/** What machines become that are made of templates of this kind. */
export function machineKind(template: string): string {
  return template.replace(/Template$/, '');
}

async function listed<T extends ClusterApiObject>(
  client: Pick<Client, 'list'>,
  resource: Resource<T>,
  namespace: string,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<readonly T[]> {
  try {
    return await Array.fromAsync(client.list(resource, { namespace }, call));
  } catch (error) {
    // A kind that is not served has no objects.
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** What a list leaves out of its items. */
function typed(resource: Resource<ClusterApiObject>, one: ClusterApiObject): ClusterApiObject {
  const { group, version, kind } = resource;
  return { apiVersion: `${group}/${version}`, kind, ...one };
}
