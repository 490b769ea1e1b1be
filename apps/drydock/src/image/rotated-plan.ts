import type { ClusterPlan } from '@drydock/boot-images';
import type { ClusterImages } from '../cluster-images.ts';
import { UsageError } from '../exit.ts';
import type { RotationsOptions } from './rotations.ts';

/** What {@link withClusterApi} needs. */
export interface RotatedPlanOptions
  extends Pick<RotationsOptions, 'client' | 'flags' | 'images' | 'retain' | 'warn' | 'signal'> {
  readonly cluster: Pick<ClusterImages, 'world'>;
  readonly namespace: string | undefined;
}

/** The plan with sets of Cluster API, where they are served; none named: all, and what nothing needs. What cannot be read of them is a note then. */
export async function withClusterApi(
  plan: ClusterPlan,
  names: readonly string[],
  { cluster, namespace, ...more }: RotatedPlanOptions,
): Promise<ClusterPlan> {
  const { withRotations } = await import('@drydock/boot-images');
  const { rotationsOf } = await import('./rotations.ts');
  try {
    await using rotations = await rotationsOf({ ...more, world: cluster.world });
    if (rotations !== undefined) {
      const planned = withRotations(plan, await rotations.plan(names, { namespace }), rotations.cluster);
      if (names.length > 0) return planned;
      const { steps, notes } = await rotations.collections(planned.steps);
      const told = [...(planned.notes ?? []), ...notes];
      return {
        ...{ ...planned, steps: [...planned.steps, ...steps] },
        ...(told.length === 0 ? {} : { notes: told }),
      };
    }
    if (names.length === 0) return plan;
  } catch (error) {
    more.signal.throwIfAborted();
    if (names.length > 0 || !(error instanceof Error)) throw error;
    return { ...plan, notes: [...(plan.notes ?? []), `sets of Cluster API: ${error.message}`] };
  }
  throw new UsageError(`there is no set ${names[0]}: this cluster does not serve Cluster API`);
}
