import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ApiError,
  type Cache,
  controller,
  createCache,
  createClient,
  isExpired,
  type KubeClient,
  type KubeObject,
  keyOf,
  keyText,
  leaderElection,
  loadKubeconfig,
  type Observer,
  type Resource,
  run,
} from '@drydock/kube';
import { generator } from '@drydock/model';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { pino } from 'pino';
import { request } from 'undici';
import {
  CONFIG_MAP,
  each,
  eventually,
  LEASE,
  NAMESPACE,
  ROLE,
  ROLE_BINDING,
  SECRET,
  SERVICE_ACCOUNT,
} from './support/kube-kinds.ts';

const namespace = 'resilience';
const log = pino({ level: 'silent' });
let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  for (const name of [namespace, 'locks', 'denied']) await client.create(NAMESPACE, { metadata: { name } });
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

type Kind = Resource<KubeObject>;
const want = 'drydock.dev/want';
const have = 'drydock.dev/have';
const of = ({ metadata }: KubeObject, annotation: string): string | undefined => metadata.annotations?.[annotation];

/** Repeats what the server's death interrupts, as a person with a shell would. */
async function insist<R>(call: () => Promise<R>): Promise<R | undefined> {
  for (let tries = 0; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof ApiError && ['AlreadyExists', 'NotFound'].includes(error.code) && tries > 0)
        return undefined;
      if (!(error instanceof ApiError && error.retriable) || tries > 500) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** An observer that notes when each kind was listed, by stream or by pages. */
function noting(inner: Observer): { readonly observer: Observer; readonly lists: Map<string, number[]> } {
  const lists = new Map<string, number[]>();
  const note = (kind: Kind): void => void lists.set(kind.kind, [...(lists.get(kind.kind) ?? []), performance.now()]);
  return {
    lists,
    observer: {
      pages: (resource, where, options) => {
        note(resource);
        return inner.pages(resource, where, options);
      },
      watchBatches: (resource, from, where, options) => {
        if (from.initialEvents === true) note(resource);
        return inner.watchBatches(resource, from, where, options);
      },
    },
  };
}

test('SIGKILL and restart of the API server under 5 controllers and 2,000 objects: nothing is lost, each kind that gets 410 is listed once more, with jitter', async (t) => {
  const kinds: readonly Kind[] = [CONFIG_MAP, SECRET, SERVICE_ACCOUNT, LEASE, ROLE];
  const objects = kinds.flatMap((kind) =>
    Array.from({ length: 400 }, (_, n) => ({ kind, key: { namespace, name: `o-${n}` } })),
  );
  const make = ({ kind, key }: (typeof objects)[number]): Promise<unknown> => {
    const extra = kind.kind === 'Role' ? { rules: [] } : {};
    return client.create(kind, { metadata: { ...key, annotations: { [want]: '1' } }, ...extra } as KubeObject);
  };
  await each(objects, 24, make);

  const random = generator(5);
  const { observer, lists } = noting(client);
  const caches: Record<string, Cache<KubeObject>> = {};
  const expired = new Set<string>();
  /** The restarted server remembers from its first version on: whoever saw the very last write before the kill may resume. */
  const listsOf = (kind: string): number => (expired.has(kind) ? 2 : 1);
  const controllers = kinds.map((kind) => {
    const cache = createCache({
      client: observer,
      resource: kind,
      where: { namespace },
      random,
      onError: (error) => {
        if (isExpired(error)) expired.add(kind.kind);
      },
    });
    caches[kind.kind] = cache;
    return controller({
      name: kind.kind,
      concurrency: 4,
      for: cache,
      backOff: { longest: 1_000 },
      retryRate: { perSecond: 100, burst: 500 },
      reconcile: async (key, { signal }) => {
        const object = cache.get(key);
        const wanted = object && of(object, want);
        if (object === undefined || wanted === of(object, have)) return;
        const { resourceVersion } = object.metadata;
        await client.mergePatch(
          kind,
          key,
          { metadata: { resourceVersion, annotations: { [have]: wanted } } },
          { signal },
        );
      },
    });
  });
  // Longer than any restart of the server takes, on a slow machine too.
  const patient = { leaseDuration: 150_000, renewDeadline: 120_000 };
  const leader = leaderElection({ client, namespace: 'locks', name: 'resilience', log, ...patient });
  await using operator = await run({
    client,
    caches,
    controllers,
    leader,
    http: { port: 0, host: '127.0.0.1' },
    log,
    signal: t.signal,
  });
  const converged = (): boolean =>
    Object.values(caches).every((cache) => [...cache.all()].every((object) => of(object, have) === of(object, want)));
  await eventually('the first pass', () => Object.values(caches).every(({ size }) => size === 400) && converged());

  let changed = 0;
  const changing = each(
    objects.filter((_, n) => n % 2 === 0),
    8,
    async ({ kind, key }, n) => {
      if (n % 20 === 0) await insist(() => client.delete(kind, key));
      else await insist(() => client.mergePatch(kind, key, { metadata: { annotations: { [want]: '2' } } }));
      if (n % 20 === 1) await insist(() => make({ kind, key: { namespace, name: `late-${n}` } }));
      changed += 1;
    },
  );
  await eventually('some changes', () => changed > 200);
  assert.ok(changed < 900, 'the rest is changed while the server is down or new');
  const killed = performance.now();
  await sandbox.apiserver.restart({ with: 'SIGKILL' });
  await changing;

  await eventually('each kind listed again, or resumed', () => {
    const settled = Object.entries(caches).every(([kind, cache]) => {
      const { healthy, lists, watches } = cache.health();
      return healthy && lists === listsOf(kind) && watches > 1;
    });
    return settled && expired.size >= kinds.length - 1;
  });
  for (const kind of kinds) {
    const cache = caches[kind.kind];
    assert.ok(cache !== undefined);
    await eventually(`${kind.kind} as the server has it`, async () => {
      const live = await Array.fromAsync(client.list(kind, { namespace }));
      const versions = live.map((object) => `${keyText(keyOf(object))} ${object.metadata.resourceVersion}`).sort();
      const cached = [...cache.all()]
        .map((object) => `${keyText(keyOf(object))} ${object.metadata.resourceVersion}`)
        .sort();
      const done = live.every((object) => of(object, have) === of(object, want));
      return done && versions.length === cached.length && versions.every((version, n) => version === cached[n]);
    });
    assert.equal(cache.size, 400, '10 were deleted and 10 created');
    assert.deepEqual([cache.health().lists, cache.health().healthy], [listsOf(kind.kind), true]);
  }
  const again = kinds.map(({ kind }) => (lists.get(kind) ?? []).filter((at) => at > killed));
  t.diagnostic(
    `lists after the kill, in ms: ${again.map((times) => times.map((at) => Math.round(at - killed)).join('+')).join(', ')}`,
  );
  for (const [n, { kind }] of kinds.entries()) assert.equal(again[n]?.length, listsOf(kind) - 1, `lists of ${kind}`);
  const sorted = again.flat().sort((a, b) => a - b);
  assert.ok((sorted.at(-1) ?? 0) - (sorted[0] ?? 0) > 50, 'all kinds were listed at the same moment');
  assert.equal(leader.leading, true, 'the outage was shorter than the renew deadline');
  const metrics = await request(`http://127.0.0.1:${operator.port}/metrics`, { reset: true });
  const counted = `drydock_watch_lists_total{cache="Lease",kind="Lease"} ${listsOf('Lease')}\n`;
  assert.ok((await metrics.body.text()).includes(counted), counted);
});

test('RBAC denial on one kind stops neither the others nor the process, is told in the readiness, and ends with the grant', async (t) => {
  const where = { namespace: 'denied' };
  const grant = async (name: string, resources: readonly string[]): Promise<void> => {
    const rules = [{ apiGroups: [''], resources, verbs: ['get', 'list', 'watch', 'patch'] }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'half' }];
    await client.create(ROLE, { metadata: { ...where, name }, rules });
    await client.create(ROLE_BINDING, { metadata: { ...where, name }, roleRef, subjects });
  };
  await grant('maps', ['configmaps']);
  await using half = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfigFor({ user: 'half' }) }));
  const seen: string[] = [];
  const caches: Record<string, Cache<KubeObject>> = {};
  const controllers = [CONFIG_MAP, SECRET].map((kind: Kind) => {
    const cache = createCache({ client: half, resource: kind, where, onError: () => undefined });
    caches[kind.kind] = cache;
    return controller({
      name: kind.kind,
      for: cache,
      reconcile: async ({ name }) => void seen.push(`${kind.kind} ${name}`),
    });
  });
  await client.create(SECRET, { metadata: { ...where, name: 'early' } });
  await using operator = await run({
    client: half,
    caches,
    controllers,
    http: { port: 0, host: '127.0.0.1' },
    log,
    signal: t.signal,
  });
  const ready = async (check: string): Promise<string> =>
    (await request(`http://127.0.0.1:${operator.port}/readyz/${check}?verbose`, { reset: true })).body.text();

  await client.create(CONFIG_MAP, { metadata: { ...where, name: 'a' } });
  await eventually('the permitted kind', () => seen.includes('ConfigMap a'));
  await eventually('the denial', async () => (await ready('cache-Secret')).includes('Grant the verb'));
  assert.match(await ready('cache-Secret'), /failed: not synced: .*secrets is forbidden: User "half"/);
  assert.match(await ready('cache-ConfigMap'), /^\[\+\]cache-ConfigMap ok\n/);
  assert.deepEqual(
    seen.filter((one) => one.startsWith('Secret')),
    [],
  );

  await grant('secrets', ['secrets']);
  await eventually('the granted kind', () => seen.includes('Secret early'));
  assert.match(await ready('cache-Secret'), /^\[\+\]cache-Secret ok\n/);
});
