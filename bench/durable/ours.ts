/** Our side: replaces a directory with `syncDir`, or installs a revision with the installer that `drydock node install` runs. */
import { join } from 'node:path';
import { ConfigMap, Secret } from '@drydock/api';
import { type FsOps, nodeOps, syncDir } from '@drydock/durable';
import { memoryCluster } from '@drydock/kube/testing';
import { install } from '@drydock/static-pods';
import { answerJobs } from '../answer.ts';
import { contentOf, type DurableJob, type DurableResult, fileName, POD, podOf } from './job.ts';

const NAMESPACE = 'bench';

let fsyncs = 0;
const ops: FsOps = {
  ...nodeOps,
  fsync: (file) => {
    fsyncs += 1;
    return nodeOps.fsync(file);
  },
};

async function run(job: DurableJob): Promise<DurableResult> {
  const act = job.do === 'directory' ? directory(job) : revision(job);
  fsyncs = 0;
  const started = performance.now();
  await act();
  return { wallMs: performance.now() - started, fsyncs };
}

/** Prepares the content, and returns what is timed. */
function directory({ target, ...job }: DurableJob & { do: 'directory' }): () => Promise<unknown> {
  const files = new Map(filesOf(job).map(([name, content]) => [name, { content: Buffer.from(content), mode: 0o600 }]));
  return () => syncDir({ target, files, ops });
}

/** The objects wait in a cluster in memory: what is timed is the whole installer but the network. */
function revision({ root, generation, ...job }: DurableJob & { do: 'revision' }): () => Promise<unknown> {
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  const secrets: string[] = [];
  const configmaps: string[] = [];
  for (let index = 0; index < job.objects; index++) {
    const name = `object-${index}`;
    const key = { namespace: NAMESPACE, name: `${name}-${generation}` };
    const data = filesOf({ ...job, generation });
    if (index % 2 === 0) {
      secrets.push(name);
      const encoded = data.map(([file, content]) => [file, Buffer.from(content).toString('base64')] as const);
      cluster.put(Secret, key, { data: Object.fromEntries(encoded) });
    } else {
      configmaps.push(name);
      cluster.put(ConfigMap, key, { data: Object.fromEntries(data) });
    }
  }
  const pod = { namespace: NAMESPACE, name: `${POD}-${generation}` };
  cluster.put(ConfigMap, pod, { data: { 'pod.yaml': podOf(generation) } });
  const spec = {
    revision: String(generation),
    nodeName: 'bench',
    namespace: NAMESPACE,
    pod: POD,
    sources: { secrets, configmaps },
    resourceDir: join(root, 'resources'),
    manifestDir: join(root, 'manifests'),
  };
  return () => install(spec, { client: cluster.client(), installers: false, ops });
}

function filesOf(job: {
  readonly files: number;
  readonly bytes: number;
  readonly generation: number;
}): [string, string][] {
  return Array.from({ length: job.files }, (_, index) => [
    fileName(index),
    contentOf(job.generation, index, job.bytes),
  ]);
}

await answerJobs(run);
