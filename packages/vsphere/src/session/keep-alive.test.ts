import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { simulatedLoss } from '../testing/fault.ts';
import { manualClock } from '../testing/manual-clock.ts';
import { scriptedCaller } from '../testing/scripted-caller.ts';
import { keepAlive, renewalPeriod } from './keep-alive.ts';

const LEASE = { type: 'HttpNfcLease', value: 'lease-1' };

test('VS-W97 twelve minutes of upload at a lease timeout of 300 s are renewed all along', async () => {
  const clock = manualClock();
  let last = 0;
  let longest = 0;
  const caller = scriptedCaller({
    clock,
    answer: () => {
      longest = Math.max(longest, clock.now() - last);
      last = clock.now();
      return '';
    },
  });
  const renewal = keepAlive(caller, LEASE, 300, () => 42.7);
  await clock.advance(12 * 60_000);
  await renewal.stop();
  assert.equal(caller.calls.length, 360);
  assert.ok(longest <= 2_000, `${longest} ms without a renewal`);
  assert.equal(caller.calls[0]?.body, '<percent>42</percent>');
  assert.equal(renewal.failed.aborted, false);
  await clock.advance(60_000);
  assert.equal(caller.calls.length, 360, 'nothing is sent after the stop');
});

test('VS-W97 two lost renewals cost nothing, three in a row end the upload', async () => {
  const clock = manualClock();
  const outcomes = ['lost', 'lost', 'ok', 'lost', 'lost', 'lost'];
  const caller = scriptedCaller({
    clock,
    answer: () => {
      if (outcomes.shift() === 'lost') throw simulatedLoss('HttpNfcLeaseProgress');
      return '';
    },
  });
  const renewal = keepAlive(caller, LEASE, 300, () => 0);
  await clock.advance(10_000);
  assert.equal(renewal.failed.aborted, false);
  await clock.advance(2_000);
  assert.equal(renewal.failed.aborted, true);
  assert.ok(isVimError(renewal.failed.reason, 'VIM_LEASE_FAILED'));
  await clock.advance(60_000);
  assert.equal(caller.calls.length, 6);
  await renewal.stop();
});

test('a short lease is renewed every tenth of it', () => {
  assert.equal(renewalPeriod(300), 2_000);
  assert.equal(renewalPeriod(10), 1_000);
  assert.equal(renewalPeriod(0), 2_000);
});
