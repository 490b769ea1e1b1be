import { BootImagePolicy } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import {
  type CallOptions,
  type Client,
  type Controller,
  controller,
  isNotFound,
  type Key,
  keyOf,
  on,
  statusWriter,
} from '@drydock/kube';
import type { BootImageCaches } from '../caches.ts';
import { keptSets } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { Platforms } from '../platforms.ts';
import { type Definitions, hooksOf } from '../status/definitions.ts';
import type { PolicyFault } from './policy-for.ts';
import { policyStatus } from './policy-status.ts';
import { subjectOf } from './set-policy.ts';

/** What {@link policyStatuses} needs. */
export interface PolicyStatusesOptions {
  readonly client: Client;
  readonly caches: BootImageCaches;
  readonly world: World;
  readonly platforms: Platforms;
  readonly projector: Projector;
  readonly changes: Definitions['changes'];
  readonly now: () => Date;
  /** Why a policy cannot be followed, besides what it says itself. */
  readonly refused: (policy: BootImagePolicy, call: CallOptions) => Promise<PolicyFault | undefined>;
  /** Makes what is known of the cluster's platform ready. */
  readonly load: () => Promise<void>;
}

const AGAIN_MS = 30_000;

/** Tells of each policy whether it can be followed, and how many sets it selects. */
export function policyStatuses(options: PolicyStatusesOptions): Controller {
  const { client, caches, world, platforms, projector } = options;
  const writer = statusWriter<BootImagePolicy>({ client, resource: BootImagePolicy, ...hooksOf(projector) });
  const all = (): readonly Key[] => Array.from(caches.policies.all(), keyOf);
  return controller<BootImagePolicy>({
    name: 'boot-image-policies',
    for: caches.policies,
    watches: [
      on(caches.machineSets, all),
      on(caches.controlPlaneMachineSets, all),
      on(caches.infrastructures, all),
      options.changes(all),
    ],
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (key, { signal }) => {
      const current = caches.policies.get(key);
      if (current === undefined) return undefined;
      await options.load();
      const subjects = keptSets(world).map((set) => subjectOf(set, { world, platforms }));
      const refused = await options.refused(current, { signal });
      try {
        await writer.write(key, (live) => policyStatus(live, subjects, options.now(), refused), { current });
      } catch (error) {
        // It was deleted meanwhile.
        if (!isNotFound(error)) throw error;
      }
      // A right that is granted tells nobody.
      const again = refused === undefined ? undefined : AGAIN_MS;
      const retry = projector.retryIn() ?? again;
      return retry === undefined ? undefined : { after: Math.max(100, retry) };
    },
  });
}
