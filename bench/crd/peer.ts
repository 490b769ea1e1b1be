/** The peer: the server is asked about each object by a dry-run update, with nothing between the sockets and its answers. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { createClient, type KubeObject, loadKubeconfig } from '@drydock/kube';
import { clusterCrds } from '@drydock/preflight';
import { answerJobs } from '../answer.ts';
import { resourceOf } from './cluster.ts';
import type { WriteJob, WriteResult } from './job.ts';

interface Write {
  readonly path: string;
  readonly body: string;
}

async function measure(job: WriteJob): Promise<WriteResult> {
  // What the writes need is there before the clock runs.
  const writes = await prepare(job.kubeconfig, job.count);
  const { atOnce, ca, certificate, privateKey, server } = job;
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce, ca, cert: certificate, key: privateKey });
  let refused = 0;
  const since = performance.now();
  const queue = writes.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const { path, body } of queue)
        if ((await put(`${server}${path}?dryRun=All`, body, agent)) >= 300) refused += 1;
    }),
  );
  const seconds = (performance.now() - since) / 1000;
  agent.destroy();
  return { seconds, writes: writes.length, refused };
}

/** Resolves to the status of the answer, when all of it is there. */
async function put(url: string, body: string, agent: Agent): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    accept: 'application/json',
  };
  const call = request(url, { method: 'PUT', headers, agent });
  call.end(body);
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
}

async function prepare(kubeconfig: string, count: number): Promise<readonly Write[]> {
  await using client = createClient(await loadKubeconfig({ kubeconfig }));
  const { crds } = await clusterCrds(client);
  const writes: Write[] = [];
  for (const crd of crds) {
    const resource = resourceOf(crd);
    for await (const object of client.list(resource)) {
      const { name, labels } = object.metadata;
      const touched: KubeObject = {
        ...object,
        metadata: { ...object.metadata, labels: { ...labels, touched: 'yes' } },
      };
      const body = JSON.stringify({ apiVersion: `${crd.group}/${resource.version}`, kind: crd.kind, ...touched });
      writes.push({ path: `/apis/${crd.group}/${resource.version}/${crd.plural}/${name}`, body });
    }
  }
  // Of every kind alike, where not all are wanted.
  return count >= writes.length ? writes : writes.filter((_, index) => index % Math.floor(writes.length / count) === 0);
}

await answerJobs(measure);
