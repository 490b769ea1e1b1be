import { strict as assert } from 'node:assert';
import {
  type Cache,
  type Clock,
  controller,
  createCache,
  type KubeObject,
  keyText,
  kubeMetrics,
  type Observer,
  on,
  type Resource,
} from '@drydock/kube';
import { CONFIG_MAP, type MemoryCluster, memoryCluster, SCENARIO_CRDS, WIDGET } from '@drydock/kube/testing';
import pino from 'pino';

const NAMESPACE = 'model';
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const KINDS: readonly Resource<KubeObject>[] = [WIDGET, CONFIG_MAP];
const log = pino({ level: 'silent' });

/** A server with a life of its own, the caches and the controller that follow it, and all that they were told. */
export interface KubeWorld extends AsyncDisposable {
  readonly cluster: MemoryCluster;
  /** One random change of one random object. */
  change(): void;
  /** Throws for the first property that does not hold. The server must stand still and the caches have had their time. */
  check(): void;
  /** The first wrong thing that a cache told, as soon as it told it. */
  readonly wrong: string | undefined;
}

/** How a world is laid out. */
export interface WorldOptions {
  readonly random: () => number;
  readonly clock: Clock;
  /** How often (0 to 1) a reconcile fails; asked each time. */
  readonly failing: () => number;
  readonly observer: (cluster: MemoryCluster) => Observer;
}

/** Checks that what a cache tells about each key is one history that only goes forward: nothing twice, nothing resurrected. */
class Told {
  readonly #newest = new Map<string, number>();
  readonly #now = new Map<string, string>();
  wrong: string | undefined;

  follow<T extends KubeObject>(kind: string, cache: Cache<T>): void {
    cache.subscribe(({ key, old, now }) => {
      const id = `${kind} ${keyText(key)}`;
      const before = this.#now.get(id);
      if (before === undefined ? old !== undefined : old === undefined)
        this.#blame(id, 'does not follow what was told before');
      if (now === undefined) {
        this.#now.delete(id);
        return;
      }
      const version = Number(now.metadata.resourceVersion);
      if (version <= (this.#newest.get(id) ?? 0)) this.#blame(id, `version ${version} came again`);
      this.#newest.set(id, version);
      this.#now.set(id, String(version));
    });
  }

  get keys(): ReadonlyMap<string, string> {
    return this.#now;
  }

  #blame(id: string, said: string): void {
    this.wrong ??= `${id}: ${said}`;
  }
}

/** Builds a world and starts its caches and its controller. */
export function kubeWorld({ random, clock, failing, observer }: WorldOptions): KubeWorld {
  const cluster = memoryCluster({ crds: SCENARIO_CRDS, namespaces: [NAMESPACE], clock });
  const pick = <T>(among: readonly T[]): T => among[Math.floor(random() * among.length)] as T;
  let changes = 0;
  const change = (): void => {
    changes += 1;
    const resource = pick(KINDS);
    const key = { namespace: NAMESPACE, name: pick(NAMES) };
    const gone = cluster.peek(resource, key) === undefined;
    if (!gone && random() < 0.3) cluster.put(resource, key, undefined);
    else cluster.put(resource, key, { spec: { size: changes }, data: { n: `${changes}` } } as Partial<KubeObject>);
  };
  for (let n = Math.floor(random() * 8); n > 0; n -= 1) change();

  const client = observer(cluster);
  const initial = random() < 0.5 ? 'stream' : 'pages';
  const cache = <T extends KubeObject>(resource: Resource<T>): Cache<T> =>
    createCache({
      client,
      resource,
      where: { namespace: NAMESPACE },
      initial,
      clock,
      random,
      onError: () => undefined,
    });
  const widgets = cache(WIDGET);
  const maps = cache(CONFIG_MAP);
  const told = new Told();
  told.follow('Widget', widgets);
  told.follow('ConfigMap', maps);

  const versionIn = (from: Cache<KubeObject>, name: string): string =>
    from.get({ namespace: NAMESPACE, name })?.metadata.resourceVersion ?? 'none';
  const seen = new Map<string, string>();
  const reconciler = controller({
    name: 'model',
    concurrency: 2,
    for: widgets,
    watches: [on(maps, ({ metadata: { name } }) => ({ namespace: NAMESPACE, name }))],
    backOff: { first: 5, longest: 10_000 },
    reconcile: async ({ name }, { signal }) => {
      const read = `${versionIn(widgets, name)} ${versionIn(maps, name)}`;
      // Time passes between reading and being done: an event in between must bring the key again.
      await clock.sleep(random() * 3000, { signal });
      if (random() < failing()) throw new Error('injected: the reconcile failed');
      seen.set(name, read);
      return undefined;
    },
  });
  const stop = new AbortController();
  const running = reconciler.run({ log, metrics: kubeMetrics(), clock, signal: stop.signal, abort: stop.signal });

  return {
    cluster,
    change,
    get wrong() {
      return told.wrong;
    },
    check: () => {
      assert.equal(told.wrong, undefined);
      const stored = (resource: Resource<KubeObject>, name: string): string =>
        cluster.peek(resource, { namespace: NAMESPACE, name })?.metadata.resourceVersion ?? 'none';
      for (const name of NAMES) {
        assert.equal(versionIn(widgets, name), stored(WIDGET, name), `the cache of Widget ${name} did not converge`);
        assert.equal(
          versionIn(maps, name),
          stored(CONFIG_MAP, name),
          `the cache of ConfigMap ${name} did not converge`,
        );
        for (const resource of KINDS) {
          const last = told.keys.get(`${resource.kind} ${NAMESPACE}/${name}`) ?? 'none';
          assert.equal(last, stored(resource, name), `the last state of ${resource.kind} ${name} was not told`);
        }
        const newest = `${stored(WIDGET, name)} ${stored(CONFIG_MAP, name)}`;
        assert.equal(
          seen.get(name) ?? 'none none',
          newest,
          `the last reconcile of ${name} did not see the newest state`,
        );
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all([widgets[Symbol.asyncDispose](), maps[Symbol.asyncDispose]()]);
      await running;
    },
  };
}

/** For negative controls: a resumption without a version, as some clients do it: whatever was deleted meanwhile is never heard of. */
export function forgetful(observer: Observer): Observer {
  return {
    pages: (...args) => observer.pages(...args),
    watchBatches: (resource, from, ...rest) =>
      observer.watchBatches(resource, { ...from, resourceVersion: '' }, ...rest),
  };
}
