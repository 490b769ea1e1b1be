/** The synthetic vCenter of the demo, in a thread of its own so that it takes nothing from the watch but processor time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { type Moments, nowMicros } from '@drydock/vm-watch/testing';
import { FULL, startSyntheticVCenter, switchPower } from '@drydock/vsphere/testing';

/** What the thread is started with. */
export interface FleetData {
  readonly machines: number;
  readonly identity: { readonly certificate: string; readonly privateKey: string };
}

/** What it says first. */
export interface FleetAddress {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** Moref value of the folder with all machines. */
  readonly folder: string;
}

/** What it is told: to switch machines on or off, one after another. It answers with {@link Moments}. */
export interface FleetJob {
  readonly changes: number;
  readonly perSecond: number;
}

const port = parentPort;
if (port === null) throw new TypeError('this module runs in a worker thread');
const { machines, identity } = workerData as FleetData;
const server = await startSyntheticVCenter({ identity });
const folder = server.inventory.container('Folder', 'group-v1');
const moids = server.inventory.add(machines, folder, FULL);
let beat = 0;

port.on('message', (job: FleetJob) => {
  void change(job).then((moments) => port.postMessage(moments));
});
port.postMessage({ url: server.url, ...server.credentials, folder: folder.value } satisfies FleetAddress);

async function change({ changes, perSecond }: FleetJob): Promise<Moments> {
  const changed: string[] = [];
  const at: number[] = [];
  const began = performance.now();
  while (changed.length < changes) {
    const due = Math.min(changes, Math.floor(((performance.now() - began) / 1000) * perSecond));
    while (changed.length < due) {
      const moid = moids[beat % moids.length] ?? '';
      // They are on at first.
      const on = Math.floor(beat / moids.length) % 2 === 1;
      beat += 1;
      changed.push(moid);
      at.push(nowMicros());
      switchPower(server.inventory, moid, on);
    }
    await sleep(1);
  }
  return { machines: changed, at };
}
