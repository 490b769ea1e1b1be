import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, type Observer } from '@drydock/kube';
import { fastClock, faultyWire, httpAnswer, misbehavingServer } from '@drydock/kube/testing';
import { generator, seeds, withSeed } from '@drydock/model';
import { forgetful, kubeWorld } from './kube-world.ts';

/** How much faster than real the clocks run. */
const FACTOR = 400;

/** Until everything has settled (ms). */
const DEADLINE = 60_000;

/**
 * The same world over real sockets: bytes are torn by the server, connections reset by the kernel. A seed gives the same faults, but
 * not quite the same interleaving.
 */
async function play(
  seed: number,
  wrap: (observer: Observer) => Observer = (same) => same,
  deadline: number = DEADLINE,
): Promise<number> {
  const random = generator(seed);
  const clock = fastClock(FACTOR);
  const worst = 0.05 + random() * 0.3;
  let rate = worst;
  await using cleanup = new AsyncDisposableStack();
  const faults = { random, clock, rate: () => rate, page: 2, ordered: true };
  // The world wants its observer at once, the server's address comes later: the client is made when it is first used.
  let cluster: Parameters<Parameters<typeof kubeWorld>[0]['observer']>[0] | undefined;
  const server = cleanup.use(
    await misbehavingServer((request, response, n) => {
      assert.ok(cluster !== undefined);
      httpAnswer(faultyWire(cluster.wire(), faults))(request, response, n);
    }),
  );
  const client = cleanup.use(createClient(server.config, { clock }));
  const world = cleanup.use(
    kubeWorld({
      random,
      clock,
      failing: () => rate / 2,
      observer: (of) => {
        cluster = of;
        return wrap(client);
      },
    }),
  );
  for (let step = 0; step < 12 && world.wrong === undefined; step += 1) {
    for (let n = Math.floor(random() * 4); n > 0; n -= 1) world.change();
    const what = random();
    if (what < 0.06) world.cluster.compact();
    else if (what < 0.12) world.cluster.disconnect();
    await clock.sleep(random() * random() * 30_000);
  }
  rate = 0;
  for (const end = performance.now() + deadline; ; await clock.sleep(2000)) {
    try {
      world.check();
      return server.connections;
    } catch (error) {
      if (world.wrong !== undefined || performance.now() > end) throw error;
    }
  }
}

test('over real sockets caches and reconciles end with the server state', async () => {
  let connections = 0;
  let played = 0;
  for (const seed of seeds(12, 2000)) {
    await withSeed(seed, import.meta.filename, async () => {
      connections += await play(seed);
      played += 1;
    });
  }
  assert.ok(connections >= played && played > 0, `${connections} connections in ${played} histories`);
});

test('negative control: over real sockets too a client that resumes without a version is caught', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const error = await play(seed, forgetful, 2000).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error === undefined) continue;
    assert.ok(error instanceof assert.AssertionError);
    return;
  }
  assert.fail('none of 60 seeds caught it');
});
