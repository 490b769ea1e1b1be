import { type Condition, MachineConfiguration } from '@drydock/api';
import {
  type CallOptions,
  type Client,
  type EventRecorder,
  type EventRecorderOptions,
  fencedClient,
  isInvalid,
  isNotFound,
  type KubeClient,
  statusWriter,
} from '@drydock/kube';
import { type BootImageCaches, worldOf } from '../caches.ts';
import { type CanaryRights, canaryRights } from '../canary/rights.ts';
import { upstreamRefusal } from '../decide/coexistence.ts';
import type { BootImageMetrics } from '../metrics.ts';
import { type Gates, gatesNow } from '../observe/feature-gates.ts';
import { idOf, kindOf, setNow } from '../observe/kept-set.ts';
import { platformOf, type World } from '../observe/world.ts';
import type { LazyPlatforms, Platforms } from '../platforms.ts';
import { type PassResult, recorded } from '../skew/record.ts';
import { type BootImages, createBootImages } from '../status/boot-image-store.ts';
import { type ConditionLike, defaultConditions, upsertConditions } from '../status/conditions.ts';
import { hooksOf, type Projections } from '../status/definitions.ts';
import { imageWriter } from '../wakes/foreign-writes.ts';
import { machineConfigurationName } from '../wakes/triggers.ts';
import type { PassPorts, PassSettings } from './pass-state.ts';
import { setFacts } from './set-facts.ts';
import type { StoryReason } from './update.ts';

/** What {@link createPassPorts} is made of. */
export interface PassPortsOptions {
  readonly client: Client & Pick<KubeClient, 'raw'>;
  /** Throws where this process may not write any more; asked right before each write. */
  readonly fence: () => void;
  readonly caches: BootImageCaches;
  readonly platforms: Platforms;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: BootImageMetrics;
  readonly log: EventRecorderOptions['log'];
  readonly now: () => Date;
  readonly architecture: string;
  /** As they were read last. */
  readonly gates: () => Gates;
  readonly settings: PassSettings;
  /** See `World.canaryMissing`. */
  readonly canaryMissing: () => string | undefined;
  /** Without them, statuses are written as they are meant. */
  readonly projections?: Projections;
}

const key = { name: machineConfigurationName } as const;

/** The real ports of a pass: caches to read from, the API server to write to. */
export function createPassPorts(options: PassPortsOptions): PassPorts & Pick<BootImages, 'repeat'> {
  const { caches, platforms, events, metrics, log, now, architecture, settings, projections, gates } = options;
  // All that a pass writes, its statuses included: an answer that comes late finds another holder.
  const client = fencedClient(options.client, options.fence);
  const raw = worldOf(caches);
  const world: World = {
    ...raw,
    controlPlanesGated: () => !gates().cpms,
    canaryMissing: options.canaryMissing,
    // What an older definition cannot hold is still meant: a set does not leave the selection because its kind left an enum.
    machineConfiguration: () => {
      const found = raw.machineConfiguration();
      return found === undefined ? undefined : (projections?.machineConfigurations.remembered(found) ?? found);
    },
  };
  const writer = statusWriter<MachineConfiguration>({
    client,
    resource: MachineConfiguration,
    ...hooksOf(projections?.machineConfigurations),
  });
  const images = createBootImages({
    ...{ client, reader: client },
    ...(projections === undefined ? {} : { projector: projections.bootImages }),
    cached: (which) => caches.bootImages.get(which),
    exists: (set) => {
      const now = setNow(world, set)?.metadata;
      return now !== undefined && now.uid === set.metadata.uid && now.deletionTimestamp === undefined;
    },
    platform: () => (world.infrastructure()?.status?.platformStatus?.type ?? 'unknown').toLowerCase(),
    now,
    facts: (set) => setFacts(set, { world: { ...world, bootImage: images.latest }, platforms, architecture, now }),
  });
  const counted = async (write: Promise<unknown>): Promise<void> => {
    try {
      await write;
    } catch (error) {
      if (isInvalid(error)) metrics.statusRejected();
      throw error;
    }
  };
  const statusOf = (
    { status }: MachineConfiguration,
    wanted: readonly ConditionLike[],
    ended: PassResult | undefined,
  ): MachineConfiguration['status'] => {
    const conditions = upsertConditions(status?.conditions ?? defaultConditions(now()), wanted, now());
    const before = status?.bootImageSkewEnforcementStatus;
    // It may have come while a write was refused for a conflict.
    if (upstreamRefusal(world.upstream()) !== undefined) return undefined;
    const record = ended === undefined ? before : recorded(before, ended);
    if (conditions === status?.conditions && record === before) return undefined;
    return {
      ...status,
      conditions: conditions as readonly Condition[],
      ...(record === undefined ? {} : { bootImageSkewEnforcementStatus: record }),
    };
  };
  return {
    // What was written here last is newer than what the watch has brought.
    world: { ...world, bootImage: images.latest },
    client,
    platforms,
    writeConditions: async (wanted, ended) => {
      const current = caches.machineConfigurations.get(key);
      try {
        await counted(writer.write(key, (live) => statusOf(live, wanted, ended), { current }));
        if (ended?.errors === 0) metrics.passed(now());
      } catch (error) {
        // It was deleted meanwhile: there is nothing left to write to.
        if (!isNotFound(error)) throw error;
      }
    },
    report: (set, outcome) => counted(images.report(set, outcome)),
    repeat: images.repeat,
    event: (set, reason, text) => {
      log.info({ set: idOf(set), reason }, text);
      events.record(kindOf(set).resource, set, {
        type: reason === 'Failed' ? 'Warning' : 'Normal',
        reason,
        action: actionOf(reason),
        note: text,
      });
    },
    warn: (message, error) => log.warn(error === undefined ? {} : { err: error }, message),
    foreignWriter: async (set, platform, call) => {
      const asked = imageWriter(client, set, platform.imageLeaf, call).catch((error: unknown) => {
        call.signal?.throwIfAborted();
        log.warn({ set: idOf(set), err: error }, 'who changed this machine set could not be read');
        return undefined;
      });
      const found = await asked;
      const manager = found ?? 'unknown';
      metrics.foreignWrite(manager);
      log.warn({ set: idOf(set), manager }, 'somebody else changed the image of this machine set');
      return found;
    },
    step: metrics.step,
    refused: (set) => metrics.hotLoop(idOf(set)),
    now,
    architecture,
    ...settings,
  };
}

/** What {@link preparedPorts} is made of. */
export type PreparedPortsOptions = Omit<PassPortsOptions, 'gates' | 'canaryMissing'> & {
  readonly platforms: LazyPlatforms;
  readonly projections: Projections;
  /** Feature gates that are not read. */
  readonly fixed?: Partial<Gates> | undefined;
};

/** The real ports, and what is done before each pass: what no watch tells is asked. */
export function preparedPorts(options: PreparedPortsOptions): {
  readonly ports: ReturnType<typeof createPassPorts>;
  readonly rights: CanaryRights;
  readonly prepare: (call: CallOptions) => Promise<void>;
} {
  const { client, caches, platforms, projections, fixed } = options;
  const rights = canaryRights(client, options.now);
  let gates: Gates = { cpms: true, skew: true, ...fixed };
  const ports = createPassPorts({ ...options, gates: () => gates, canaryMissing: rights.missing });
  const prepare = async (call: CallOptions): Promise<void> => {
    await platforms.load(platformOf(ports.world));
    const release = ports.world.clusterVersion()?.status?.desired?.version;
    // Nobody else has to know it where there is no control plane that could be managed.
    if ([...caches.controlPlaneMachineSets.all()].length > 0)
      gates = { ...(await gatesNow(client, release, call)), ...fixed };
    await rights.ask(caches.policies.all(), call);
    // Reads the ledger once, so that the pass decides by everything that is meant.
    const mc = caches.machineConfigurations.get(key);
    if (mc !== undefined) await projections.machineConfigurations.recall(mc);
  };
  return { ports, rights, prepare };
}

function actionOf(reason: StoryReason): string {
  switch (reason) {
    case 'Switched':
      return 'SwitchMachineSet';
    case 'GarbageCollected':
    case 'Retained':
      return 'CollectImages';
    case 'PinLapsesSoon':
    case 'PinLapsed':
      return 'KeepPin';
    default:
      return 'UpdateBootImage';
  }
}
