import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { tallies } from './tally.ts';

test('a tallied histogram prints what the library prints of its own', async () => {
  const options = { name: 'work_seconds', help: 'Length of work.', buckets: [0.001, 0.1, 5] };
  const ours = new Registry();
  const theirs = new Registry();
  const tally = tallies(ours, options);
  const theirOwn = new Histogram({ ...options, labelNames: ['controller'], registers: [theirs] });
  for (const controller of ['a', 'b']) {
    const observe = tally({ controller });
    for (const value of [0, 0.001, 0.0011, 0.5, 5, 5.1, 1e9]) {
      observe(value);
      theirOwn.observe({ controller }, value);
    }
  }
  const printed = await ours.metrics();
  assert.match(printed, /^work_seconds_bucket\{le="\+Inf",controller="b"\} 7$/m);
  assert.equal(printed, await theirs.metrics());
});
