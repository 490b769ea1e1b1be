/** Our side of the benchmark: the watcher of the operator, whose requests are counted instead of queued. */
import { readFileSync } from 'node:fs';
import { nowMicros } from '@drydock/vm-watch/testing';
import { connectVCenter, systemClock } from '@drydock/vsphere';
import { createWatcher } from '../../packages/vm-watch/src/delivery/watcher.ts';
import { keepHeapSmall } from '../../packages/vm-watch/src/watch/small-heap.ts';
import { answerJobs, cpuSeconds, memoryMB } from '../answer.ts';
import type { WatchJob, WatchResult } from './job.ts';

// As the operator does when it begins.
keepHeapSmall();
const machines: string[] = [];
const at: number[] = [];
let cpu = cpuSeconds();

await answerJobs<WatchJob>(async (job) => {
  const started = performance.now();
  if (job.do === 'watch') {
    cpu = cpuSeconds();
    await watch(job);
  }
  const deadline = performance.now() + job.patienceMs;
  while (machines.length < job.requests && performance.now() < deadline) await systemClock.sleep(1);
  const now = cpuSeconds();
  const result: WatchResult = {
    wallSeconds: (performance.now() - started) / 1000,
    cpuSeconds: now - cpu,
    peakRssMB: memoryMB('VmHWM'),
    machines: machines.splice(0),
    at: at.splice(0),
  };
  cpu = now;
  return result;
});
// The watch would go on for ever.
process.exit(0);

async function watch(job: WatchJob & { readonly do: 'watch' }): Promise<void> {
  const client = connectVCenter({
    url: job.url,
    credentials: async () => ({ user: job.user, password: job.password }),
    tls: { ca: readFileSync(job.ca, 'utf8') },
  });
  const live = Promise.withResolvers<void>();
  const watcher = await createWatcher({
    feed: client.updates,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    lookup: {
      named: () => undefined,
      byUniqueId: (id) => (job.verified ? [{ namespace: 'ns', name: id, uniqueId: id, deleting: false }] : []),
    },
    deliver: ({ ref }) => {
      machines.push(ref.value);
      at.push(nowMicros());
    },
    onState: ({ name }) => {
      if (name === 'live') live.resolve();
    },
  });
  void watcher.supervisor.add({ type: 'Folder', value: job.container }, 'bench');
  void watcher.run(new AbortController().signal);
  await live.promise;
}
