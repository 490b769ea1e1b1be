import type { BootImage, MachineConfiguration } from '@drydock/api';
import type { Projector } from '@drydock/crd';
import {
  type Cache,
  type Controller,
  controller,
  type EventRecorder,
  type EventRecorderOptions,
  eventRecorder,
  fencedClient,
  type Key,
  type KubeClient,
  type KubeObject,
  keyOf,
  keyText,
  type Leader,
  type ManagedCache,
  on,
  type ReconcileOutcome,
} from '@drydock/kube';
import type { ClusterRecords } from '@drydock/templates';
import { type BootImageCaches, createCaches, worldOf } from './caches.ts';
import type { CloudHttpsOptions } from './cloud/https.ts';
import type { OpenShift } from './cluster-api/openshift.ts';
import { ownArchitecture } from './decide/architecture.ts';
import { upstreamRefusal } from './decide/coexistence.ts';
import { type BootImageMetrics, bootImageMetrics } from './metrics.ts';
import type { Gates } from './observe/feature-gates.ts';
import { idOf, keptSets, kindOf } from './observe/kept-set.ts';
import { clusterRecords } from './observe/records.ts';
import type { DowngradePolicy } from './observe/version.ts';
import { platformOf } from './observe/world.ts';
import { createOperatorHalf } from './operator.ts';
import { runPass } from './pass/pass.ts';
import { createPassState, type PassSettings } from './pass/pass-state.ts';
import { preparedPorts } from './pass/ports.ts';
import { noteSetChange } from './pass/set-change.ts';
import { cloudPlatforms, type LazyPlatforms, lazyPlatforms } from './platforms.ts';
import type { PolicyWorld } from './policy/policy-statuses.ts';
import { subjectOf } from './policy/set-policy.ts';
import { upgradeBlock } from './skew/guard.ts';
import { unenforced } from './skew/mode.ts';
import { skewReleases } from './skew/releases.ts';
import type { Stamp } from './skew/stamp.ts';
import { attemptsIn, imageOf as bootImageFor } from './status/boot-image-store.ts';
import { type Definitions, type KeepStatuses, watchDefinitions } from './status/definitions.ts';
import { machineApiNamespace } from './user-data/machine-api.ts';
import { createVerdict } from './verdict/cluster-operator.ts';
import { type ImageStore, importerIsLive, type TemplatePublication } from './vsphere/options.ts';
import { vspherePlatform } from './vsphere/platform.ts';
import { createCauses } from './wakes/causes.ts';
import { type TemplateSignal, templateSource } from './wakes/template-signal.ts';
import { machineConfigurationName } from './wakes/triggers.ts';
import { wakes } from './wakes/wakes.ts';

/** What the role needs from the app that runs it. */
export interface BootImagesRoleOptions extends PassSettings {
  readonly client: KubeClient;
  /** Templates of all vCenters; the app gives it the credentials. */
  readonly store: ImageStore;
  /** Identity under which this process acts, recorded in marks, and whether a recorded one still leads. */
  readonly leader: Pick<Leader, 'identity' | 'holderIsLive' | 'assertHeld'>;
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
  /** See `VSphereOptions.locate`. */
  readonly locate?: (location: string) => string;
  /** Feature gates that are not read from FeatureGate `cluster`. */
  readonly gates?: Partial<Gates>;
  /** The ClusterOperator in which the release manager is told whether a minor upgrade may go on; without it nobody is told. `version` is this program's. */
  readonly clusterOperator?: { readonly name: string; readonly version: string };
  /** Release and hash that are stamped into the golden ConfigMap; default: nothing is. */
  readonly stamp?: Stamp;
  /** How the conversations with clouds are held. */
  readonly clouds?: CloudHttpsOptions;
  /** Keeps what the live schemas cannot hold, and tells what cannot be written. Default: logged alone. */
  readonly statuses?: KeepStatuses;
  /** Tells when somebody else touched a template; without it that shows at the next pass. */
  readonly templates?: TemplateSignal;
}

/** What the app runs: give both to kube's `run`. */
export interface BootImagesRole {
  readonly caches: BootImageCaches & Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
  /** What the cluster knows of templates: a witness for their marks. */
  readonly records: ClusterRecords;
  /** Its sets, for the statuses of policies. */
  readonly policies: PolicyWorld;
  /** What sets of Cluster API in the same cluster ask for. */
  readonly openshift: OpenShift;
}

interface Parts {
  readonly caches: BootImageCaches;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: BootImageMetrics;
  readonly now: () => Date;
  readonly definitions: Definitions;
  readonly platforms: LazyPlatforms;
}

const key: Key = { name: machineConfigurationName };

/** Nothing that is watched tells of feature gates, of the pool of the control plane, or of our ClusterOperator. */
const LOOK_AGAIN_MS = 600_000;

/** Wires the two halves of boot image management: watches, controllers, writers. Watches start at once, controllers with `run`. */
export function bootImagesRole(options: BootImagesRoleOptions): BootImagesRole {
  const { client, log, now = () => new Date(), metrics = bootImageMetrics() } = options;
  const caches = createCaches(client, log);
  const recorder = eventRecorder({ client, controller: 'drydock.dev/boot-images', log });
  const definitions = watchDefinitions(client, log, options.statuses);
  const platforms = servedPlatforms(options, metrics);
  const parts: Parts = { caches, events: recorder, metrics, now, definitions, platforms };
  forgetDeleted(parts);
  metrics.images(() => caches.bootImages.all());
  const { machineConfiguration, infrastructure, clusterVersion } = worldOf(caches);
  metrics.unenforced(() => unenforced(machineConfiguration(), infrastructure()));
  metrics.skew(() => {
    const [mc, version] = [machineConfiguration(), clusterVersion()];
    return { releases: skewReleases(mc, version), held: upgradeBlock(mc, version) !== undefined };
  });
  const events: ManagedCache = {
    synced: Promise.resolve(),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
  const conversations: ManagedCache = {
    synced: Promise.resolve(),
    [Symbol.asyncDispose]: () => platforms[Symbol.asyncDispose](),
  };
  const half = controllerHalf(options, parts);
  return {
    caches: { events, conversations, definitions: definitions.watches, ...caches },
    controllers: [operatorHalf(options, parts), ...half.controllers],
    records: recordsOf(caches),
    policies: half.policies,
    openshift: openshiftOf(caches),
  };
}

function openshiftOf(caches: BootImageCaches): OpenShift {
  const { machineSets, golden, clusterVersions, infrastructures, upstream, machineConfigurations } = caches;
  const others = [golden, clusterVersions, infrastructures, upstream, machineConfigurations] as unknown;
  return { world: worldOf(caches), watched: { machineSets, others: others as readonly Cache<KubeObject>[] } };
}

/** What a cluster may be on; of each, nothing is loaded before a cluster is. */
export function servedPlatforms(
  options: Pick<
    BootImagesRoleOptions,
    'store' | 'log' | 'downgrade' | 'publication' | 'retain' | 'locate' | 'clouds'
  > & { readonly leader: Pick<Leader, 'identity' | 'holderIsLive'> },
  metrics: BootImageMetrics,
): LazyPlatforms {
  const { store, leader, log, downgrade, publication, retain, locate } = options;
  return lazyPlatforms({
    VSphere: () =>
      vspherePlatform({
        ...{ store, holder: leader.identity, holderIsLive: importerIsLive(leader) },
        ...(downgrade === undefined ? {} : { downgrade }),
        ...(publication === undefined ? {} : { publication }),
        ...(retain === undefined ? {} : { retain }),
        ...(locate === undefined ? {} : { locate }),
        warn: (message) => log.warn({}, message),
        metrics,
      }),
    ...cloudPlatforms({ ...options.clouds, onCall: metrics.cloudCall }),
  });
}

/** What these caches know of templates. */
export function recordsOf(caches: BootImageCaches): ClusterRecords {
  return clusterRecords(
    () => caches.bootImages.all(),
    () => {
      const { machineSets, machines, controlPlaneMachineSets, infrastructure } = worldOf(caches);
      return {
        ...{ machineSets: machineSets(), machines: machines() },
        ...{ controlPlaneMachineSets: controlPlaneMachineSets(), infrastructure: infrastructure() },
      };
    },
  );
}

function operatorHalf(options: BootImagesRoleOptions, { caches, now, definitions }: Parts): Controller {
  const projector = definitions.projections.machineConfigurations;
  const { gates, stamp, log, leader } = options;
  const client = fencedClient(options.client, () => leader.assertHeld());
  const warn = (message: string): void => log.warn({}, message);
  const reflectOnce = createOperatorHalf({
    ...{ client, world: worldOf(caches), now, projector },
    verdict: createVerdict({ client, own: options.clusterOperator, now, warn }),
    ...(gates === undefined ? {} : { gates }),
    ...(stamp === undefined
      ? {}
      : { stamp: { own: stamp, warn: (message, error) => log.warn({ err: error }, message) } }),
  });
  return controller<MachineConfiguration>({
    name: 'boot-images-reflect',
    for: caches.machineConfigurations,
    watches: [
      ...[on(caches.infrastructures, () => key), on(caches.upstream, () => key), definitions.changes(() => [key])],
      ...[on(caches.clusterVersions, () => key), on(caches.golden, () => key)],
    ],
    backOff: { first: 200, longest: 60_000 },
    reconcile: async (which, { signal }) => {
      if (which.name !== machineConfigurationName) return undefined;
      await reflectOnce(signal);
      return sooner({ after: LOOK_AGAIN_MS }, againIn(projector));
    },
  });
}

function controllerHalf(
  options: BootImagesRoleOptions,
  parts: Parts,
): { readonly controllers: readonly Controller[]; readonly policies: PolicyWorld } {
  const { caches, platforms } = parts;
  const { log } = options;
  const state = createPassState(parts.now(), (set) => attemptsIn(caches.bootImages.get(keyOf(bootImageFor(set))), set));
  const { client, architecture = ownArchitecture(), concurrency, progressMs, collectAfterMs, stubSecret } = options;
  const { canaryPollMs } = options;
  const settings = { concurrency, progressMs, collectAfterMs, stubSecret, canaryPollMs };
  const { projections, changes } = parts.definitions;
  const { ports, rights, prepare } = preparedPorts({
    ...{ client, ...parts, projections, log, architecture, settings, fixed: options.gates },
    fence: () => options.leader.assertHeld(),
  });
  const causes = createCauses();

  const woken = wakes(caches, causes, {
    key,
    skewGate: options.gates?.skew ?? true,
    controlPlanesGated: () => ports.world.controlPlanesGated(),
    onSet: (change) => {
      const platform = ports.world.infrastructure()?.status?.platformStatus?.type ?? '';
      noteSetChange(change, state, platforms.get(platform));
    },
    onUserData: (name) => void state.stubTrusts.delete(keyText({ namespace: machineApiNamespace, name })),
    failureOf: (set) => state.retries.get(set, 0)?.code,
  });
  const templates = (options.templates === undefined ? [] : [options.templates]).map((signal) =>
    templateSource(signal, {
      key,
      causes,
      machineSets: () => caches.machineSets.all(),
      onSet: (set, note) => {
        log.info({ set: idOf(set) }, note);
        const event = { type: 'Warning', reason: 'TemplateChanged', action: 'WatchTemplate', note } as const;
        if (upstreamRefusal(ports.world.upstream()) === undefined)
          parts.events.record(kindOf(set).resource, set, event);
      },
    }),
  );

  const passes = controller<MachineConfiguration>({
    name: 'boot-images',
    for: caches.machineConfigurations,
    when: woken.when,
    watches: [...woken.watches, ...templates, changes(() => [key])],
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (which, { signal, stopping }) => {
      if (which.name !== machineConfigurationName) return undefined;
      const cause = causes.take();
      state.looked.clear();
      try {
        await prepare({ signal });
        const outcome = await runPass(ports, state, cause, { signal, stopping, news: causes.news() });
        return sooner(outcome, againIn(projections.machineConfigurations));
      } catch (error) {
        const sets = keptSets(ports.world).map(idOf);
        causes.putBack(cause, state.looked, sets);
        throw error;
      }
    },
  });
  // A pass reports what it has just found out; what could not be written then, or goes later while its set stays, is not its business.
  const gone = on(caches.bootImages, keyOf, ({ now }) => now === undefined);
  const statuses = controller<BootImage>({
    name: 'boot-images-status',
    for: caches.bootImages,
    when: () => false,
    watches: [changes(() => Array.from(caches.bootImages.all(), keyOf)), gone],
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (which) => {
      await ports.repeat(which.name);
      const { uid } = caches.bootImages.get(which)?.metadata ?? {};
      return uid === undefined ? undefined : againIn({ retryIn: () => projections.bootImages.retryIn(uid) });
    },
  });
  const policies: PolicyWorld = {
    ...{ policies: caches.policies, projector: projections.policies, changes },
    watches: (keys) => [
      on(caches.machineSets, keys),
      on(caches.controlPlaneMachineSets, keys),
      on(caches.infrastructures, keys),
    ],
    subjects: async () => {
      await platforms.load(platformOf(ports.world));
      return keptSets(ports.world).map((set) => subjectOf(set, { world: ports.world, platforms }));
    },
    refused: rights.refused,
  };
  return { controllers: [passes, statuses], policies };
}

/** When a status that is not written is tried again. */
function againIn(...projectors: readonly Pick<Projector, 'retryIn'>[]): ReconcileOutcome {
  const waits = projectors.map((projector) => projector.retryIn()).filter((wait) => wait !== undefined);
  // Never 0, which would be a failure's back-off.
  return waits.length === 0 ? undefined : { after: Math.max(100, Math.min(...waits)) };
}

function sooner(a: ReconcileOutcome, b: ReconcileOutcome): ReconcileOutcome {
  return a === undefined || b === undefined ? (a ?? b) : { after: Math.min(a.after, b.after) };
}

/** What was told of an object does not outlive it. */
function forgetDeleted({ caches, definitions: { projections } }: Parts): void {
  const forget = (projector: Projector, old: KubeObject | undefined, now: KubeObject | undefined): void => {
    if (old?.metadata.uid !== undefined && old.metadata.uid !== now?.metadata.uid) projector.forget(old.metadata.uid);
  };
  caches.bootImages.subscribe(({ old, now }) => forget(projections.bootImages, old, now));
  caches.machineConfigurations.subscribe(({ old, now }) => forget(projections.machineConfigurations, old, now));
  caches.policies.subscribe(({ old, now }) => forget(projections.policies, old, now));
}
