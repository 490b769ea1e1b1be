import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leadershipOf } from './leadership.ts';

/** Asks about a Lease that looks expired, and that its holder renews before look `renewed`. */
async function asked(leaseDurationSeconds: number, renewed: number) {
  const now = Date.parse('2026-01-01T00:10:00Z');
  let looks = 0;
  const client = {
    get: async () => {
      looks += 1;
      const renewTime = looks < renewed ? '2026-01-01T00:05:00Z' : '2026-01-01T00:05:20Z';
      return {
        metadata: { name: 'drydock-watch' },
        spec: { holderIdentity: 'pod-1', leaseDurationSeconds, renewTime },
      };
    },
    list: async function* () {},
  };
  const { state } = await leadershipOf(
    client as never,
    { role: 'watch', namespace: 'ns' },
    { now: () => now, pause: async () => undefined },
  );
  return { state, looks };
}

test('FIND-2: a holder whose clock is minutes apart is seen to lead, however seldom its Lease is renewed', async () => {
  assert.deepEqual(await asked(15, 2), { state: 'led', looks: 2 });
  assert.deepEqual(await asked(137, 8), { state: 'led', looks: 8 });
  assert.deepEqual(await asked(270, 14), { state: 'led', looks: 14 });
});

test('FIND-2: a Lease that nobody renews has no leader', async () => {
  assert.deepEqual(await asked(15, 100), { state: 'vacant', looks: 2 });
  assert.deepEqual(await asked(270, 100), { state: 'vacant', looks: 15 });
});
