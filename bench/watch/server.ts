/** The vCenter of the benchmark: synthetic machines of 17.7 kB each, and changes with the time at which they were made. */

import { systemClock } from '@drydock/vsphere';
import {
  extraConfig,
  FULL,
  guest,
  type SyntheticVCenter,
  startSyntheticVCenter,
  textVal,
} from '@drydock/vsphere/testing';
import { answerJobs } from '../answer.ts';
import { type Changes, nowMicros, type ServerJob, type Target } from './job.ts';

const PAGE = 100;
const TICK_MS = 1;

let server: SyntheticVCenter | undefined;
let moids: readonly string[] = [];
let beat = 0;

await answerJobs<ServerJob>(async (job): Promise<Target | Changes> => {
  if (job.do === 'change') return change(job);
  await server?.[Symbol.asyncDispose]();
  server = await startSyntheticVCenter({ identity: job.identity });
  const folder = server.inventory.container('Folder', 'group-v1');
  moids = server.inventory.add(job.machines, folder, FULL);
  const { user, password } = server.credentials;
  return { url: server.url, user, password, ca: job.ca, container: folder.value };
});
await server?.[Symbol.asyncDispose]();

/** One update, as a machine reports it that is powered on or off: three properties. */
function power({ inventory }: SyntheticVCenter, moid: string, on: boolean): void {
  inventory.set(moid, 'guestHeartbeatStatus', textVal(on ? 'green' : 'gray', 'ManagedEntityStatus'));
  inventory.set(moid, 'summary.guest', guest(on));
  inventory.set(
    moid,
    'summary.runtime.powerState',
    textVal(on ? 'poweredOn' : 'poweredOff', 'VirtualMachinePowerState'),
  );
}

async function change(job: ServerJob & { readonly do: 'change' }): Promise<Changes> {
  const vcenter = server;
  if (vcenter === undefined) throw new Error('nothing is served');
  const machines: string[] = [];
  const at: number[] = [];
  let done = 0;
  const one = (): void => {
    const moid = moids[beat % moids.length] ?? '';
    // Every hundredth or so counts, each time another machine's.
    const counts = job.noise === 0 || (beat * 37) % 1000 >= job.noise * 1000;
    const on = Math.floor(beat / moids.length) % 2 === 1;
    beat += 1;
    done += 1;
    if (counts) {
      machines.push(moid);
      at.push(nowMicros());
      power(vcenter, moid, on);
    } else vcenter.inventory.set(moid, 'config.extraConfig', extraConfig(beat));
  };
  if (job.perSecond === 0) {
    const all = Promise.withResolvers<void>();
    const page = (): void => {
      for (let n = 0; n < PAGE && done < job.updates; n += 1) one();
    };
    vcenter.onAnswered = page;
    vcenter.onIdle = () => {
      if (done >= job.updates) all.resolve();
      else page();
    };
    page();
    await all.promise;
    vcenter.onIdle = undefined;
    vcenter.onAnswered = undefined;
    return { machines, at };
  }
  const started = performance.now();
  let cut = started;
  while (done < job.updates) {
    const now = performance.now();
    const due = Math.min(job.updates, Math.floor(((now - started) / 1000) * job.perSecond));
    while (done < due) one();
    if (job.resetEveryMs > 0 && now - cut >= job.resetEveryMs) {
      cut = now;
      vcenter.cutWaits();
    }
    await systemClock.sleep(TICK_MS);
  }
  return { machines, at };
}
