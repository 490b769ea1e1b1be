import { ClusterVersion, ConfigMap, Payload } from '@drydock/api';
import {
  type Cache,
  type Clock,
  type Controller,
  configMapStore,
  createCache,
  type EventRecorderOptions,
  eventRecorder,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type ManagedCache,
  type Resource,
  type Selector,
  systemClock,
} from '@drydock/kube';
import type { InventoryStore } from '../apply/inventory/inventory.ts';
import { everyServer } from '../rollback/api-servers.ts';
import { configMapKept } from '../rollback/kept-values.ts';
import { configMapSignatures, keptSignatures } from '../verify/kept-signatures.ts';
import type { SignatureStore } from '../verify/signature-stores.ts';
import { clusterRisks } from './cluster-risks.ts';
import { type ClusterVersionTrust, clusterVersionFace } from './cluster-version-face.ts';
import { releaseController } from './controller.ts';
import { type KeepStatuses, type Projected, projected } from './definitions.ts';
import type { Account } from './face.ts';
import type { Retrieve } from './loaded-release.ts';
import { type ReleaseMetrics, releaseMetrics } from './metrics.ts';
import { payloadFace } from './payload-face.ts';
import type { ReleasePorts } from './ports.ts';
import { releaseWatches } from './release-watches.ts';
import { boundedRetrieval } from './retrieval.ts';
import { turns } from './turns.ts';
import { upstreamManager } from './upstream-manager.ts';
import { judgeWayBack } from './way-back-judge.ts';

/** What the role needs from the app that runs it. */
export interface ReleaseRoleOptions {
  readonly client: KubeClient;
  /** A client in the name of an account. */
  readonly clientFor: (account: Account) => KubeClient;
  /** Where what is kept in the cluster is: beside the Lease. */
  readonly namespace: string;
  readonly inventory: InventoryStore;
  readonly apply: ReleasePorts['apply'];
  readonly retrieve: Retrieve;
  readonly storeAt: (address: string) => SignatureStore;
  /** A client of one API server, by its address, in the name of an account. Default: only that at the usual address is asked which definitions it serves. */
  readonly clientAt?: (account: Account, server: string) => KubeClient;
  /** ms that a writer has to write anew once a way back has brought its release. Default 30 s. */
  readonly patience?: number;
  readonly log: EventRecorderOptions['log'];
  /** Manages ClusterVersion, too, in the name of this account, unless cluster-version-operator is there. Default: it is left alone. */
  readonly clusterVersion?: ClusterVersionTrust;
  readonly metrics?: ReleaseMetrics;
  /** Keeps what the live schemas cannot hold, and tells what cannot be written. Default: logged alone. */
  readonly statuses?: KeepStatuses;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** What the app runs: give all to kube's `run`. */
export interface ReleaseRole {
  readonly caches: Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
}

/** Releases that are applied at the same time. */
const AT_ONCE = 4;

/** Name of the ConfigMap with signatures that were verified. */
export const SIGNATURES = 'drydock-release-signatures';
const UPSTREAM_SIGNATURES = {
  namespace: 'openshift-config-managed',
  labels: 'release.openshift.io/verification-signatures',
};

/** Wires the release manager: watches, controllers, writers. Watches start at once, controllers with `run`. */
export function releaseRole(options: ReleaseRoleOptions): ReleaseRole {
  const { client, log, namespace, clusterVersion, clock = systemClock, metrics = releaseMetrics() } = options;
  const recorder = eventRecorder({ client, controller: 'drydock.dev/release', log });
  const store = configMapStore({ client, namespace, name: SIGNATURES, component: 'release-signatures', clock });
  const kept = keptSignatures(store, `ConfigMap ${namespace}/${SIGNATURES}`);
  const watches = releaseWatches({
    clock,
    onError: (error) =>
      log[isForbidden(error) ? 'info' : 'warn']({ err: error }, 'objects of a release are asked for one by one'),
  });
  // Of both kinds together.
  const retrieve = boundedRetrieval(options.retrieve, clock);
  const applying = turns(AT_ONCE);
  const ports = (more: readonly SignatureStore[]): ReleasePorts => ({
    ...{
      clientFor: options.clientFor,
      ...{ retrieve, applying },
      inventory: options.inventory,
      apply: options.apply,
      watches,
      clock,
      metrics,
    },
    judge: judgeWayBack,
    kept: configMapKept({ client, namespace, clock }),
    ...(options.patience === undefined ? {} : { patience: options.patience }),
    columns: (account) => {
      const { clientAt } = options;
      const at = clientAt === undefined ? undefined : (server: string) => clientAt(account, server);
      return everyServer({
        ...{ client, own: options.clientFor(account), at, clock },
        onLeftOut: (server, error) =>
          log.warn({ err: error, server }, `API server ${server} cannot be asked which definitions it serves`),
      });
    },
    signatures: { kept: [kept, ...more], storeAt: options.storeAt, keep: kept.keep },
    warn: (message, error) => log.warn({ err: error }, message),
    random: options.random ?? Math.random,
  });
  const watch = <T extends KubeObject>(resource: Resource<T>, where: Selector = {}): Cache<T> =>
    createCache({
      client,
      resource,
      where,
      onError: (error) => log.warn({ err: error, kind: resource.kind }, 'a watch failed'),
    });
  const definition = (resource: Resource<never>): Projected =>
    projected(resource, { client, log, metrics, keep: options.statuses });
  const common = { client, events: recorder };
  const payloads = { cache: watch(Payload), projected: definition(Payload as Resource<never>) };
  const versions =
    clusterVersion === undefined
      ? undefined
      : {
          // Of this kind one object says what is wanted; others, whoever made them, are nobody's business.
          cache: watch(ClusterVersion, { fields: 'metadata.name=version' }),
          projected: definition(ClusterVersion as Resource<never>),
          face: clusterVersionFace(clusterVersion),
        };
  return {
    caches: {
      events: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose]() },
      watches: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => watches[Symbol.asyncDispose]() },
      ...{ payloads: payloads.cache, payloadDefinition: payloads.projected.watch },
      ...(versions === undefined
        ? {}
        : { clusterVersions: versions.cache, clusterVersionDefinition: versions.projected.watch }),
    },
    controllers: [
      releaseController({ ...common, ...payloads, name: 'payloads', face: payloadFace, ports: ports([]) }),
      ...(versions === undefined
        ? []
        : [
            releaseController({
              ...{ ...common, ...versions, name: 'cluster-versions', ports: ports([upstreamSignatures(client)]) },
              managedBy: upstreamManager(client, clock),
              risks: (object, call) => clusterRisks(client, object, call),
            }),
          ]),
    ],
  };
}

function upstreamSignatures(client: KubeClient): SignatureStore {
  const { namespace, labels } = UPSTREAM_SIGNATURES;
  return configMapSignatures(`ConfigMaps in ${namespace}`, (signal) =>
    client.list(ConfigMap, { namespace, labels }, { signal }),
  );
}
