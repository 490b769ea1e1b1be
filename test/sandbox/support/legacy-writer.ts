import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@drydock/crd';
import type { CrdServer } from './crd-server.ts';

/** A writer as upstream's: it reads what was enabled when it starts, keeps it for ever, and writes whole statuses without a look at any schema. */
export interface LegacyWriter extends AsyncDisposable {
  /** Writes that were taken, and refused, since it was made. */
  readonly taken: number;
  readonly refused: number;
  /** A new process: it reads what is stored now. */
  restart(): void;
  /** Resolves once so many more writes ended so. Rejects after a minute. */
  wrote(how: 'taken' | 'refused', times?: number): Promise<void>;
}

const PATH = '/apis/config.openshift.io/v1/clusterversions/version';
/** ms between two attempts. */
const PACE = 50;
const DEADLINE_MS = 60_000;

/** Starts one on the ClusterVersion of a server; `known` is the vocabulary of its release. */
export function legacyWriter(server: CrdServer, known: readonly string[]): LegacyWriter {
  const counts = { taken: 0, refused: 0 };
  const stop = new AbortController();
  let memory: readonly string[] | undefined;

  async function write(): Promise<void> {
    const { object, status: code } = await server.call({ method: 'GET', path: PATH });
    if (code !== 200) return;
    const { status } = object as { readonly status: JsonObject & { readonly capabilities?: JsonObject } };
    memory ??= (status.capabilities?.['enabledCapabilities'] ?? []) as readonly string[];
    const enabled = [...new Set([...known, ...memory])].toSorted((a, b) => (a < b ? -1 : 1));
    const next = {
      ...object,
      status: {
        ...status,
        observedGeneration: Number(status['observedGeneration'] ?? 0) + 1,
        capabilities: { enabledCapabilities: enabled, knownCapabilities: known },
      },
    };
    const answer = await server.call({ method: 'PUT', path: `${PATH}/status`, body: next });
    if (answer.status === 200) counts.taken += 1;
    if (answer.status === 422) counts.refused += 1;
  }

  const running = (async () => {
    while (!stop.signal.aborted) {
      await write();
      await delay(PACE);
    }
  })();

  return {
    get taken() {
      return counts.taken;
    },
    get refused() {
      return counts.refused;
    },
    restart: () => {
      memory = undefined;
    },
    wrote: async (how, times = 1) => {
      const goal = counts[how] + times;
      const deadline = performance.now() + DEADLINE_MS;
      while (counts[how] < goal) {
        if (performance.now() > deadline)
          throw new Error(`the writer had no ${times} writes more ${how}: ${JSON.stringify(counts)}`);
        await delay(PACE);
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}
