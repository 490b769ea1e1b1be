import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '@drydock/kube';
import { MARK_KEY_SECRET } from '../mark-keys.ts';
import type { VCenterFlags } from '../vcenter-flags.ts';
import { plannedRevert } from './planned-revert.ts';
import type { RevertPlan, RevertRefusal, RevertWish } from './revert-plan.ts';
import type { RotatedImage } from './rotated-image.ts';
import { rotationsOf } from './rotations.ts';

/** What is read for it. */
export interface RotationRevertSources {
  readonly client: KubeClient;
  readonly flags: VCenterFlags & { readonly leaseNamespace: string; readonly vsphereProviderNamespace: string };
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/** See {@link plannedRevert}. Nothing is written. */
export function rotationRevert(
  found: RotatedImage,
  wish: RevertWish,
  { client, flags, warn, signal }: RotationRevertSources,
): Promise<RevertPlan | RevertRefusal> {
  const { leaseNamespace, vsphereProviderNamespace } = flags;
  return plannedRevert(found, wish, async (pin) => {
    await using rotations = await rotationsOf({
      ...{ client, flags, warn, signal, retain: 0 },
      images: {
        ...{ leaseNamespace, vsphereProviderNamespace, markKeySecret: MARK_KEY_SECRET, locate: (location) => location },
        cacheDir: join(homedir(), '.cache', 'drydock', 'images'),
      },
    });
    const [planned] = (await rotations?.plan([found.id], { pin })) ?? [];
    return planned;
  });
}
