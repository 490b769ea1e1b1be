/** Publishes one template into each failure domain, through the store that the operator uses. */
import { templateStore } from '@drydock/templates';
import { TEST_KEYS } from '@drydock/templates/testing';
import { answerJobs, memoryMB } from '../answer.ts';
import type { DomainsJob, DomainsResult } from './domains.ts';
import { connect, wishFor } from './rig.ts';

async function publishAll(job: DomainsJob): Promise<DomainsResult> {
  const started = performance.now();
  await using vcenter = connect(job.endpoint);
  const markKeys = async () => TEST_KEYS;
  await using store = templateStore({ vcenters: async () => vcenter, cacheDir: job.cacheDir, markKeys });
  const publish = async (domain: number): Promise<void> => {
    const wish = wishFor(vcenter.server, `${job.folder}/${domain}`, job.image, { domain, base: `bench-${domain}` });
    await store.publish(wish, { holderIsLive: () => undefined });
  };
  const all = Array.from({ length: job.domains }, (_, domain) => domain);
  if (job.atOnce) await Promise.all(all.map(publish));
  else for (const domain of all) await publish(domain);
  return { wallSeconds: (performance.now() - started) / 1000, peakRssMB: memoryMB('VmHWM') };
}

await answerJobs(publishAll);
