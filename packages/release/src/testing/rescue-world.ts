import { randomUUID } from 'node:crypto';
import { ClusterVersion, ConfigMap, Deployment, type KubeObject } from '@drydock/api';
import {
  createLedger,
  type JsonObject,
  LEDGER_COMPONENT,
  type Ledger,
  ledgerName,
  readRecord,
  recall,
} from '@drydock/crd';
import { capabilitiesOf, clusterVersionManifest, clusterVersionObject } from '@drydock/crd/testing';
import { ApiError, configMapStore } from '@drydock/kube';
import { fastClock, type MemoryCluster, type MemoryKubeClient, memoryCluster } from '@drydock/kube/testing';
import type { RescuePorts, RescueWish } from '../rescue/patient.ts';
import { RESCUE_RECORDS, rescueRecords } from '../rescue/record.ts';
import { Pod } from '../rescue/writer-pods.ts';

/** A cluster that went back from 4.14 to 4.13 unprepared: a writer keeps four capabilities too many, and is refused for ever. */
export interface RescueWorld {
  readonly cluster: MemoryCluster;
  readonly wish: RescueWish;
  /** A process that rescues. */
  ports(client: MemoryKubeClient, ledger?: (ledger: Ledger) => Ledger): RescuePorts;
  /** Another definition takes the place of the older one. */
  define(manifest: unknown): void;
  /** A pod of the writer comes beside the one that is there, and writes from now on. */
  startPod(): void;
  /** A pod with the labels of the writer that its Deployment has not made. Returns its name. */
  strangePod(): string;
  /** Somebody deletes the ledger. */
  forget(): void;
  /** Whether whatever is asked of the server is refused. */
  refuseDryRuns: boolean;
  /** Name of a PodDisruptionBudget that forbids every eviction. */
  budget: string | undefined;
  /** The writer tries to write, from what it read when its pod came. */
  tick(): void;
  /** Writes of the writer that were taken, and those that were refused. */
  readonly taken: number;
  readonly refused: number;
  /** Capabilities of the status, and those of status and ledger together. */
  enabled(): readonly string[];
  meant(): readonly string[];
  /** Records that are left. */
  records(): number;
}

const NAMESPACE = 'default';
const KEY = { name: 'version' };
const WRITER = { namespace: 'cvo', name: 'cluster-version-operator' };
const CRD = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
} as const;
const DEFINITION = 'clusterversions.config.openshift.io';
const HASH = '5d7b9';
const REPLICA_SET = {
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${WRITER.name}-${HASH}`, uid: 'rs-1', controller: true },
};

type Capable = { readonly capabilities?: { readonly enabledCapabilities?: readonly string[] } };

/** Lays it out. */
export function rescueWorld(): RescueWorld {
  const cluster = memoryCluster({ crds: [clusterVersionManifest(14)], namespaces: [WRITER.namespace] });
  const { metadata: _metadata, ...object } = clusterVersionObject(14);
  cluster.put(ClusterVersion, KEY, object as Partial<ClusterVersion>);
  cluster.serve(clusterVersionManifest(13));
  cluster.put(CRD, { name: DEFINITION }, clusterVersionManifest(13) as unknown as Partial<KubeObject>);
  const labels = { 'k8s-app': WRITER.name };
  cluster.put(Deployment, WRITER, { spec: { replicas: 1, selector: { matchLabels: labels } } } as never);
  const ledgerAt = { namespace: NAMESPACE, name: ledgerName(ClusterVersion) };
  const recordsAt = { namespace: NAMESPACE, name: RESCUE_RECORDS };
  const clock = fastClock(1000);
  let [taken, refused, started] = [0, 0, 0];

  const status = (): JsonObject & Capable =>
    (cluster.peek(ClusterVersion, KEY) as { readonly status?: JsonObject } | undefined)?.status ?? {};
  const enabled = (): readonly string[] => status().capabilities?.enabledCapabilities ?? [];

  /** What the running pod read when it came. */
  let memory: { readonly uid: string; readonly enabled: readonly string[] } | undefined;
  const start = (): void => {
    const uid = randomUUID();
    started += 1;
    const name = `${WRITER.name}-${started}`;
    cluster.put(Pod, { namespace: WRITER.namespace, name }, {
      metadata: { name, uid, labels: { ...labels, 'pod-template-hash': HASH }, ownerReferences: [REPLICA_SET] },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    } as never);
    memory = { uid, enabled: enabled() };
  };
  start();
  cluster.subscribe(({ resource, now, old }) => {
    // What a Deployment does, at once.
    if (resource === 'pods' && now === undefined && old?.metadata.uid === memory?.uid) start();
  });

  const world: RescueWorld = {
    cluster,
    wish: { definition: DEFINITION, key: KEY, writer: WRITER },
    ports: (client, ledger = (same) => same) => {
      const store = (name: string) =>
        configMapStore({ client, namespace: NAMESPACE, name, component: LEDGER_COMPONENT, clock });
      return {
        client: {
          ...{ get: client.get.bind(client), list: client.list.bind(client), delete: client.delete.bind(client) },
          ...{ replace: client.replace.bind(client), replaceStatus: client.replaceStatus.bind(client) },
          raw: async ({ path }) => {
            const name = path.split('/').at(-2) ?? '';
            const key = { namespace: WRITER.namespace, name };
            if (world.budget !== undefined) throw overBudget(world.budget);
            return client.delete(Pod, key, { uid: cluster.peek(Pod, key)?.metadata.uid ?? '' });
          },
        },
        ledger: ledger(createLedger({ store: store(ledgerAt.name) })),
        records: rescueRecords(store(recordsAt.name)),
        minor: 29,
        now: () => '2026-01-01T00:00:00Z',
        signal: new AbortController().signal,
      };
    },
    define: (manifest) => {
      cluster.serve(manifest);
      cluster.put(CRD, { name: DEFINITION }, manifest as Partial<KubeObject>);
    },
    startPod: start,
    strangePod: () => {
      const name = 'debugging-copy';
      cluster.put(Pod, { namespace: WRITER.namespace, name }, {
        metadata: { name, uid: randomUUID(), labels },
      } as never);
      return name;
    },
    forget: () => cluster.put(ConfigMap, ledgerAt, undefined),
    refuseDryRuns: false,
    budget: undefined,
    tick: () => {
      const kept = memory?.enabled ?? [];
      const legal = capabilitiesOf(13);
      if (!kept.every((name) => legal.includes(name))) {
        refused += 1;
        return;
      }
      taken += 1;
      const now = cluster.peek(ClusterVersion, KEY) as KubeObject & { readonly status: JsonObject };
      cluster.put(ClusterVersion, KEY, {
        ...now,
        status: { ...now.status, observedGeneration: 100 + taken },
      } as Partial<ClusterVersion>);
    },
    get taken() {
      return taken;
    },
    get refused() {
      return refused;
    },
    enabled,
    meant: () => {
      const uid = cluster.peek(ClusterVersion, KEY)?.metadata.uid ?? '';
      const text = cluster.peek(ConfigMap, ledgerAt)?.data?.[uid];
      const whole = text === undefined ? status() : recall(status(), readRecord(text).entries);
      return (whole as Capable).capabilities?.enabledCapabilities ?? [];
    },
    records: () => Object.keys(cluster.peek(ConfigMap, recordsAt)?.data ?? {}).length,
  };
  return world;
}

/** What the writer of somebody else does to a guarded write. */
export function conflict(): ApiError {
  return new ApiError({ code: 'Conflict', action: 'write', said: 'the object has been modified', status: 409 });
}

/** What a server says to an eviction that a PodDisruptionBudget forbids. */
function overBudget(name: string): ApiError {
  const message = `The disruption budget ${name} needs 1 healthy pods and has 1 currently`;
  const said = "Cannot evict pod as it would violate the pod's disruption budget.";
  const details = { causes: [{ reason: 'DisruptionBudget', message }] };
  return new ApiError({ code: 'TooManyRequests', action: 'evict', said, status: 429, details });
}

/** What a server says that takes nothing. */
export function refusal(): ApiError {
  const causes = [{ field: 'status', reason: 'FieldValueInvalid', message: 'no' }];
  return new ApiError({ code: 'Invalid', action: 'write', said: 'no', status: 422, details: { causes } });
}
