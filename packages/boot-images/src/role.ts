import { type Condition, MachineConfiguration, MachineSet } from '@drydock/api';
import {
  type Controller,
  controller,
  type EventRecorder,
  type EventRecorderOptions,
  eventRecorder,
  isNotFound,
  type Key,
  type KubeClient,
  type KubeObject,
  type Leader,
  type ManagedCache,
  on,
  type ReconcileContext,
  type ReconcileOutcome,
  type Source,
  statusWriter,
  type Watched,
} from '@drydock/kube';
import type { TemplateStore } from '@drydock/templates';
import { ownArchitecture } from './architecture.ts';
import { type BootImages, createBootImages } from './boot-image-store.ts';
import { type BootImageCaches, createCaches, worldOf } from './caches.ts';
import { upstreamPresent } from './coexistence.ts';
import { type ConditionLike, defaultConditions, upsertConditions } from './conditions.ts';
import { createOperatorHalf } from './operator.ts';
import { runPass } from './pass.ts';
import { createPassState, type PassPorts } from './pass-state.ts';
import type { Platform } from './platform.ts';
import {
  clusterVersionTrigger,
  goldenTrigger,
  inputTrigger,
  machineConfigurationName,
  machineConfigurationTrigger,
  machineSetTrigger,
  type ObjectChange,
} from './triggers.ts';
import type { StoryReason } from './update.ts';
import type { DowngradePolicy } from './version.ts';
import { vspherePlatform } from './vsphere/platform.ts';

/** What the role needs from the app that runs it. */
export interface BootImagesRoleOptions {
  readonly client: KubeClient;
  /** Templates of all vCenters; the app gives it the credentials. */
  readonly store: TemplateStore;
  /** Identity under which this process acts, recorded in marks, and whether a recorded one still leads. */
  readonly leader: Pick<Leader, 'identity' | 'holderIsLive'>;
  readonly log: EventRecorderOptions['log'];
  /** Default: a recorder of its own, which ends with the caches. */
  readonly events?: Pick<EventRecorder, 'record'>;
  readonly now?: () => Date;
  /** RPM name of the architecture of single-architecture clusters; default this process's own. */
  readonly architecture?: string;
  readonly downgrade?: DowngradePolicy;
  /** Unreferenced templates kept per place as a way back. Default 1. */
  readonly retain?: number;
  /** Feature gates; both default to true, as in the default feature set. */
  readonly cpmsGate?: boolean;
  readonly skewGate?: boolean;
  /** Further platforms. */
  readonly platforms?: readonly Platform[];
  /** See `PassPorts`. */
  readonly concurrency?: number;
  readonly progressMs?: number;
  readonly collectAfterMs?: number;
}

/** What the app runs: give both to kube's `run`. */
export interface BootImagesRole {
  readonly caches: BootImageCaches & Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
}

interface WithEvents extends Omit<BootImagesRoleOptions, 'events'> {
  readonly events: Pick<EventRecorder, 'record'> | undefined;
}

const key: Key = { name: machineConfigurationName };

/** Wires the two halves of boot image management: watches, controllers, writers. Watches start at once, controllers with `run`. */
export function bootImagesRole(options: BootImagesRoleOptions): BootImagesRole {
  const caches = createCaches(options.client, (error) =>
    options.log.warn({ err: error }, 'a watch failed and is tried again'),
  );
  const now = options.now ?? (() => new Date());
  const { client, log } = options;
  const own =
    options.events === undefined ? eventRecorder({ client, controller: 'drydock.dev/boot-images', log }) : undefined;
  const events = options.events ?? own;
  const controllers = [operatorHalf(options, caches, now), controllerHalf({ ...options, events }, caches, now)];
  if (own === undefined) return { caches: { ...caches }, controllers };
  const recorder: ManagedCache = { synced: Promise.resolve(), [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
  return { caches: { events: recorder, ...caches }, controllers };
}

function operatorHalf(options: BootImagesRoleOptions, caches: BootImageCaches, now: () => Date): Controller {
  const reflectOnce = createOperatorHalf({
    client: options.client,
    machineConfiguration: () => caches.machineConfigurations.get(key),
    infrastructure: () => caches.infrastructures.get({ name: 'cluster' }),
    cpmsGate: options.cpmsGate ?? true,
    now,
  });
  return controller<MachineConfiguration>({
    name: 'boot-images-reflect',
    for: caches.machineConfigurations,
    watches: [on(caches.infrastructures, () => key)],
    backOff: { first: 200, longest: 60_000 },
    reconcile: async (which, { signal }) => {
      if (which.name !== machineConfigurationName) return undefined;
      if ((await upstreamPresent(options.client, signal)) !== undefined) return { after: 60_000 };
      await reflectOnce(signal);
      return undefined;
    },
  });
}

function controllerHalf(options: WithEvents, caches: BootImageCaches, now: () => Date): Controller {
  const images = createBootImages({
    client: options.client,
    cached: (which) => caches.bootImages.get(which),
    platform: () => (worldOf(caches).infrastructure()?.status?.platformStatus?.type ?? 'unknown').toLowerCase(),
    now,
  });
  const state = createPassState(now());
  const ports = portsOf(options, caches, images, now);
  // The last event since the previous pass is the reason of both conditions; none means that a timer woke the pass.
  let pending: string | undefined;
  let last = 'Started';
  const note =
    <T extends KubeObject>(trigger: (change: ObjectChange<T>) => string | undefined) =>
    (change: ObjectChange<T>): boolean => {
      const event = trigger(change);
      if (event !== undefined) pending = event;
      return event !== undefined;
    };
  const watch = <T extends KubeObject>(
    cache: Watched<T>,
    trigger: (change: ObjectChange<T>) => string | undefined,
  ): Source => on(cache, () => key, note(trigger));
  const input =
    (prefix: string) =>
    (change: ObjectChange<KubeObject>): string | undefined =>
      inputTrigger(prefix, change);

  return controller<MachineConfiguration>({
    name: 'boot-images',
    for: caches.machineConfigurations,
    when: note((change) => mcTrigger(change, options.skewGate ?? true)),
    watches: [
      watch(caches.machineSets, (change) => {
        if (change.now === undefined && change.old !== undefined) state.hotLoop.forget(change.old.metadata.name);
        return machineSetTrigger(change);
      }),
      watch(caches.golden, goldenTrigger),
      watch(caches.clusterVersions, (change) =>
        change.old === undefined ? 'ClusterVersionAdded' : clusterVersionTrigger(change),
      ),
      watch(caches.infrastructures, input('Infrastructure')),
      watch(caches.installConfig, input('InstallConfig')),
      watch(caches.userData, input('UserDataSecret')),
      watch(caches.credentials, input('VSphereCredentialsSecret')),
      // Not triggers: they only have to be known before anything is collected.
      { synced: caches.machines.synced, start: nothing },
      { synced: caches.controlPlaneMachineSets.synced, start: nothing },
      { synced: caches.bootImages.synced, start: nothing },
    ],
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (which, context: ReconcileContext): Promise<ReconcileOutcome> => {
      if (which.name !== machineConfigurationName) return undefined;
      const timer = pending === undefined;
      last = pending ?? last;
      pending = undefined;
      try {
        const refusal = await upstreamPresent(options.client, context.signal);
        if (refusal !== undefined) return await refuse(ports, refusal);
        return await runPass(ports, state, { reason: last, timer, signal: context.signal });
      } catch (error) {
        // The event was not dealt with: the repeated attempt must count as caused by it.
        pending ??= last;
        throw error;
      }
    },
  });
}

/** A generation that status has just caught up with opens the first gate, so it wakes the pass besides upstream's events. */
function mcTrigger(change: ObjectChange<MachineConfiguration>, skewGate: boolean): string | undefined {
  const event = machineConfigurationTrigger(change, { skewGate });
  if (event !== undefined) return event;
  const ready = (mc: MachineConfiguration | undefined): boolean =>
    mc?.metadata.generation === mc?.status?.observedGeneration;
  return change.old !== undefined && !ready(change.old) && ready(change.now)
    ? 'BootImageUpdateConfigurationReady'
    : undefined;
}

async function refuse(ports: PassPorts, refusal: string): Promise<ReconcileOutcome> {
  for (const set of ports.world.machineSets()) {
    await ports.report(set, {
      kind: 'waiting',
      phase: 'Blocked',
      reason: 'UpstreamControllerPresent',
      brief: 'blocked: machine-config-controller is present',
      message: `${refusal}; nothing is done here beside it`,
      nextStep: 'let the upstream controller manage boot images, or remove it first',
    });
  }
  return { after: 60_000 };
}

function portsOf(options: WithEvents, caches: BootImageCaches, images: BootImages, now: () => Date): PassPorts {
  const { client, log } = options;
  const writer = statusWriter({ client, resource: MachineConfiguration });
  const vsphere = vspherePlatform({
    store: options.store,
    holder: options.leader.identity,
    holderIsLive: (holder) => options.leader.holderIsLive(holder),
    ...(options.downgrade === undefined ? {} : { downgrade: options.downgrade }),
    ...(options.retain === undefined ? {} : { retain: options.retain }),
    warn: (message) => log.warn({}, message),
  });
  const writeConditions = async (wanted: readonly ConditionLike[]): Promise<void> => {
    try {
      await writer.write(
        key,
        (live) => {
          const start = live.status?.conditions ?? defaultConditions(now());
          const conditions = upsertConditions(start, wanted, now());
          return conditions === live.status?.conditions
            ? undefined
            : { ...live.status, conditions: conditions as readonly Condition[] };
        },
        { current: caches.machineConfigurations.get(key) },
      );
    } catch (error) {
      // It was deleted meanwhile: there is nothing left to write to.
      if (!isNotFound(error)) throw error;
    }
  };
  return {
    world: worldOf(caches),
    client,
    platforms: new Map([vsphere, ...(options.platforms ?? [])].map((platform) => [platform.type, platform])),
    writeConditions,
    report: images.report,
    event: (set, reason, text) => {
      log.info({ set: set.metadata.name, reason }, text);
      options.events?.record(MachineSet, set, {
        type: reason === 'Failed' ? 'Warning' : 'Normal',
        reason,
        action: actionOf(reason),
        note: text,
      });
    },
    warn: (message, error) => log.warn({ err: error }, message),
    now,
    architecture: options.architecture ?? ownArchitecture(),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    ...(options.progressMs === undefined ? {} : { progressMs: options.progressMs }),
    ...(options.collectAfterMs === undefined ? {} : { collectAfterMs: options.collectAfterMs }),
  };
}

function actionOf(reason: StoryReason): string {
  switch (reason) {
    case 'Switched':
      return 'SwitchMachineSet';
    case 'GarbageCollected':
    case 'Retained':
      return 'CollectImages';
    default:
      return 'UpdateBootImage';
  }
}

function nothing(): Disposable {
  return { [Symbol.dispose]: () => undefined };
}
