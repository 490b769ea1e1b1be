/** The vCenter of the benchmark: synthetic machines of 17.7 kB each, and changes with the time at which they were made. */

import { nowMicros } from '@drydock/vm-watch/testing';
import { systemClock } from '@drydock/vsphere';
import { extraConfig, FULL, type SyntheticVCenter, startSyntheticVCenter, switchPower } from '@drydock/vsphere/testing';
import { answerJobs } from '../answer.ts';
import { percentile } from '../measure.ts';
import type { Changed, ServerJob, Target } from './job.ts';

const PAGE = 100;
const TICK_MS = 1;

let server: SyntheticVCenter | undefined;
/** By folder; and how many updates each has had. */
let folders: { readonly moids: readonly string[]; beat: number }[] = [];

await answerJobs<ServerJob>(async (job): Promise<Target | Changed> => {
  if (job.do === 'change') return change(job);
  await server?.[Symbol.asyncDispose]();
  server = await startSyntheticVCenter({ identity: job.identity });
  const { inventory } = server;
  const containers = Array.from({ length: job.folders }, (_, n) => inventory.container('Folder', `group-v${n + 1}`));
  folders = containers.map((folder) => ({ moids: inventory.add(job.machines, folder, FULL), beat: 0 }));
  const { user, password } = server.credentials;
  return { url: server.url, user, password, ca: job.ca, containers: containers.map(({ value }) => value) };
});
await server?.[Symbol.asyncDispose]();

async function change(job: ServerJob & { readonly do: 'change' }): Promise<Changed> {
  const vcenter = server;
  const folder = folders[job.folder];
  if (vcenter === undefined || folder === undefined) throw new Error('nothing is served');
  const machines: string[] = [];
  const at: number[] = [];
  let done = 0;
  const one = (): void => {
    const { moids, beat } = folder;
    const moid = moids[beat % moids.length] ?? '';
    // Every hundredth or so counts, each time another machine's.
    const counts = job.noise === 0 || (beat * 37) % 1000 >= job.noise * 1000;
    const on = Math.floor(beat / moids.length) % 2 === 1;
    folder.beat += 1;
    done += 1;
    if (counts) {
      machines.push(moid);
      at.push(nowMicros());
      switchPower(vcenter.inventory, moid, on);
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
    return { machines, at, lateMs: 0 };
  }
  const started = performance.now();
  let cut = started;
  let ticked = started;
  const late: number[] = [];
  while (done < job.updates) {
    const now = performance.now();
    late.push(now - ticked - TICK_MS);
    ticked = now;
    const due = Math.min(job.updates, Math.floor(((now - started) / 1000) * job.perSecond));
    while (done < due) one();
    if (job.resetEveryMs > 0 && now - cut >= job.resetEveryMs) {
      cut = now;
      vcenter.cutWaits();
    }
    await systemClock.sleep(TICK_MS);
  }
  return {
    machines,
    at,
    lateMs: percentile(late, 0.99),
  };
}
