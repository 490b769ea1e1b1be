/** Our side: what the release manager does for a Payload, by the same calls. */
import { createClient, type KubeClient, loadKubeconfig, systemClock } from '@drydock/kube';
import {
  type ApplyMemory,
  applyMemory,
  applyPayload,
  configMapInventory,
  folderStore,
  loadPayload,
  type Manifest,
  markHeapAtOnce,
  ociLayout,
  openshiftAudience,
  readKeyRing,
  readPayloadDirectory,
  readPayloadImage,
  select,
  verifyDigest,
  versionHash,
  type WatchedObjects,
  watchedObjects,
} from '@drydock/release';
import { answerJobs, cpuSeconds, memoryMB } from '../answer.ts';
import type { ReleaseJob, ReleaseResult } from './job.ts';

const never = new AbortController().signal;
let read: { readonly manifests: readonly Manifest[]; readonly version: string; readonly hash: string } | undefined;
let requests = 0;
/** What a manager keeps from one attempt to the next. */
let kept: { readonly client: KubeClient; readonly live: WatchedObjects; readonly memory: ApplyMemory } | undefined;

function keep(files: Parameters<typeof loadPayload>[0]): number {
  const payload = loadPayload(files);
  const { included } = select(payload.manifests, { audience: openshiftAudience });
  read = { manifests: included, version: payload.metadata.version, hash: versionHash(included) };
  return included.length;
}

async function load(job: ReleaseJob & { readonly do: 'load' }): Promise<number> {
  await using source = ociLayout(job.layout, undefined);
  const image = await readPayloadImage(source, { signal: never });
  await using store = folderStore(job.signatures);
  const rings = [await readKeyRing('bench', job.ring)];
  const { verified } = await verifyDigest(image.digest, { rings, stores: [store], signal: never });
  if (!verified) throw new Error('the image is not verified');
  return keep(image);
}

async function apply({ mode, kubeconfig }: ReleaseJob & { readonly do: 'apply' }): Promise<number> {
  if (read === undefined) throw new Error('nothing was read');
  const { manifests, version, hash } = read;
  kept ??= await started(kubeconfig);
  const { client, live, memory } = kept;
  await live.cover(manifests, never, { once: mode === 'initializing' });
  const outcome = await applyPayload(
    {
      payload: { version, image: 'registry.example.com/release', hash },
      ...{ manifests, mode, attempt: 0, owner: { name: 'Payload bench' } },
    },
    {
      ...{ client, live, memory, clock: systemClock, signal: never, onProgress: () => undefined },
      inventory: configMapInventory({ client, namespace: 'default' }),
    },
  );
  if (!outcome.complete) throw new Error(`not complete: ${outcome.errors[0]?.message ?? 'nothing was wrong'}`);
  return outcome.progress.done;
}

async function started(kubeconfig: string): Promise<NonNullable<typeof kept>> {
  const memory = applyMemory();
  const client = createClient(await loadKubeconfig({ kubeconfig }), {
    // As the role has them.
    connections: 32,
    http2: true,
    onRequest: () => {
      requests += 1;
    },
  });
  return { client, memory, live: watchedObjects({ client, memory, signal: never }) };
}

// As the role does.
markHeapAtOnce();
await answerJobs<ReleaseJob>(async (job): Promise<ReleaseResult> => {
  const before = { at: performance.now(), cpu: cpuSeconds(), requests };
  const manifests =
    job.do === 'load'
      ? await load(job)
      : job.do === 'read'
        ? keep(await readPayloadDirectory(job.folder))
        : await apply(job);
  return {
    seconds: (performance.now() - before.at) / 1000,
    cpuSeconds: cpuSeconds() - before.cpu,
    requests: requests - before.requests,
    ...{ manifests, rssMB: memoryMB('VmHWM') },
  };
});
await kept?.live[Symbol.asyncDispose]();
await kept?.client[Symbol.asyncDispose]();
