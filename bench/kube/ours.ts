/** Our client's side of the benchmark. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type ClusterConfig,
  controller,
  createCache,
  createClient,
  fixedCredentials,
  type KubeClient,
  type KubeObject,
  type Resource,
  run,
} from '@drydock/kube';
import { pino } from 'pino';
import { answerJobs, memoryMB } from '../answer.ts';
import { type BenchKind, type KubeJob, type KubeResult, ONE, type Target } from './job.ts';
import { measureCalls, measureList, updateMeter } from './measure-client.ts';

const log = pino({ level: 'silent' });
const meter = updateMeter();
/** What lives until the process ends. */
await using kept = new AsyncDisposableStack();

function configOf({ url, ca }: Target): ClusterConfig {
  const credentials = fixedCredentials({ authorization: 'Bearer bench' });
  return { server: url, ca, context: 'bench', namespace: 'default', credentials };
}

function resourceOf({ group, version, kind, plural }: BenchKind): Resource<KubeObject> {
  return { group, version, kind, plural, scope: 'Namespaced' };
}

async function measure(job: KubeJob): Promise<KubeResult> {
  if (job.do === 'updates') return await meter.updates(job);
  if (job.do === 'follow') return await follow(job);
  await using client = createClient(configOf(job));
  switch (job.do) {
    case 'gets': {
      const kind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', count: 1 };
      const key = { namespace: 'namespace-0', name: ONE };
      return await measureCalls(() => client.get(resourceOf(kind), key), job.count, job.atOnce);
    }
    case 'list':
      return await measureList(() => Array.fromAsync(client.list(resourceOf(job.kind))), job.kind.count);
    case 'idle':
      return await idle(client, job);
  }
}

/** A cache and a controller over it: what an operator has. */
async function follow(job: KubeJob & { readonly do: 'follow' }): Promise<KubeResult> {
  const client = kept.use(createClient(configOf(job)));
  const cache = createCache({ client, resource: resourceOf(job.kind) });
  const seeing = controller({
    name: 'updates',
    for: cache,
    reconcile: async (key) => {
      meter.saw(cache.get(key)?.metadata.annotations);
      return undefined;
    },
  });
  const { signal } = new AbortController();
  kept.use(await run({ client, caches: { kind: cache }, controllers: [seeing], log, signal }));
  await cache.synced;
  return {};
}

/** Everything that an operator keeps, with nothing to do. */
async function idle(client: KubeClient, job: KubeJob & { readonly do: 'idle' }): Promise<KubeResult> {
  const caches = Object.fromEntries(
    job.kinds.map((kind) => [kind.plural, createCache({ client, resource: resourceOf(kind) })] as const),
  );
  const controllers = Object.entries(caches).map(([name, cache]) =>
    controller({ name, for: cache, reconcile: async () => undefined }),
  );
  await using _operator = await run({
    client,
    caches,
    controllers,
    http: { port: 0, host: '127.0.0.1' },
    log,
    signal: new AbortController().signal,
  });
  await Promise.all(Object.values(caches).map((cache) => cache.synced));
  await pause(job.seconds * 1000);
  const held = Object.values(caches).reduce((sum, { size }) => sum + size, 0);
  const expected = job.kinds.reduce((sum, { count }) => sum + count, 0);
  if (held !== expected) throw new Error(`${held} objects instead of ${expected}`);
  return { rssMB: memoryMB('VmRSS') };
}

await answerJobs(measure);
