import { type MachineConfiguration, MachineSet } from '@drydock/api';
import {
  type Controller,
  controller,
  type EventRecorder,
  type EventRecorderOptions,
  eventRecorder,
  type Key,
  type KubeClient,
  type Leader,
  type ManagedCache,
  on,
} from '@drydock/kube';
import { ownArchitecture } from './architecture.ts';
import { type BootImageCaches, createCaches, worldOf } from './caches.ts';
import { createCauses } from './causes.ts';
import { upstreamRefusal } from './coexistence.ts';
import { type Definitions, watchDefinitions } from './definitions.ts';
import { changedImage } from './foreign-writes.ts';
import { type BootImageMetrics, bootImageMetrics } from './metrics.ts';
import { createOperatorHalf } from './operator.ts';
import { runPass } from './pass.ts';
import { createPassState, type PassSettings } from './pass-state.ts';
import type { Platform } from './platform.ts';
import { createPassPorts } from './ports.ts';
import { type TemplateSignal, templateSource } from './template-signal.ts';
import { machineConfigurationName, type ObjectChange } from './triggers.ts';
import type { DowngradePolicy } from './version.ts';
import { type ImageStore, type TemplatePublication, vspherePlatform } from './vsphere/platform.ts';
import { wakes } from './wakes.ts';

/** What the role needs from the app that runs it. */
export interface BootImagesRoleOptions extends PassSettings {
  readonly client: KubeClient;
  /** Templates of all vCenters; the app gives it the credentials. */
  readonly store: ImageStore;
  /** Identity under which this process acts, recorded in marks, and whether a recorded one still leads. */
  readonly leader: Pick<Leader, 'identity' | 'holderIsLive'>;
  readonly log: EventRecorderOptions['log'];
  /** Default: counted for nobody. */
  readonly metrics?: BootImageMetrics;
  readonly now?: () => Date;
  /** RPM name of the architecture of single-architecture clusters; default this process's own. */
  readonly architecture?: string;
  readonly downgrade?: DowngradePolicy;
  /** Default 'pointer'. */
  readonly publication?: TemplatePublication;
  /** Unreferenced templates kept per place as a way back. Default 2. */
  readonly retain?: number;
  /** Feature gates; both default to true, as in the default feature set. */
  readonly cpmsGate?: boolean;
  readonly skewGate?: boolean;
  /** Further platforms. */
  readonly platforms?: readonly Platform[];
  /** Tells when somebody else touched a template; without it that shows at the next pass. */
  readonly templates?: TemplateSignal;
}

/** What the app runs: give both to kube's `run`. */
export interface BootImagesRole {
  readonly caches: BootImageCaches & Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
}

interface Parts {
  readonly caches: BootImageCaches;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: BootImageMetrics;
  readonly now: () => Date;
  readonly projections: Definitions['projections'];
}

const key: Key = { name: machineConfigurationName };

/** Wires the two halves of boot image management: watches, controllers, writers. Watches start at once, controllers with `run`. */
export function bootImagesRole(options: BootImagesRoleOptions): BootImagesRole {
  const { client, log, now = () => new Date(), metrics = bootImageMetrics() } = options;
  const caches = createCaches(client, log);
  const recorder = eventRecorder({ client, controller: 'drydock.dev/boot-images', log });
  const { projections, watches } = watchDefinitions(client, log);
  const parts: Parts = { caches, events: recorder, metrics, now, projections };
  metrics.images(() => caches.bootImages.all());
  const events: ManagedCache = {
    synced: Promise.resolve(),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
  return {
    caches: { events, definitions: watches, ...caches },
    controllers: [operatorHalf(options, parts), controllerHalf(options, parts)],
  };
}

function operatorHalf(options: BootImagesRoleOptions, { caches, now, projections }: Parts): Controller {
  const reflectOnce = createOperatorHalf({
    client: options.client,
    world: worldOf(caches),
    cpmsGate: options.cpmsGate ?? true,
    now,
    projector: projections.machineConfigurations,
  });
  return controller<MachineConfiguration>({
    name: 'boot-images-reflect',
    for: caches.machineConfigurations,
    watches: [on(caches.infrastructures, () => key), on(caches.upstream, () => key)],
    backOff: { first: 200, longest: 60_000 },
    reconcile: async (which, { signal }) => {
      if (which.name === machineConfigurationName) await reflectOnce(signal);
      return undefined;
    },
  });
}

function controllerHalf(options: BootImagesRoleOptions, parts: Parts): Controller {
  const { caches, metrics } = parts;
  const { log } = options;
  const vsphere = vspherePlatform({
    store: options.store,
    holder: options.leader.identity,
    holderIsLive: (holder) => options.leader.holderIsLive(holder),
    ...(options.downgrade === undefined ? {} : { downgrade: options.downgrade }),
    ...(options.publication === undefined ? {} : { publication: options.publication }),
    ...(options.retain === undefined ? {} : { retain: options.retain }),
    warn: (message) => log.warn({}, message),
    metrics,
  });
  const platforms = new Map([vsphere, ...(options.platforms ?? [])].map((platform) => [platform.type, platform]));
  const state = createPassState(parts.now());
  const { client, architecture = ownArchitecture(), concurrency, progressMs, collectAfterMs } = options;
  const settings = { concurrency, progressMs, collectAfterMs };
  const ports = createPassPorts({ client, ...parts, platforms, log, architecture, settings });
  const causes = createCauses();

  function onMachineSet(change: ObjectChange<MachineSet>): void {
    const { name } = (change.now ?? change.old)?.metadata ?? { name: '' };
    if (change.now === undefined) {
      state.hotLoop.forget(name);
      state.foreign.delete(name);
    }
    const platform = platforms.get(ports.world.infrastructure()?.status?.platformStatus?.type ?? '');
    const image = platform === undefined ? undefined : changedImage(change, platform.imageLeaf);
    // Who it was is asked by the pass that this change wakes.
    if (image !== undefined && image !== state.pointed.get(name)) state.foreign.set(name, undefined);
  }

  const woken = wakes(caches, causes, { key, skewGate: options.skewGate ?? true, onMachineSet });
  const templates = (options.templates === undefined ? [] : [options.templates]).map((signal) =>
    templateSource(signal, {
      key,
      causes,
      machineSets: () => caches.machineSets.all(),
      onSet: (set, note) => {
        log.info({ set: set.metadata.name }, note);
        const event = { type: 'Warning', reason: 'TemplateChanged', action: 'WatchTemplate', note } as const;
        if (upstreamRefusal(ports.world.upstream()) === undefined) parts.events.record(MachineSet, set, event);
      },
    }),
  );

  return controller<MachineConfiguration>({
    name: 'boot-images',
    for: caches.machineConfigurations,
    when: woken.when,
    watches: [...woken.watches, ...templates],
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (which, { signal }) => {
      if (which.name !== machineConfigurationName) return undefined;
      const cause = causes.take();
      try {
        return await runPass(ports, state, cause, { signal });
      } catch (error) {
        causes.putBack(cause);
        throw error;
      }
    },
  });
}
