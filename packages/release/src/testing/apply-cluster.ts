import { randomBytes } from 'node:crypto';
import type { Clock, KubeClient, KubeObject, Resource } from '@drydock/kube';
import { applyPayload } from '../apply/apply.ts';
import { configMapInventory } from '../apply/inventory/config-maps.ts';
import { applyMemory } from '../apply/memory.ts';
import type { ApplyMode } from '../apply/owner.ts';
import { watchedObjects } from '../apply/watched.ts';
import type { ApplyOutcome, ApplyPorts, ApplyWish } from '../apply/wish.ts';
import { type Manifest, readManifestFile } from '../payload/manifest.ts';

/** Where the scenarios work: any API server. Names inside are unique, so that all can share one. */
export interface ApplyCluster {
  /** Another client; those of one actor count their writes together. */
  client(actor: 'manager' | 'administrator'): KubeClient;
  /** Writes of the manager so far. */
  writes(): number;
  /** Requests of the manager so far, without its watches. */
  requests(): number;
  /** A namespace that exists. */
  readonly namespace: string;
  readonly clock: Clock;
}

/** An object of a payload. */
export type Loose = Readonly<Record<string, unknown>>;

/** Manifests of a payload: each object in a file of its own, in this order, in one component. */
export function manifestsOf(...objects: readonly Loose[]): readonly Manifest[] {
  return objects.flatMap((object, index) =>
    readManifestFile(`release-manifests/0000_10_a_${`${index}`.padStart(2, '0')}.yaml`, JSON.stringify(object)),
  );
}

/** A name nobody has. */
export function fresh(): string {
  return `r-${randomBytes(5).toString('hex')}`;
}

/** A ConfigMap of a payload. */
export function configMapOf(
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>>,
  metadata: Loose = {},
): Loose {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...metadata }, data };
}

/** What is wished, where little matters. */
export function wishOf(
  manifests: readonly Manifest[],
  more: { readonly owner?: string; readonly mode?: ApplyMode; readonly version?: string } = {},
): ApplyWish {
  const { owner = 'Payload tools', mode = 'updating', version = '1.0.0' } = more;
  const payload = { version, image: `registry/tools:${version}`, hash: version };
  return { payload, manifests, mode, attempt: 0, owner: { name: owner } };
}

/** Applies with a client of its own, as a process of its own would. */
export async function applyOn(
  cluster: ApplyCluster,
  wish: ApplyWish,
  ports: Partial<ApplyPorts> = {},
): Promise<ApplyOutcome> {
  await using client = cluster.client('manager');
  return await applyPayload(wish, {
    client,
    inventory: configMapInventory({ client, namespace: cluster.namespace }),
    clock: cluster.clock,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...ports,
  });
}

/** apiextensions.k8s.io/v1. */
export const DEFINITION: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

/** A definition of Widgets in a group of its own, and that kind. */
export function widgetDefinition(group: string): {
  readonly crd: Loose & { readonly metadata: { readonly name: string } };
  readonly kind: Resource<KubeObject>;
} {
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer', default: 3 }, color: { type: 'string' } } },
    },
  };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
  return { crd, kind: { group, version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' } };
}

/** Applies with watched caches, as a manager does that goes on running. */
export async function applyWatched(
  cluster: ApplyCluster,
  wish: ApplyWish,
  work: (apply: (mode: ApplyMode) => Promise<ApplyOutcome>) => Promise<void>,
): Promise<void> {
  await using client = cluster.client('manager');
  const end = new AbortController();
  const memory = applyMemory();
  await using live = watchedObjects({ client, memory, signal: end.signal });
  await live.cover(wish.manifests);
  await work(async (mode) => applyOn(cluster, { ...wish, mode }, { client, live, memory }));
  end.abort(new Error('the test is over'));
}
