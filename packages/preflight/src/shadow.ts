import type { Crd } from '@drydock/crd';
import { type CallOptions, type Client, isNotFound, type KubeClient, type KubeObject } from '@drydock/kube';
import { CRD } from './cluster-schemas.ts';

/** What a probe needs of a cluster. */
export type ProbeCluster = Pick<Client, 'list' | 'create' | 'get' | 'delete'> & Pick<KubeClient, 'pages' | 'raw'>;

/** Marks a definition that exists for a probe alone. It serves nobody, and may be deleted at any time. */
export const SHADOW_LABEL = 'drydock.dev/shadow';

/** Group of all shadows. */
export const SHADOW_GROUP = 'shadow.drydock.dev';

/** A definition that a probe installs. */
export type ShadowManifest = KubeObject & {
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly [{ readonly name: string }];
  };
};

/**
 * The target schema under a group of its own: no status subresource, so that a dry-run creation is judged whole; no conversion; one version. Names are those of no other run, because a name that was just deleted is still being
 * terminated, and of no other kind of this run: definitions of several groups may share theirs, and here they have one group.
 */
export function shadowOf(
  crd: Crd,
  version: string,
  { run, number }: { readonly run: string; readonly number: number },
): ShadowManifest {
  const of = crd.versions.find(({ name }) => name === version);
  const id = `${run}-${number}`;
  // `List` belongs to the longest name that is made of them.
  const named = (name: string, joint: string): string => `${name.slice(0, 59 - joint.length - id.length)}${joint}${id}`;
  const plural = named(crd.plural, '-');
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${SHADOW_GROUP}`, labels: { [SHADOW_LABEL]: run } },
    spec: {
      group: SHADOW_GROUP,
      scope: 'Cluster',
      names: { kind: named(crd.kind, 'Shadow-'), plural },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: of?.schema ?? { type: 'object' } },
        },
      ],
    },
  } as KubeObject as ShadowManifest;
}

/** A shadow that is there. */
export interface Shadow {
  readonly name: string;
  /** The run that made it. */
  readonly run: string;
  /** RFC 3339. */
  readonly created: string;
}

/** Every shadow that is there: those of a run under way, and those that a killed one left. */
export async function leftShadows(
  cluster: Pick<ProbeCluster, 'list'>,
  options: CallOptions = {},
): Promise<readonly Shadow[]> {
  const found: Shadow[] = [];
  for await (const { metadata } of cluster.list(CRD, { labels: SHADOW_LABEL }, options)) {
    if (!metadata.name.endsWith(`.${SHADOW_GROUP}`)) continue;
    const run = metadata.labels?.[SHADOW_LABEL] ?? '';
    found.push({ name: metadata.name, run, created: metadata.creationTimestamp ?? '' });
  }
  return found;
}

/** Removes every shadow, or those of one run. Resolves to how many there were; rejects after the last one, where one cannot be removed. */
export async function sweepShadows(
  cluster: Pick<ProbeCluster, 'list' | 'delete'>,
  options: CallOptions & { readonly run?: string } = {},
): Promise<number> {
  const { run, ...call } = options;
  const labels = run === undefined ? SHADOW_LABEL : `${SHADOW_LABEL}=${run}`;
  let swept = 0;
  const failures: unknown[] = [];
  for await (const { metadata } of cluster.list(CRD, { labels }, call)) {
    // The label alone could be anybody's.
    if (!metadata.name.endsWith(`.${SHADOW_GROUP}`)) continue;
    try {
      await cluster.delete(CRD, { name: metadata.name }, metadata.uid === undefined ? {} : { uid: metadata.uid }, call);
      swept += 1;
    } catch (error) {
      if (!isNotFound(error)) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return swept;
}
