import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { writeTestOva } from '@drydock/templates/testing';
import { compared, type Figure } from '../measure.ts';
import { startOurWorker, type Worker } from '../worker.ts';
import { type Rig, startRig } from './rig.ts';

/** Ten failure domains of one vCenter, as the worker is told them: a line of JSON. */
export interface DomainsJob {
  readonly endpoint: Rig['endpoint'];
  readonly image: { readonly release: string; readonly location: string; readonly sha256: string };
  readonly domains: number;
  /** All at once, or one after the other. */
  readonly atOnce: boolean;
  /** Of the run: its own cache, and a folder per domain below it. */
  readonly cacheDir: string;
  readonly folder: string;
}

/** What the worker answers. */
export interface DomainsResult {
  readonly wallSeconds: number;
  /** VmHWM, in 10^6 bytes. */
  readonly peakRssMB: number;
}

const DOMAINS = 10;
const DISK_BYTES = 32 << 20;
/** What one import of a datastore takes: the simulator alone would take whatever two cores give. */
const BYTES_PER_SECOND = 32 << 20;
const TASK_MS = 150;

/** Ten failure domains at once, against the same store taking one after the other. */
export async function domains(report: (figure: Figure) => void, signal: AbortSignal): Promise<void> {
  await using rig = await startRig({ clusters: DOMAINS, hosts: 1, vms: 0 }, signal);
  const ova = await writeTestOva(join(rig.scratch, 'image.ova'), { version: '1', diskBytes: DISK_BYTES });
  await using images = await serveFile(ova.path);
  await using _uploads = await rig.switchboard.rule({ on: 'upload', do: 'throttle', bytesPerSecond: BYTES_PER_SECOND });
  await using _tasks = await rig.switchboard.rule({ on: 'ReconfigVM_Task', do: 'task', delayMs: TASK_MS });
  const image = { release: '1', location: images.url, sha256: ova.sha256 };
  const run = async (atOnce: boolean): Promise<DomainsResult & { readonly downloads: number }> => {
    const folder = `/DC0/vm/${atOnce ? 'at-once' : 'in-turn'}`;
    for (let domain = 0; domain < DOMAINS; domain++)
      await rig.switchboard.createFolder(`${folder}/${domain}`, { signal });
    // Disposed before the next one starts: each has the machine, and its memory, to itself.
    await using worker: Worker<DomainsJob, DomainsResult> = await startOurWorker(join(import.meta.dirname, 'ours.ts'));
    const before = images.downloads();
    const cacheDir = join(rig.scratch, basename(folder));
    const job = { endpoint: rig.endpoint, image, domains: DOMAINS, atOnce, cacheDir, folder };
    const result = await worker.run(job, signal);
    const templates = (await rig.switchboard.templates({ signal })).filter((vm) => vm.folder.startsWith(`${folder}/`));
    if (templates.length !== DOMAINS) throw new Error(`bench: ${templates.length} templates instead of ${DOMAINS}`);
    return { ...result, downloads: images.downloads() - before };
  };
  const inTurn = await run(false);
  const atOnce = await run(true);
  const common = { bench: 'templates', case: `${DOMAINS} failure domains`, lowerIsBetter: true } as const;
  report(
    compared({ ...common, metric: 'wall', unit: 's', ours: atOnce.wallSeconds, peer: inTurn.wallSeconds, goal: 0.5 }),
  );
  report({ ...common, metric: 'downloads', unit: '', ours: atOnce.downloads, goal: 1 });
  report(
    compared({ ...common, metric: 'peak RSS', unit: 'MB', ours: atOnce.peakRssMB, peer: inTurn.peakRssMB, goal: 1.5 }),
  );
}

interface FileServer extends AsyncDisposable {
  readonly url: string;
  /** How many GETs there were. */
  downloads(): number;
}

async function serveFile(path: string): Promise<FileServer> {
  const { size } = await stat(path);
  let downloads = 0;
  const server = createServer((request, response) => {
    response.setHeader('content-length', size);
    if (request.method === 'GET') {
      downloads++;
      createReadStream(path).pipe(response);
    } else response.end();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/image.ova`,
    downloads: () => downloads,
    async [Symbol.asyncDispose]() {
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      server.closeAllConnections();
      await closed;
    },
  };
}
