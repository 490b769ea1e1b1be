import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@drydock/api';
import { DurableError, type FsCall, type FsOps, type FsTap, inspect, tapOps } from '@drydock/durable';
import { type Content, contentOf, type Image, memoryFs } from '@drydock/durable/testing';
import { memoryCluster } from '@drydock/kube/testing';
import { syncCerts } from './certs/cert-sync.ts';
import { StaticPodError } from './errors.ts';
import { monitorStartup } from './monitor/monitor.ts';
import { prune } from './prune/prune.ts';
import { MONITOR, monitorDisk, podOf } from './testing/monitor-world.ts';
import { NAMESPACE, putConfigMap, putSecret } from './testing/static-pod-world.ts';

// Every call to the disk that fails, one at a time: what is said, what readers see, and what one clean run makes of it. The installer's are with its model.

interface Program {
  readonly name: string;
  readonly image: () => Promise<Image>;
  act(ops: FsOps): Promise<unknown>;
  /** What readers look at; each is as before or as after an undisturbed run. */
  readonly paths: readonly string[];
}

async function sync(ops: FsOps, certificate: string, trust: boolean): Promise<void> {
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  putSecret(cluster, 'pair', { crt: certificate, key: certificate });
  if (trust) putConfigMap(cluster, 'trust', { ca: certificate });
  await syncCerts(
    {
      namespace: NAMESPACE,
      dir: '/certs',
      secrets: [{ name: 'pair' }],
      configmaps: [{ name: 'trust', optional: true }],
    },
    {
      client: cluster.client(),
      ops,
      lanes: 1,
      cached: (kind, name) =>
        kind === 'secrets'
          ? cluster.peek(Secret, { namespace: NAMESPACE, name })
          : cluster.peek(ConfigMap, { namespace: NAMESPACE, name }),
    },
  );
}

const LINK = '/resources/kube-apiserver-last-known-good';
const MAIN = '/manifests/kube-apiserver-pod.yaml';
const OWN = '/manifests/kube-apiserver-startup-monitor-pod.yaml';

const watch = (ready: boolean) => (ops: FsOps) =>
  monitorStartup(
    { ...MONITOR, timeoutMs: 1, pollMs: 1 },
    { ops, lanes: 1, ready: async () => ({ ready, reason: 'Test', message: 'says the test' }) },
  );

const programs: readonly Program[] = [
  {
    name: 'cert syncer',
    image: async () => {
      const fs = memoryFs();
      await sync(fs, 'old', true);
      return fs.now();
    },
    act: (ops) => sync(ops, 'new', false),
    paths: ['/certs/secrets/pair', '/certs/configmaps/trust'],
  },
  {
    name: 'pruner',
    image: () => monitorDisk({ manifest: podOf(8), good: 7 }),
    act: (ops) =>
      prune(
        { resourceDir: '/resources', staticPod: 'kube-apiserver-pod', maxEligibleRevision: 7, protectedRevisions: [] },
        { ops, lanes: 1 },
      ),
    paths: [6, 7, 8].map((revision) => `/resources/kube-apiserver-pod-${revision}`),
  },
  {
    name: 'monitor, ready',
    image: () => monitorDisk({ manifest: podOf(8), good: 7 }),
    act: watch(true),
    paths: [LINK, MAIN, OWN],
  },
  {
    name: 'monitor, fallback',
    // With one revision to choose: another one that cannot be read would be passed over.
    image: () => monitorDisk({ manifest: podOf(8), revisions: [7, 8] }),
    act: watch(false),
    paths: [LINK, MAIN, OWN],
  },
];

for (const program of programs)
  test(`${program.name}: each call that fails is an error with a place or has no consequence; readers see old or new, and one clean run completes it`, async (t) => {
    const { paths } = program;
    const act = (ops: FsOps): Promise<unknown> => program.act(ops);
    const image = await program.image();
    const calls: FsCall[] = [];
    const whole = memoryFs({ image });
    await act(
      tapOps(whole, (call, go) => {
        calls.push(call);
        return go();
      }),
    );
    const text = (disk: Image, path: string): string | undefined =>
      JSON.stringify(contentOf(disk, path) satisfies Content | undefined);
    let failed = 0;
    for (const [index, { op, path }] of calls.entries()) {
      const what = `call ${index}, ${op} ${path}`;
      const fs = memoryFs({ image });
      const error: unknown = await act(tapOps(fs, failAt(index))).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error !== undefined) failed += 1;
      const isPlaced =
        error === undefined ||
        (error instanceof DurableError && error.errno === 'EIO' && error.path.startsWith('/')) ||
        (error instanceof StaticPodError && error.code === 'INCOMPLETE' && error.message.includes('EIO'));
      assert.ok(isPlaced, `${what}: ${String(error)}`);
      for (const at of paths)
        assert.ok([text(image, at), text(whole.now(), at)].includes(text(fs.now(), at)), `${what}: ${at} is torn`);
      const again = memoryFs({ image: fs.now() });
      await act(again);
      for (const at of paths)
        assert.equal(text(again.now(), at), text(whole.now(), at), `${what}, then a clean run: ${at}`);
      const { leftovers } = await inspect('/', { ops: again });
      // A monitor that is gone does not come back for its trash; the next installation removes it.
      const left = leftovers.filter((one) => one.target !== OWN);
      assert.deepEqual(left, [], `${what}, then a clean run`);
    }
    t.diagnostic(`${calls.length} failing calls: ${failed} errors`);
    assert.ok(failed > 10);
  });

/** Lets one call fail. */
function failAt(index: number): FsTap {
  let seen = -1;
  return (call, go) => {
    seen += 1;
    if (seen !== index) return go();
    return Promise.reject(Object.assign(new Error(`EIO: ${call.op} ${call.path}`), { code: 'EIO' }));
  };
}
