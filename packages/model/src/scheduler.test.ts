import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from './clock.ts';
import { scheduler } from './scheduler.ts';

async function history(seed: number): Promise<string> {
  const clock = virtualClock();
  const turns = scheduler(seed, clock);
  const log: string[] = [];
  const actor = (name: string) => async () => {
    for (let count = 0; count < 5; count += 1) {
      await turns.turn();
      log.push(name);
      if (count === 2) await clock.sleep(1000);
    }
  };
  await turns.run([actor('a'), actor('b')]);
  return log.join('');
}

test('a seed gives the same interleaving again, seeds give different ones, and sleepers wake', async () => {
  assert.equal(await history(1), await history(1));
  const seen = new Set<string>();
  for (let seed = 1; seed <= 20; seed += 1) seen.add(await history(seed));
  assert.ok(seen.size > 5, `only ${seen.size} interleavings`);
});

test('the virtual clock wakes in order and not before', async () => {
  const clock = virtualClock({ start: 0 });
  const woken: number[] = [];
  const sleeps = [30, 10, 20].map((ms) => clock.sleep(ms).then(() => woken.push(ms)));
  clock.advance(20);
  await Promise.all(sleeps.slice(1));
  assert.deepEqual(woken, [10, 20]);
  assert.equal(clock.advanceToNext(), true);
  await sleeps[0];
  assert.equal(clock.now(), 30);
  assert.equal(clock.advanceToNext(), false);
});
