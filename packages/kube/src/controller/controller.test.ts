import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import type { Change } from '../cache/cache.ts';
import { ApiError, Terminal } from '../errors.ts';
import type { KubeObject } from '../resource.ts';
import { settle, type VirtualClock, virtualClock } from '../testing/clock.ts';
import { type Controller, controller, type Reconcile } from './controller.ts';
import { type KubeMetrics, kubeMetrics } from './metrics.ts';
import { annotationsChanged, deleting, generationChanged, or } from './predicates.ts';
import { on, ownerOf, type Watched } from './source.ts';

/** A cache that is told what to report. */
class Feed implements Watched<KubeObject> {
  readonly objects: Map<string, KubeObject> = new Map();
  readonly #subscribers = new Set<(change: Change<KubeObject>) => void>();
  readonly synced: Promise<void>;

  constructor(names: readonly string[] = [], synced: Promise<void> = Promise.resolve()) {
    this.synced = synced;
    for (const name of names) this.objects.set(name, object(name));
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  subscribe(onChange: (change: Change<KubeObject>) => void): Disposable {
    for (const now of this.objects.values()) onChange({ key: { name: now.metadata.name }, now, initial: true });
    this.#subscribers.add(onChange);
    return { [Symbol.dispose]: () => void this.#subscribers.delete(onChange) };
  }

  set(now: KubeObject): void {
    const { name } = now.metadata;
    const old = this.objects.get(name);
    this.objects.set(name, now);
    for (const tell of this.#subscribers)
      tell({ key: { name }, now, initial: false, ...(old === undefined ? {} : { old }) });
  }
}

function object(name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { metadata: { name, uid: name, generation: 1, ...more } };
}

interface Rig {
  readonly stop: AbortController;
  readonly abort: AbortController;
  readonly clock: VirtualClock;
  readonly metrics: KubeMetrics;
  readonly done: Promise<void>;
}

function start(subject: Controller): Rig {
  const rig = {
    stop: new AbortController(),
    abort: new AbortController(),
    clock: virtualClock(),
    metrics: kubeMetrics(),
  };
  const log = pino({ level: 'silent' });
  const { clock, metrics } = rig;
  return { ...rig, done: subject.run({ log, metrics, clock, signal: rig.stop.signal, abort: rig.abort.signal }) };
}

async function count(
  metrics: KubeMetrics,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const metric = await metrics.registry.getSingleMetric(name)?.get();
  const value = metric?.values.find((one) =>
    Object.entries(labels).every(([key, text]) => (one.labels as Record<string, unknown>)[key] === text),
  );
  assert.ok(value !== undefined, `no metric ${name}`);
  return value.value;
}

function recorder(answers: Partial<Record<string, () => ReturnType<Reconcile>>> = {}): {
  seen: string[];
  reconcile: Reconcile;
} {
  const seen: string[] = [];
  return {
    seen,
    reconcile: async (key) => {
      seen.push(key.name);
      return answers[key.name]?.();
    },
  };
}

test('what a cache holds already, what changes and what others point at is reconciled; nothing before the caches are synced', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sets = new Feed(['a'], promise);
  const machines = new Feed();
  const { seen, reconcile } = recorder();
  const rig = start(controller({ name: 'c', for: sets, watches: [on(machines, ownerOf('MachineSet'))], reconcile }));
  await settle();
  assert.deepEqual(seen, []);
  resolve();
  await settle();
  assert.deepEqual(seen, ['a']);
  sets.set(object('b'));
  const owner = { apiVersion: 'v1', kind: 'MachineSet', name: 'owner', uid: 'u', controller: true };
  machines.set(object('m', { ownerReferences: [owner] }));
  machines.set(object('orphan'));
  await settle();
  assert.deepEqual(seen, ['a', 'b', 'owner']);
  rig.stop.abort();
  await rig.done;
  assert.deepEqual([sets.subscribers, machines.subscribers], [0, 0]);
});

test('what changes now is reconciled before what the first list brought', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sets = new Feed(['a', 'b', 'c'], promise);
  const { seen, reconcile } = recorder();
  const rig = start(controller({ name: 'c', for: sets, reconcile }));
  sets.set(object('new'));
  sets.set(object('c', { generation: 2 }));
  resolve();
  await settle();
  assert.deepEqual(seen, ['new', 'c', 'a', 'b']);
  rig.stop.abort();
  await rig.done;
});

test('predicates let through spec changes, annotations, deletion and replacement, and nothing else', async () => {
  const sets = new Feed();
  const { seen, reconcile } = recorder();
  const when = or(generationChanged, annotationsChanged, deleting);
  const rig = start(controller({ name: 'c', for: sets, when, reconcile }));
  const steps: readonly [Partial<KubeObject['metadata']>, boolean][] = [
    [{}, true],
    [{ resourceVersion: '2' }, false],
    [{ labels: { a: 'b' } }, false],
    [{ generation: 2 }, true],
    [{ generation: 2, annotations: { a: 'b' } }, true],
    [{ generation: 2, annotations: { a: 'b' }, resourceVersion: '9' }, false],
    [{ generation: 2, annotations: { a: 'b' }, deletionTimestamp: 'now' }, true],
    [{ generation: 2, annotations: { a: 'b' }, uid: 'another' }, true],
  ];
  for (const [more, expected] of steps) {
    await settle();
    seen.length = 0;
    sets.set(object('a', more));
    await settle();
    assert.equal(seen.length === 1, expected, JSON.stringify(more));
  }
  rig.stop.abort();
  await rig.done;
});

test('outcomes: after, error with back-off, terminal, panic; each counted under the known names', async () => {
  const fail = (error: unknown) => (): ReturnType<Reconcile> => Promise.reject(error);
  const busy = new ApiError({ code: 'TooManyRequests', action: 'get', said: 'busy', retryAfter: 5_000 });
  const { seen, reconcile } = recorder({
    later: () => Promise.resolve({ after: 60_000 }),
    fails: fail(new Error('no')),
    hopeless: fail(new Terminal('never')),
    buggy: fail(new TypeError('x is undefined')),
    asked: fail(busy),
  });
  const backOff = { first: 100, longest: 400 };
  const names = ['fine', 'later', 'fails', 'hopeless', 'buggy', 'asked'];
  const rig = start(controller({ name: 'c', concurrency: 2, for: new Feed(names), reconcile, backOff }));
  const runs = (name: string): number => seen.filter((one) => one === name).length;
  await rig.clock.advance(0);
  assert.deepEqual([...seen].sort(), [...names].sort());
  await rig.clock.advance(750);
  assert.deepEqual(names.map(runs), [1, 1, 4, 1, 4, 1]);
  await rig.clock.advance(59_250);
  assert.deepEqual([runs('fine'), runs('later'), runs('hopeless')], [1, 2, 1]);
  assert.equal(runs('asked'), 13, 'no sooner than the server asked for');
  rig.stop.abort();
  await rig.done;
  const of = { controller: 'c' };
  assert.equal(await count(rig.metrics, 'controller_runtime_reconcile_total', { ...of, result: 'success' }), 1);
  assert.equal(await count(rig.metrics, 'controller_runtime_reconcile_total', { ...of, result: 'requeue_after' }), 2);
  assert.equal(await count(rig.metrics, 'controller_runtime_terminal_reconcile_errors_total', of), 1);
  assert.equal(await count(rig.metrics, 'controller_runtime_reconcile_panics_total', of), runs('buggy'));
  assert.equal(await count(rig.metrics, 'controller_runtime_max_concurrent_reconciles', of), 2);
  assert.equal(await count(rig.metrics, 'controller_runtime_active_workers', of), 0);
  assert.equal(await count(rig.metrics, 'workqueue_retries_total', of), runs('fails') + runs('buggy') + runs('asked'));
});

test('OWN-21 success ends the back-off: the next failure is tried again after the first delay', async () => {
  const feed = new Feed(['a']);
  let fails = true;
  const { seen, reconcile } = recorder({
    a: () => (fails ? Promise.reject(new Error('no')) : Promise.resolve(undefined)),
  });
  const rig = start(controller({ name: 'c', for: feed, reconcile, backOff: { first: 100, longest: 100_000 } }));
  for (const delay of [0, 100, 200]) await rig.clock.advance(delay);
  assert.equal(seen.length, 3);
  fails = false;
  await rig.clock.advance(400);
  assert.equal(seen.length, 4, 'it went well');
  fails = true;
  feed.set(object('a', { generation: 2 }));
  await rig.clock.advance(0);
  assert.equal(seen.length, 5, 'it failed again');
  await rig.clock.advance(100);
  assert.equal(seen.length, 6);
  rig.stop.abort();
  await rig.done;
});

test('a reconcile beyond its time limit is ended by its signal and counted', async () => {
  const reconcile: Reconcile = (_, { signal }) =>
    new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const rig = start(
    controller({ name: 'c', for: new Feed(['a']), reconcile, timeout: 1_000, backOff: { first: 1e6 } }),
  );
  await rig.clock.advance(999);
  assert.equal(await count(rig.metrics, 'controller_runtime_active_workers'), 1);
  await rig.clock.advance(1);
  assert.equal(await count(rig.metrics, 'controller_runtime_reconcile_timeouts_total'), 1);
  assert.equal(await count(rig.metrics, 'controller_runtime_active_workers'), 0);
  rig.stop.abort();
  await rig.done;
  assert.equal(rig.clock.sleeping, 0);
});

test('a stop takes no more keys and waits for what runs; keys never run twice at a time', async () => {
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  let most = 0;
  let now = 0;
  const reconcile: Reconcile = async (key) => {
    seen.push(key.name);
    most = Math.max(most, ++now);
    await gate.promise;
    now--;
    return undefined;
  };
  const sets = new Feed(['a']);
  const subject = controller({ name: 'c', concurrency: 4, for: sets, reconcile });
  const rig = start(subject);
  await settle();
  subject.enqueue({ name: 'a' });
  await settle();
  rig.stop.abort();
  sets.set(object('b'));
  let over = false;
  const done = rig.done.then(() => {
    over = true;
  });
  await settle();
  assert.deepEqual([over, seen, most], [false, ['a'], 1]);
  gate.resolve();
  await done;
  assert.deepEqual(seen, ['a']);
});

test('an event that arrives during its own reconcile is reconciled again, with what it brought', async () => {
  const sets = new Feed(['a']);
  const gates: PromiseWithResolvers<undefined>[] = [];
  const seen: (number | undefined)[] = [];
  const reconcile: Reconcile = async ({ name }) => {
    seen.push(sets.objects.get(name)?.metadata.generation);
    const gate = Promise.withResolvers<undefined>();
    gates.push(gate);
    return gate.promise;
  };
  const rig = start(controller({ name: 'c', concurrency: 3, for: sets, reconcile }));
  await settle();
  for (const generation of [2, 3, 4]) sets.set(object('a', { generation }));
  await settle();
  assert.deepEqual(seen, [1], 'not beside itself');
  gates[0]?.resolve(undefined);
  await settle();
  assert.deepEqual(seen, [1, 4]);
  // Also when the one under way fails, or asks to be called later.
  sets.set(object('a', { generation: 5 }));
  gates[1]?.reject(new Error('no'));
  await settle();
  assert.deepEqual(seen, [1, 4, 5]);
  sets.set(object('a', { generation: 6 }));
  gates[2]?.resolve({ after: 3_600_000 } as unknown as undefined);
  await settle();
  assert.deepEqual(seen, [1, 4, 5, 6]);
  gates[3]?.resolve(undefined);
  rig.stop.abort();
  await rig.done;
});

test('a reconcile that asks for itself at once is slowed down like a failing one', async () => {
  const { seen, reconcile } = recorder({ a: () => Promise.resolve({ after: 0 }) });
  const rig = start(
    controller({ name: 'c', for: new Feed(['a']), reconcile, backOff: { first: 100, longest: 1_000 } }),
  );
  await rig.clock.advance(10_000);
  assert.ok(seen.length > 5 && seen.length < 20, `${seen.length} runs in 10 s`);
  rig.stop.abort();
  await rig.done;
  assert.equal(await count(rig.metrics, 'controller_runtime_reconcile_total', { result: 'requeue' }), seen.length);
});
