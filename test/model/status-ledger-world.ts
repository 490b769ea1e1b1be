import assert from 'node:assert/strict';
import { ClusterVersion, ConfigMap } from '@drydock/api';
import {
  createLedger,
  createProjector,
  type JsonObject,
  LEDGER_COMPONENT,
  type Ledger,
  ledgerName,
  readRecord,
  recall,
  type StatusHooks,
} from '@drydock/crd';
import { capabilitiesOf, clusterVersionCrd, clusterVersionManifest, clusterVersionObject } from '@drydock/crd/testing';
import { configMapStore, type StatusOf, statusWriter } from '@drydock/kube';
import { fastClock, type MemoryCluster, type MemoryKubeClient, memoryCluster } from '@drydock/kube/testing';

/** Releases whose definitions come and go: the newer one knows more capabilities. */
export type Served = 13 | 14;

/** What makes a writer another one: a mistake that must be caught. */
export interface Mistakes {
  readonly hooks?: (hooks: StatusHooks) => StatusHooks;
  readonly ledger?: (ledger: Ledger) => Ledger;
}

/** A ClusterVersion with all capabilities, in a cluster whose definition changes under its writers. */
export interface LedgerWorld {
  readonly cluster: MemoryCluster;
  /** How often the status lacked something that the ledger had. */
  readonly cuts: number;
  /** The definition that is in force. */
  served: Served;
  serve(release: Served): void;
  /** A process: it knows nothing but what it reads. `believes` is the definition that its watch has shown it. */
  start(believes?: () => Served): LedgerWriter;
  /** What is wrong in the end, when the newer definition is in force and a writer has written. */
  check(): void;
}

/** One process that writes the status, carrying on from the last one. */
export interface LedgerWriter {
  readonly client: MemoryKubeClient;
  write(): Promise<void>;
}

const KEY = { name: 'version' };
const NAMESPACE = 'default';
const WHERE = { namespace: NAMESPACE, name: ledgerName(ClusterVersion) };
const ALL = capabilitiesOf(14);
const VERSIONS = { 13: clusterVersionCrd(13).versions[0], 14: clusterVersionCrd(14).versions[0] };

/** Lays the world out. At every change of anything, status and ledger together must hold everything that was meant; `wrong` is told otherwise. */
export function ledgerWorld(wrong: (what: string) => void, mistakes: Mistakes = {}): LedgerWorld {
  const cluster = memoryCluster({ crds: [clusterVersionManifest(14)] });
  const { metadata: _metadata, ...object } = clusterVersionObject(14);
  cluster.put(ClusterVersion, KEY, object as Partial<ClusterVersion>);
  let cuts = 0;
  const holds = (): readonly string[] => {
    const found = cluster.peek(ClusterVersion, KEY);
    const text = cluster.peek(ConfigMap, WHERE)?.data?.[found?.metadata.uid ?? ''];
    const status = (found?.status ?? {}) as unknown as JsonObject;
    const entries = text === undefined ? [] : readRecord(text).entries;
    if (enabledIn(status).length < ALL.length) cuts += 1;
    return enabledIn(recall(status, entries));
  };
  cluster.subscribe(({ resource }) => {
    const lost = ALL.filter((name) => !holds().includes(name));
    if (lost.length > 0) wrong(`after a change of ${resource} nobody knows ${lost.join(', ')} any more`);
  });
  const world: LedgerWorld = {
    cluster,
    served: 14,
    get cuts() {
      return cuts;
    },
    serve: (release) => {
      world.served = release;
      cluster.serve(clusterVersionManifest(release));
    },
    start: (believes = () => world.served) => {
      const client = cluster.client();
      const clock = fastClock(1_000);
      const store = configMapStore({ client, ...WHERE, component: LEDGER_COMPONENT, clock });
      let ticks = 0;
      const ledger = createLedger({ store, now: () => 10_000 * ticks++ });
      const projector = createProjector({
        live: () => VERSIONS[believes()],
        ledger: mistakes.ledger?.(ledger) ?? ledger,
      });
      const hooks = mistakes.hooks?.(projector) ?? projector;
      const writer = statusWriter<ClusterVersion>({ client, resource: ClusterVersion, clock, ...hooks });
      return {
        client,
        write: async () => {
          await writer.write(KEY, ({ status }) => counted(status as StatusOf<ClusterVersion>));
        },
      };
    },
    check: () => {
      const status = (cluster.peek(ClusterVersion, KEY)?.status ?? {}) as unknown as JsonObject;
      assert.deepEqual(enabledIn(status), ALL, 'everything is written again, in its order');
      assert.deepEqual(cluster.peek(ConfigMap, WHERE)?.data ?? {}, {}, 'and the ledger is empty');
    },
  };
  return world;
}

/** The same status, one generation on. */
function counted(status: StatusOf<ClusterVersion>): StatusOf<ClusterVersion> {
  const { observedGeneration = 0 } = status as { readonly observedGeneration?: number };
  return { ...status, observedGeneration: observedGeneration + 1 } as StatusOf<ClusterVersion>;
}

function enabledIn(status: JsonObject): readonly string[] {
  const { enabledCapabilities = [] } = (status['capabilities'] ?? {}) as {
    readonly enabledCapabilities?: readonly string[];
  };
  return enabledCapabilities;
}
