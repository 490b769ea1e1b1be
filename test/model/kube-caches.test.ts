import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Observer } from '@drydock/kube';
import { faultyWire, type VirtualClock, virtualClock } from '@drydock/kube/testing';
import { generator, seeds, withSeed } from '@drydock/model';
import { forgetful, type KubeWorld, kubeWorld } from './kube-world.ts';

/** Longest time (ms) that everything may take to settle after the faults are over: a hung watch alone takes 2.5 minutes. */
const SETTLED = 20 * 60_000;

/** One history: changes under faults, then peace. Throws what does not hold in the end. */
async function play(
  seed: number,
  wrap: (observer: Observer) => Observer = (same) => same,
): Promise<KubeWorld['cluster']> {
  const random = generator(seed);
  const clock: VirtualClock = virtualClock();
  const worst = 0.05 + random() * 0.4;
  let rate = worst;
  await using world = kubeWorld({
    random,
    clock,
    failing: () => rate / 2,
    observer: (cluster) =>
      wrap(cluster.client({ through: (wire) => faultyWire(wire, { random, clock, rate: () => rate, page: 2 }) })),
  });
  const { cluster } = world;
  for (let step = 0; step < 25 && world.wrong === undefined; step += 1) {
    for (let n = Math.floor(random() * 4); n > 0; n -= 1) world.change();
    const what = random();
    if (what < 0.06) cluster.compact();
    else if (what < 0.12) cluster.disconnect();
    await clock.advance(random() * random() * 60_000);
  }
  rate = 0;
  await clock.advance(SETTLED);
  world.check();
  return cluster;
}

test('caches and reconciles end with the server state, whatever the server does on the way', async () => {
  for (const seed of seeds(200)) await withSeed(seed, import.meta.filename, () => play(seed));
});

test('the faults are met: lists, watches and resumptions beyond the undisturbed minimum', async () => {
  const cluster = await play(1);
  assert.ok((cluster.counters.get('watch') ?? 0) > 6, String(cluster.counters.get('watch')));
});

test('negative control: a client that resumes without a version is caught', async () => {
  let caught = 0;
  for (let seed = 1; seed <= 20; seed += 1) {
    await play(seed, forgetful).catch((error: unknown) => {
      assert.ok(error instanceof assert.AssertionError, String(error));
      caught += 1;
    });
  }
  assert.ok(caught >= 5, `only ${caught} of 20`);
});
