import { BootImage, BootImagePolicy } from '@drydock/api';
import {
  type Cache,
  type CacheOptions,
  type Controller,
  controller,
  createCache,
  type EventRecorderOptions,
  eventRecorder,
  fencedClient,
  type Key,
  type KubeClient,
  type KubeObject,
  keyOf,
  type Leader,
  type ManagedCache,
  on,
  type Resource,
} from '@drydock/kube';
import type { ClusterRecords } from '@drydock/templates';
import type { BootImageMetrics } from '../metrics.ts';
import type { PolicyWorld } from '../policy/policy-statuses.ts';
import { type KeepStatuses, watchDefinitions } from '../status/definitions.ts';
import { endsCanary, type SetOutcome } from '../status/subject.ts';
import { type ImageStore, importerIsLive } from '../vsphere/options.ts';
import { allSynced } from '../waiting.ts';
import { livePin } from '../way-back/pin.ts';
import { bootImageOfRotated, rotationReports } from './boot-images.ts';
import { isRotationCanary } from './canary.ts';
import { rotationGroup } from './canary-machine.ts';
import { type Collections, collectionController, collections } from './collection.ts';
import { failureOf } from './failure.ts';
import { type Identity, type IdentitySources, identityOf } from './identity.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import { createLines } from './lines.ts';
import { createLooks } from './looks.ts';
import type { SetName } from './observe.ts';
import { type OpenShift, openshiftWakes, releaseImages } from './openshift.ts';
import { beforePinEnds, pinController } from './pins.ts';
import { type PlannedRotation, type PlanRotationsOptions, planRotation } from './plan.ts';
import { machineIndex, readerOf, setsOf, topologyIndex } from './reader.ts';
import { recordsOf } from './records.ts';
import { canaryIndexes, imagesNaming, roleCanaries } from './role-canaries.ts';
import { type RotationBounds, type RotationPorts, rotate } from './rotate.ts';
import type { RotationWish } from './rotation.ts';
import { groupOf, idOfRotated, isRevision, ROTATED_KINDS, type RotatedSet, rotatedSet } from './set.ts';
import { type SiteReader, siteReader } from './sites.ts';
import { rotatedStandings } from './standing.ts';
import { vsphereImages } from './vsphere-images.ts';
import { isAnotherCluster, isAnotherSubject, setNamedBy, setOfImage, specChanged, whoseTurn } from './wakes.ts';
import { policyOfRotated, policySubjectOf, wishFor } from './wish.ts';

/** What the role needs from the app that runs it. */
export interface ClusterApiRoleOptions {
  readonly client: KubeClient;
  readonly served: ServedKinds;
  /** A UID that lasts as long as the cluster: the owner in marks. */
  readonly owner: string;
  /** Templates of all vCenters; servers are those of `serverWithLogin`. */
  readonly store: ImageStore;
  readonly leader: Pick<Leader, 'identity' | 'holderIsLive' | 'assertHeld'>;
  readonly log: EventRecorderOptions['log'];
  readonly metrics: BootImageMetrics;
  readonly now?: () => Date;
  /** Monotonic ms. Default: the machine's. */
  readonly elapsed?: () => number;
  /** Templates of each line, and images of each place, that stay as a way back. Default 2. */
  readonly retain?: number;
  readonly locate?: (location: string) => string;
  /** See {@link IdentitySources.providerNamespace}. Default `capv-system`. */
  readonly providerNamespace?: string;
  /** Where Machine API is served, too. */
  readonly openshift?: OpenShift | undefined;
  readonly statuses?: KeepStatuses;
  /** How long (ms) templates are new, and how long they say that they go. Default 10 minutes. */
  readonly graceMs?: number;
}

/** What the app runs: give caches and controllers to kube's `run`. */
export interface ClusterApiRole {
  readonly caches: Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
  /** What the cluster knows of templates: a witness for their marks. */
  readonly records: ClusterRecords;
  readonly bootImages: () => Iterable<BootImage>;
  /** The same as whoever reads them is told, with the turn of each. */
  readonly told: () => Iterable<BootImage>;
  /** Its sets, for the statuses of policies. */
  readonly policies: PolicyWorld;
  readonly places: SiteReader['known'];
  /** The login of a server; undefined for one that is not of Cluster API. */
  readonly identity: (server: string) => Promise<Identity | undefined>;
  /** What would be done about each set now, once everything that is watched is known. Nothing is written. */
  readonly plan: (options?: PlanRotationsOptions) => Promise<readonly PlannedRotation[]>;
  /** What controllers do about one set, when somebody says so and within what he says. */
  readonly work: (
    set: string,
    options: { readonly signal: AbortSignal; readonly bounds: RotationBounds },
  ) => Promise<{ readonly after: number; readonly outcome: SetOutcome | undefined } | undefined>;
  /** Undefined where no clusters are served. */
  readonly collections: Collections | undefined;
}

const GRACE_MS = 600_000;

/** Wires boot images of Cluster API: watches, controllers, writers. Watches start at once, controllers with `run`. */
export function clusterApiRole(options: ClusterApiRoleOptions): ClusterApiRole {
  const { client, served, log, metrics, leader, store, retain = 2, now = () => new Date(), openshift } = options;
  /** For all that is written but Events, and questions about rights. */
  const fenced = fencedClient(client, () => leader.assertHeld());
  const watched = <T extends KubeObject>(resource: Resource<T>, indexes: CacheOptions<T>['indexes'] = {}): Cache<T> =>
    createCache({
      ...{ client, resource, indexes },
      onError: (error) =>
        log.warn(
          { err: error },
          'A watch on the API server failed; Drydock tries again. If this warning repeats, follow the error.',
        ),
    });
  const kindsOf = new Map<string, Cache<ClusterApiObject>>();
  const watchKind = (group: string, kind: string, indexes?: CacheOptions<ClusterApiObject>['indexes']): void => {
    const resource = served.of(group, kind);
    if (resource !== undefined) kindsOf.set(`${kind}.${group}`, watched(resource, indexes));
  };
  for (const { group, kind } of ROTATED_KINDS) watchKind(group, kind, topologyIndex(kind));
  watchKind(CORE, 'Cluster');
  watchKind(CORE, 'Machine', machineIndex);
  for (const kind of ['VSphereCluster', 'VSphereDeploymentZone', 'VSphereFailureDomain'])
    watchKind(INFRASTRUCTURE, kind);
  const cacheOf = (group: string, kind: string): Cache<ClusterApiObject> | undefined => kindsOf.get(`${kind}.${group}`);
  const rotated = ROTATED_KINDS.flatMap(({ group, kind }) => {
    const cache = cacheOf(group, kind);
    return cache === undefined ? [] : [{ group, kind, cache }];
  });
  const [clusters, machines] = [cacheOf(CORE, 'Cluster'), cacheOf(CORE, 'Machine')];
  const bootImages = watched(BootImage, canaryIndexes);
  const policies = watched(BootImagePolicy);
  const definitions = watchDefinitions(client, log, options.statuses);
  const events = eventRecorder({ client, controller: 'drydock.dev/cluster-api', log });
  const identities: IdentitySources = {
    ...{ client, served, providerNamespace: options.providerNamespace ?? 'capv-system' },
  };
  const holderIsLive = importerIsLive(leader);
  const resourceOf = (group: string, kind: string): Resource<ClusterApiObject> => {
    const found = served.of(group, kind);
    if (found === undefined) throw new Error(`${kind} of ${group} is not served any more`);
    return found;
  };
  const imageOf = (set: RotatedSet): BootImage | undefined => bootImages.get(keyOf(bootImageOfRotated(set)));
  const sites = siteReader({ cacheOf, identities });
  const release = openshift && releaseImages(openshift);
  const lines = createLines({
    ...{ policies: () => [...policies.all()], image: imageOf, now, release },
    set: ({ kind, namespace, name }) => {
      const live = cacheOf(groupOf(kind), kind)?.get({ namespace, name });
      const set = live === undefined ? undefined : rotatedSet(kind, live);
      return set === undefined || isRevision(set) ? undefined : set;
    },
    names: () =>
      rotated.flatMap(({ kind, cache }) =>
        Array.from(cache.all(), ({ metadata: { namespace = '', name } }) => ({ kind, namespace, name })),
      ),
  });
  for (const { group, kind, cache } of rotated) {
    cache.subscribe(({ key: { namespace = '', name } }) => lines.changed({ kind, namespace, name }));
    bootImages.subscribe(({ old, now: image = old }) => {
      for (const key of image === undefined ? [] : setNamedBy(image, group, kind)) lines.changed({ kind, ...key });
    });
  }
  policies.subscribe((change) => {
    if (specChanged(change)) lines.policiesChanged();
  });

  const reader = readerOf({ client, served, cacheOf, openshift });
  const outcomes = new Map<string, SetOutcome>();
  const reports = rotationReports({
    ...{ client: fenced, reader: fenced, now, projector: definitions.projections.bootImages },
    cached: (key) => bootImages.get(key),
    platform: (set) => looks.platform(set),
    facts: (set) => {
      const seen = looks.facts(set);
      const pin = livePin(imageOf(set), now().getTime());
      return { ...(pin === undefined ? {} : { pin: { pin } }), ...seen, reference: seen.image, target: undefined };
    },
  });
  const report: RotationPorts['report'] = async (set, outcome) => {
    outcomes.set(idOfRotated(set), outcome);
    if (endsCanary(outcome)) canaries.ended(set);
    await reports.report(set, await looks.told(set, outcome, reports.latest(set)?.status));
  };
  const images = vsphereImages({
    ...{
      store,
      owner: options.owner,
      holder: leader.identity,
      holderIsLive,
      places: sites.placesFor,
      metrics,
      elapsed: options.elapsed,
    },
    ...(options.locate === undefined ? {} : { locate: options.locate }),
  });
  const looks = createLooks({ images, placeText: sites.placeText, elapsed: options.elapsed });
  const {
    canaries,
    watch,
    during,
    rights,
    controllers: sweepers,
  } = roleCanaries({
    ...{ client, served, store, leader, sites, bootImages, now, elapsed: options.elapsed },
    machines,
    record: ({ set }, facts) => report(set, { kind: 'step', phase: 'Publishing', reason: 'Canary', ...facts }),
    setOf: (image) => setOfImage(image, cacheOf),
  });
  const wishOf = (set: RotatedSet, image: BootImage | undefined): RotationWish => {
    const known = { policies: [...policies.all()], now: now(), turn: lines.waits, canaryMissing: rights.missing };
    return wishFor(set, { ...known, image, release });
  };
  const ports: RotationPorts = {
    ...{ client: fenced, resourceOf, reader, mayWrite: () => leader.assertHeld() },
    images: looks.images,
    wish: (set) => wishOf(set, imageOf(set)),
    report,
    remembered: (set) => (imageOf(set)?.status?.history ?? []).length > 0,
    tried: canaries.tried,
    event: (set, reason, note) => {
      log.info({ set: idOfRotated(set), reason }, note);
      const type = reason === 'Failed' || reason === 'PinLapsesSoon' ? 'Warning' : 'Normal';
      events.record(resourceOf(set.group, set.kind), set.object, { type, reason, action: 'RotateTemplate', note });
    },
  };

  /** Brings one set closer to its image, and says in its BootImage what came of it. Within bounds, what they refuse is thrown. */
  async function work(
    { kind, namespace, name }: SetName,
    { signal, bounds }: { readonly signal: AbortSignal; readonly bounds?: RotationBounds },
  ): Promise<{ readonly after: number } | undefined> {
    const live = cacheOf(groupOf(kind), kind)?.get({ namespace, name });
    if (live === undefined) {
      const gone = rotatedSet(kind, { metadata: { namespace, name } });
      watch.forget(idOfRotated(gone));
      canaries.ended(gone);
    }
    if (live === undefined || isRevision(rotatedSet(kind, live))) return undefined;
    const set = rotatedSet(kind, live);
    try {
      await rights.ask(policies.all(), { signal });
      const image = imageOf(set);
      // What somebody agreed to is all that is done.
      const at = { set, image, ...(bounds === undefined ? { wish: () => wishOf(set, image).canary } : {}) };
      const carriedOut = async (asks: (canary: Key) => void): ReturnType<typeof rotate> => {
        const tried: RotationPorts['tried'] = (rotation, step, call) => {
          const { machine } = rotationGroup(rotation.set, step.wish, step.image);
          bounds?.mayTry(machine);
          asks({ namespace, name: machine });
          return canaries.tried(rotation, step, call);
        };
        return rotate({ kind, namespace, name }, { ...ports, tried, bounds }, { signal });
      };
      const done = await during(at, carriedOut, { signal });
      return beforePinEnds(done, imageOf(set), now());
    } catch (error) {
      signal.throwIfAborted();
      if (bounds?.isOwn(error) === true) throw error;
      const { outcome, after } = failureOf(error, policyOfRotated(set, [...policies.all()]).policy);
      const before = imageOf(set)?.status;
      if (outcome.kind === 'failed' && before?.message !== outcome.message) ports.event(set, 'Failed', outcome.message);
      await report(set, outcome);
      return { after };
    }
  }

  const rotations = rotated.map(({ group, kind, cache }) => {
    const all = (namespace?: string): Key[] =>
      Array.from(cache.all(), keyOf).filter((key) => namespace === undefined || key.namespace === namespace);
    return controller<ClusterApiObject>({
      ...{ name: `boot-images-${kind.toLowerCase()}`, for: cache, concurrency: 4 },
      backOff: { first: 500, longest: 60_000 },
      watches: [
        on(policies, () => all(), specChanged),
        ...openshiftWakes(openshift?.watched, kind, all),
        ...(clusters === undefined ? [] : [on(clusters, ({ metadata }) => all(metadata.namespace), isAnotherCluster)]),
        whoseTurn(lines, kind),
        ...(machines === undefined
          ? []
          : [
              // A machine that is healthy again ends what waited for it.
              on(machines, (one) => setsOf(one, kind)),
              // So does one that tries their image.
              on(machines, (one) =>
                isRotationCanary(one)
                  ? imagesNaming(bootImages, keyOf(one)).flatMap((image) => setNamedBy(image, group, kind))
                  : [],
              ),
            ]),
        on(bootImages, (image) => setNamedBy(image, group, kind), specChanged),
      ],
      reconcile: ({ namespace = '', name }, call) => work({ kind, namespace, name }, call),
    });
  });

  const pins = pinController({
    ...{ client: fenced, bootImages, kinds: rotated, now, event: ports.event },
  });
  const collecting =
    clusters === undefined
      ? undefined
      : {
          ...{ client: fenced, served, store, leader, log, now, retain, holderIsLive, resourceOf, clusters },
          ...{ owner: options.owner, graceMs: options.graceMs ?? GRACE_MS, places: sites.all, events },
          bootImages: () => bootImages.all(),
          policies: () => policies.all(),
        };
  const collected = collecting === undefined ? undefined : collections(collecting);
  const collectors =
    collecting === undefined || collected === undefined ? [] : [collectionController(collecting, collected)];

  return {
    caches: {
      ...Object.fromEntries([...kindsOf].map(([id, cache]) => [id, cache])),
      clusterApiBootImages: bootImages,
      clusterApiPolicies: policies,
      clusterApiDefinitions: definitions.watches,
      clusterApiEvents: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => events[Symbol.asyncDispose]() },
    },
    controllers: [...rotations, ...collectors, ...sweepers, pins],
    records: recordsOf(() => bootImages.all()),
    policies: {
      ...{ policies, projector: definitions.projections.policies, changes: definitions.changes },
      watches: (keys) => rotated.map(({ kind, cache }) => on(cache, keys, isAnotherSubject(kind))),
      subjects: async () => allSets().map(policySubjectOf),
      refused: rights.refused,
    },
    bootImages: () => bootImages.all(),
    told: () => {
      const known = { images: [...bootImages.all()], sets: allSets(), policies: [...policies.all()], release };
      return rotatedStandings({ ...known, now: now(), led: true });
    },
    ...{ places: sites.known, identity: (server: string) => identityOf(server, identities) },
    collections: collected,
    work: async (id, { signal, bounds }) => {
      const set = allSets().find((one) => idOfRotated(one) === id);
      if (set === undefined) return undefined;
      outcomes.delete(id);
      const done = await work(set, { signal, bounds });
      return done === undefined ? undefined : { ...done, outcome: outcomes.get(id) };
    },
    plan: async ({ sets, pin, signal } = {}) => {
      await allSynced([...kindsOf.values(), bootImages, policies], signal);
      const found: PlannedRotation[] = [];
      for (const set of allSets()) {
        if (sets?.(idOfRotated(set)) === false) continue;
        const image = imageOf(set);
        const { kind, namespace, name } = set;
        const fresh = image ?? bootImageOfRotated(set);
        const as = pin === undefined ? image : { ...fresh, spec: { ...fresh.spec, pin } };
        const wish = (of: RotatedSet): RotationWish => wishOf(of, as);
        const { verdict } = canaries;
        const planned = await planRotation({ kind, namespace, name }, { reader, images, wish, verdict }, { signal });
        if (planned !== undefined) found.push(planned);
      }
      return found.toSorted((a, b) => (a.set < b.set ? -1 : 1));
    },
  };

  function allSets(): readonly RotatedSet[] {
    return rotated.flatMap(({ kind, cache }) =>
      Array.from(cache.all(), (live) => rotatedSet(kind, live)).filter((set) => !isRevision(set)),
    );
  }
}
