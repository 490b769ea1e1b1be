import { get } from 'node:https';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { cpuSeconds } from '../answer.ts';
import { type KubeJob, type KubeResult, STAMP, stamp } from './job.ts';

/** Makes `count` calls, `atOnce` at a time, after half of them as warm-up. */
export async function measureCalls(call: () => Promise<unknown>, count: number, atOnce: number): Promise<KubeResult> {
  const run = async (total: number): Promise<void> => {
    let left = total;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await call();
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  };
  await run(count / 2);
  const cpu = cpuSeconds();
  const started = performance.now();
  await run(count);
  return { perSecond: (count * 1000) / (performance.now() - started), cpuSeconds: cpuSeconds() - cpu };
}

/** What a list costs to read and to keep. */
export async function measureList(read: () => Promise<readonly unknown[]>, expected: number): Promise<KubeResult> {
  const before = keptHeapMB();
  const cpu = cpuSeconds();
  const kept = await read();
  const spent = cpuSeconds() - cpu;
  const heapMB = keptHeapMB() - before;
  // Also keeps the list alive until here.
  if (kept.length !== expected) throw new Error(`${kept.length} objects instead of ${expected}`);
  return { cpuSeconds: spent, heapMB };
}

/** A client that is told of updates. */
export interface UpdateMeter {
  /** To be called with the annotations of each updated object. */
  saw(annotations: Readonly<Record<string, string>> | undefined): void;
  /** Lets the server update objects and waits until as many were seen. */
  updates(job: KubeJob & { readonly do: 'updates' }): Promise<KubeResult>;
}

/** Measures from the server's write to the moment at which the client acts on it. */
export function updateMeter(): UpdateMeter {
  let latencyMs: number[] = [];
  let enough: (() => void) | undefined;
  let wanted = Number.POSITIVE_INFINITY;
  let cpu = cpuSeconds();
  return {
    saw(annotations) {
      const at = annotations?.[STAMP];
      if (at === undefined) return;
      latencyMs.push(stamp() - Number(at));
      if (latencyMs.length >= wanted) enough?.();
    },
    async updates({ url, ca, kind, count }) {
      latencyMs = [];
      wanted = count;
      const { promise, resolve } = Promise.withResolvers<void>();
      enough = resolve;
      get(`${url}/bench/updates?plural=${kind.plural}&count=${count}`, { ca }, (answer) => answer.resume());
      await promise;
      // What was put off until after the updates before counts, too.
      const before = cpu;
      cpu = cpuSeconds();
      return { latencyMs, cpuSeconds: cpu - before };
    },
  };
}

/** Heap that is in use after a collection. */
function keptHeapMB(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}
