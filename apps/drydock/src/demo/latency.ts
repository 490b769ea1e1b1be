import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createAuthority } from '@drydock/sandbox';
import { createWatcher } from '@drydock/vm-watch';
import { follow, type Moments, nowMicros, percentile } from '@drydock/vm-watch/testing';
import { connectVCenter, systemClock } from '@drydock/vsphere';
import { awaited, spent } from './patience.ts';
import type { Stage } from './stage.ts';
import type { FleetAddress, FleetData, FleetJob } from './synthetic-fleet.ts';

const PER_SECOND = 200;
/** The first changes of a process pay for its compiler. */
const WARM_UP = 0.2;
const READ_MS = 60_000;
const STALLED_MS = 20_000;
/** What the watch promises. */
const PROMISED_MS = 1_000;

/** How long a change takes to become a request, on a vCenter that costs nothing itself. */
export async function latency({ options, signal, tell }: Stage): Promise<void> {
  const { fleet } = options;
  const count = fleet.toLocaleString('en');
  tell.step(
    `${count} machines on the synthetic vCenter, a test double that speaks the protocol and has no work of its own`,
  );
  await using stack = new AsyncDisposableStack();
  const authority = createAuthority('demo');
  const workerData: FleetData = { machines: fleet, identity: authority.issueServer(['127.0.0.1']) };
  const server = new Worker(new URL('./synthetic-fleet.ts', import.meta.url), { workerData });
  stack.defer(async () => void (await server.terminate()));
  const said = async <T>(): Promise<T> => ((await once(server, 'message', { signal })) as [T])[0];
  const { url, user, password, folder } = await said<FleetAddress>();

  const vcenter = stack.use(
    connectVCenter({
      url,
      credentials: async () => ({ user, password }),
      tls: { ca: authority.certificate },
      env: {},
    }),
  );
  const machines: string[] = [];
  const at: number[] = [];
  const watcher = await createWatcher({
    feed: vcenter.updates,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    lookup: {
      named: () => undefined,
      byUniqueId: (uniqueId) => [{ namespace: '', name: uniqueId, uniqueId, deleting: false }],
    },
    deliver: ({ ref }) => {
      machines.push(ref.value);
      at.push(nowMicros());
    },
  });
  void watcher.supervisor.add({ type: 'Folder', value: folder }, 'demo');
  const stop = new AbortController();
  const began = performance.now();
  const running = watcher.run(AbortSignal.any([signal, stop.signal]));
  stack.defer(async () => {
    stop.abort();
    await running;
  });
  await awaited(() => (watcher.supervisor.state.name === 'live' && watcher.ledger.dirty === 0) || undefined, {
    deadline: READ_MS,
    signal,
    sentence: () => `the ${count} machines were not read within ${spent(READ_MS)}`,
  });
  tell.say(`all machines read in ${spent(performance.now() - began)}`);

  const run = async (changes: number): Promise<Moments> => {
    machines.length = 0;
    at.length = 0;
    const done = said<Moments>();
    server.postMessage({ changes, perSecond: PER_SECOND } satisfies FleetJob);
    const moments = await done;
    await awaited(() => follow(moments, { machines, at }).lost === 0 || undefined, {
      deadline: STALLED_MS,
      progress: () => at.length,
      signal,
      sentence: () => `${follow(moments, { machines, at }).lost} of ${changes} changes were lost`,
    });
    return moments;
  };
  await run(Math.ceil(fleet * WARM_UP));
  const moments = await run(fleet);
  const { latencyMs, lost } = follow(moments, { machines, at });
  const [p50, p99] = [percentile(latencyMs, 0.5), percentile(latencyMs, 0.99)];
  if (!(p99 < PROMISED_MS)) throw new Error(`from change to request p99 is ${spent(p99)}, and a second is promised`);
  tell.say(
    `${count} changes at ${PER_SECOND}/s, synthetic: from change to request p50 ${spent(p50)}, p99 ${spent(p99)}; lost changes: ${lost}`,
  );
}
