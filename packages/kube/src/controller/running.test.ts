import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { request } from 'undici';
import { healthKeeper } from '../cache/watch-health.ts';
import type { Client } from '../client/client.ts';
import { ApiError } from '../errors.ts';
import { type Operator, type RunOptions, run } from '../manager/manager.ts';
import type { KubeObject } from '../resource.ts';
import { settle, virtualClock } from '../testing/clock.ts';
import { controller } from './controller.ts';
import { kubeMetrics } from './metrics.ts';
import type { Watched } from './source.ts';

function feed(...names: readonly string[]): Watched<KubeObject> {
  return {
    synced: Promise.resolve(),
    subscribe: (on) => {
      for (const name of names) on({ key: { name }, now: { metadata: { name } }, initial: true });
      return { [Symbol.dispose]: () => undefined };
    },
  };
}

interface Rig {
  readonly lines: { readonly msg: string; readonly object?: string; readonly controller?: string }[];
  readonly options: Omit<RunOptions, 'controllers' | 'caches'>;
}

function rig(clock = virtualClock(), signal = new AbortController().signal): Rig {
  const lines: Rig['lines'] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { lines, options: { client: {} as Client, http: { port: 0, host: '127.0.0.1' }, log, clock, signal } };
}

async function read(operator: Operator, path: string): Promise<readonly [number, string]> {
  const { statusCode, body } = await request(`http://127.0.0.1:${operator.port}${path}`, { reset: true });
  return [statusCode, await body.text()];
}

test('a reconcile that does not return is reported by name and age: log, metric, readiness detail, and the stop', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const { lines, options } = rig(clock, stop.signal);
  const gate = Promise.withResolvers<undefined>();
  const stuck = controller({
    name: 'sets',
    concurrency: 2,
    for: feed('fine', 'stuck'),
    reconcile: ({ name }) => (name === 'stuck' ? gate.promise : Promise.resolve(undefined)),
  });
  const operator = await run({ ...options, caches: {}, controllers: [stuck] });
  const warnings = () => lines.filter(({ msg }) => msg.includes('has not returned'));
  await clock.advance(59_000);
  assert.deepEqual([warnings().length, await read(operator, '/readyz/controller-sets')], [0, [200, 'ok']]);
  assert.deepEqual(stuck.running(), [{ key: { name: 'stuck' }, age: 59_000, hangs: false }]);
  await clock.advance(61_000);
  assert.deepEqual(
    warnings().map(({ msg, object, controller: name }) => [name, object, msg.slice(0, 36)]),
    [
      ['sets', 'stuck', 'reconcile has not returned for 60 s;'],
      ['sets', 'stuck', 'reconcile has not returned for 120 s'],
    ],
  );
  const [status, text] = await read(operator, '/readyz?verbose');
  assert.equal(status, 200);
  assert.match(text, /\[\+\]controller-sets ok: has not returned: stuck for 120 s\n/);
  const [, metrics] = await read(operator, '/metrics');
  assert.match(metrics, /drydock_hanging_reconcile_seconds\{controller="sets",object="stuck"\} 120\n/);

  stop.abort();
  await clock.advance(32_000);
  await assert.rejects(operator.finished, {
    code: 'StopTimeout',
    message: /sets \(stuck for 150 s\) did not stop in time/,
  });
  gate.resolve(undefined);
  await settle();
  assert.deepEqual(stuck.running(), []);
});

test('a drain that ends within its deadline is a clean stop', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const { options } = rig(clock, stop.signal);
  let wrote = false;
  const reconcile = async (_: unknown, { signal }: { readonly signal: AbortSignal }): Promise<undefined> => {
    await clock.sleep(20_000);
    wrote = !signal.aborted;
  };
  const operator = await run({
    ...options,
    caches: {},
    controllers: [controller({ name: 'c', for: feed('a'), reconcile })],
  });
  await settle();
  stop.abort();
  await clock.advance(20_000);
  await operator.finished;
  assert.equal(wrote, true);
});

test('WatchHealthy per kind: readiness says why a cache is not synced, remarks on a broken watch, and metrics have both', async () => {
  const clock = virtualClock();
  const { options } = rig(clock);
  const synced = Promise.withResolvers<void>();
  const secrets = healthKeeper('Secret', clock);
  const nodes = healthKeeper('Node', clock);
  nodes.listed();
  nodes.opened();
  const caches = {
    secrets: { synced: synced.promise, health: () => secrets.read(), [Symbol.asyncDispose]: async () => undefined },
    nodes: { synced: Promise.resolve(), health: () => nodes.read(), [Symbol.asyncDispose]: async () => undefined },
  };
  await using operator = await run({ ...options, caches, controllers: [] });
  secrets.failed(new ApiError({ code: 'Forbidden', action: 'list Secrets', said: 'secrets is forbidden' }));
  await clock.advance(7_000);
  const [status, text] = await read(operator, '/readyz');
  assert.equal(status, 500);
  assert.match(text, /\[-\]cache-secrets failed: not synced: list Secrets: secrets is forbidden\. Grant the verb/);
  assert.match(text, /\[\+\]cache-nodes ok\n/);

  secrets.listed();
  synced.resolve();
  nodes.failed(new Error('ECONNREFUSED'));
  nodes.failed(new Error('ECONNREFUSED'));
  await clock.advance(5_000);
  assert.deepEqual(await read(operator, '/readyz'), [200, 'ok']);
  assert.match(
    (await read(operator, '/readyz?verbose'))[1],
    /cache-nodes ok: WatchHealthy is false for 5 s: ECONNREFUSED\n/,
  );
  const [, metrics] = await read(operator, '/metrics');
  for (const line of [
    'drydock_watch_healthy{cache="secrets",kind="Secret"} 1',
    'drydock_watch_healthy{cache="nodes",kind="Node"} 0',
    'drydock_watch_broken_seconds{cache="nodes",kind="Node"} 5',
    'drydock_watch_failures_total{cache="nodes",kind="Node"} 2',
    'drydock_watch_lists_total{cache="secrets",kind="Secret"} 1',
    'drydock_watch_opened_total{cache="nodes",kind="Node"} 1',
  ]) {
    assert.ok(metrics.includes(`${line}\n`), line);
  }
  nodes.opened();
  assert.deepEqual(nodes.read(), {
    kind: 'Node',
    synced: true,
    healthy: true,
    brokenFor: 0,
    lists: 1,
    watches: 2,
    failures: 2,
  });
  assert.equal(kubeMetrics().registry.getSingleMetric('drydock_watch_healthy') !== undefined, true);
});
