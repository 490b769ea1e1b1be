import type { Secret } from '@drydock/api';
import {
  type EventRecorderOptions,
  eventRecorder,
  type KubeClient,
  type Leader,
  type ManagedCache,
} from '@drydock/kube';
import type { ClusterRecords } from '@drydock/templates';
import { createCaches } from './caches.ts';
import { ownArchitecture } from './decide/architecture.ts';
import { bootImageMetrics } from './metrics.ts';
import { preparedPorts } from './pass/ports.ts';
import { type CarriedOut, type CarryOutHooks, carryOut } from './plan/carry-out.ts';
import type { ClusterPlan } from './plan/cluster-plan.ts';
import { type BootImagesRoleOptions, recordsOf, servedPlatforms } from './role.ts';
import { watchDefinitions } from './status/definitions.ts';
import { credentialsKey } from './vsphere/platform.ts';
import { allSynced } from './waiting.ts';

/** What a process needs that carries out a plan: what the role of boot images does, but for what that says of the whole cluster. */
export interface PlanRunOptions
  extends Pick<
    BootImagesRoleOptions,
    | 'store'
    | 'downgrade'
    | 'publication'
    | 'retain'
    | 'locate'
    | 'stubSecret'
    | 'clouds'
    | 'collectAfterMs'
    | 'canaryPollMs'
  > {
  readonly client: KubeClient;
  readonly leader: Pick<Leader, 'identity' | 'holderIsLive' | 'assertHeld'>;
  readonly log: EventRecorderOptions['log'];
}

/** Watches and platforms of one process. They are asked from the moment that it is made; disposal ends them. */
export interface PlanRun extends AsyncDisposable {
  /** What the cluster knows of templates: a witness for their marks. */
  readonly records: ClusterRecords;
  /** The Secret with the credentials of the vCenters, as it is now. */
  readonly credentials: () => Secret | undefined;
  /** See {@link carryOut}; begins when everything that is watched is known. */
  readonly carryOut: (
    plan: ClusterPlan,
    options: { readonly hooks?: CarryOutHooks; readonly signal: AbortSignal },
  ) => Promise<CarriedOut>;
}

/** Wires the passes of the role of boot images, to be run by a plan and not by what happens. */
export function planRun(options: PlanRunOptions): PlanRun {
  const { client, log, stubSecret, collectAfterMs, canaryPollMs } = options;
  const now = (): Date => new Date();
  const metrics = bootImageMetrics();
  const resources = new AsyncDisposableStack();
  const caches = createCaches(client, log);
  const watched: Readonly<Record<string, ManagedCache>> = { ...caches };
  for (const cache of Object.values(watched)) resources.use(cache);
  const events = resources.use(eventRecorder({ client, controller: 'drydock.dev/boot-images', log }));
  const definitions = watchDefinitions(client, log);
  resources.use(definitions.watches);
  const platforms = resources.use(servedPlatforms(options, metrics));
  const { ports, prepare } = preparedPorts({
    ...{ client, caches, platforms, events, metrics, log, now, architecture: ownArchitecture() },
    projections: definitions.projections,
    fence: () => options.leader.assertHeld(),
    settings: { stubSecret, collectAfterMs, canaryPollMs },
  });
  return {
    records: recordsOf(caches),
    credentials: () => caches.credentials.get(credentialsKey),
    carryOut: async (plan, { hooks, signal }) => {
      await allSynced([...Object.values(watched), definitions.watches], signal);
      const before = (): Promise<void> => prepare({ signal });
      return carryOut(plan, { ports, before, signal, ...(hooks === undefined ? {} : { hooks }) });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
