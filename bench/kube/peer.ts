/**
 * The side of `@kubernetes/client-node`: its typed API where it has one, its informer where we have a cache. With `--tuned` it has what a careful user adds: one
 * dispatcher for all calls, whose connections stay open, and no field owners in what is kept.
 */
import {
  CoreV1Api,
  CustomObjectsApi,
  HttpMethod,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
  RequestContext,
} from '@kubernetes/client-node';
import { answerJobs } from '../answer.ts';
import { type BenchKind, type KubeJob, type KubeResult, ONE, type Target } from './job.ts';
import { measureCalls, measureList, updateMeter } from './measure-client.ts';

const tuned = process.argv.includes('--tuned');

/** Makes the dispatcher and the headers of the first call those of all. */
class OneDispatcher extends KubeConfig {
  #first: Promise<RequestContext> | undefined;

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    this.#first ??= this.#authenticated(context.getUrl());
    const first = await this.#first;
    for (const [name, value] of Object.entries(first.getHeaders())) context.setHeaderParam(name, value);
    const dispatcher = first.getDispatcher();
    if (dispatcher !== undefined) context.setDispatcher(dispatcher);
  }

  async #authenticated(url: string): Promise<RequestContext> {
    const context = new RequestContext(url, HttpMethod.GET);
    await super.applySecurityAuthentication(context);
    return context;
  }
}

function configOf({ url, ca }: Target): KubeConfig {
  const config = tuned ? new OneDispatcher() : new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'bench', server: url, caData: Buffer.from(ca).toString('base64') }],
    users: [{ name: 'bench', token: 'bench' }],
    contexts: [{ name: 'bench', cluster: 'bench', user: 'bench' }],
    currentContext: 'bench',
  });
  return config;
}

async function listAll(config: KubeConfig, kind: BenchKind): Promise<KubernetesListObject<KubernetesObject>> {
  if (kind.group === '') return config.makeApiClient(CoreV1Api).listConfigMapForAllNamespaces();
  const { group, version, plural } = kind;
  const list: unknown = await config
    .makeApiClient(CustomObjectsApi)
    .listClusterCustomObject({ group, version, plural });
  return list as KubernetesListObject<KubernetesObject>;
}

function withoutOwners(object: KubernetesObject): KubernetesObject {
  // Not deleted: V8 would keep the rest in a dictionary, which is bigger.
  if (object.metadata !== undefined) (object.metadata as { managedFields?: unknown }).managedFields = undefined;
  return object;
}

const meter = updateMeter();
/** What lives until the process ends. */
await using kept = new AsyncDisposableStack();

async function measure(job: KubeJob): Promise<KubeResult> {
  const config = configOf(job);
  switch (job.do) {
    case 'gets': {
      const api = config.makeApiClient(CoreV1Api);
      const request = { namespace: 'namespace-0', name: ONE };
      return measureCalls(() => api.readNamespacedConfigMap(request), job.count, job.atOnce);
    }
    case 'list':
      return measureList(async () => {
        const { items } = await listAll(config, job.kind);
        return tuned ? items.map(withoutOwners) : items;
      }, job.kind.count);
    case 'follow':
      return follow(config, job.kind);
    case 'updates':
      return meter.updates(job);
    case 'idle':
      throw new TypeError('the peer has no operator');
  }
}

async function follow(config: KubeConfig, kind: BenchKind): Promise<KubeResult> {
  const { group, version, plural } = kind;
  let stopping = false;
  const informer = makeInformer(config, `/apis/${group}/${version}/${plural}`, async () => {
    const list = await listAll(config, kind);
    if (tuned) list.items.forEach(withoutOwners);
    return list;
  });
  informer.on('update', (object) => {
    if (tuned) withoutOwners(object);
    meter.saw(object.metadata?.annotations);
  });
  informer.on('error', (error: unknown) => {
    // Stopping it is reported, too.
    if (!stopping) console.error('bench: the informer of client-node stopped:', error);
  });
  kept.defer(async () => {
    stopping = true;
    await informer.stop();
  });
  await informer.start();
  return {};
}

await answerJobs(measure);
