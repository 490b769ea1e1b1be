/** Our side of the benchmark: publishes what each line of stdin asks for, through the store that the operator uses. */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { templateStore } from '@drydock/templates';
import { TEST_KEYS } from '@drydock/templates/testing';
import { connectVCenter } from '@drydock/vsphere';
import { answerJobs, cpuSeconds, memoryMB } from '../answer.ts';
import type { ImportJob, ImportResult } from './job.ts';

/** A store and a session per job, so that nothing that a former job verified or looked up is known. */
async function publish(job: ImportJob): Promise<ImportResult> {
  const cpu = cpuSeconds();
  const started = performance.now();
  await using vcenter = connectVCenter({
    url: job.url,
    credentials: async () => ({ user: job.user, password: job.password }),
    tls: { ca: readFileSync(job.ca, 'utf8') },
  });
  // An image at a file URL is verified and read in place: nothing is written there.
  await using store = templateStore({
    vcenters: async () => vcenter,
    cacheDir: join(tmpdir(), 'drydock-bench-unused'),
    markKeys: async () => TEST_KEYS,
  });
  const published = await store.publish(
    {
      cluster: 'bench',
      base: job.name,
      image: { release: '1', location: pathToFileURL(job.ova).href, sha256: job.sha256 },
      placement: {
        server: vcenter.server,
        failureDomain: 'bench',
        datacenter: job.datacenter,
        folder: job.folder,
        datastore: job.datastore,
        resourcePool: `${job.cluster}/Resources`,
        computeCluster: job.cluster,
        networks: [job.network],
      },
      tagName: job.tag,
      tagIds: [],
      holder: `bench-${process.pid}`,
    },
    { holderIsLive: () => undefined },
  );
  const wallSeconds = (performance.now() - started) / 1000;
  const spent = cpuSeconds() - cpu;
  if (published.uploads !== 1) throw new Error(`expected one upload, but there were ${published.uploads}`);
  return { name: published.name, wallSeconds, cpuSeconds: spent, peakRssMB: memoryMB('VmHWM') };
}

await answerJobs(publish);
