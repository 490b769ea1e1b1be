import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canaryRights } from './rights.ts';

const policies = [{ metadata: { name: 'gold' }, spec: { canary: { mode: 'Machine' } } }] as const;

test('OWN-18 a right that was taken away is missed a minute later, and at once where the clock was set back', async () => {
  for (const later of [60_000, -60_000]) {
    let [now, allowed, asked] = [Date.UTC(2026, 7, 2), true, 0];
    const raw = async (): Promise<unknown> => {
      asked += 1;
      return { status: { allowed } };
    };
    const rights = canaryRights({ raw }, () => new Date(now));
    await rights.ask(policies);
    const first = asked;
    await rights.ask(policies);
    assert.deepEqual(
      [rights.missing(), asked],
      [undefined, first],
      'what was granted is taken for granted for a while',
    );
    allowed = false;
    now += later;
    await rights.ask(policies);
    assert.match(
      rights.missing() ?? '',
      /^the operator may not get machines\.machine\.openshift\.io in openshift-machine-api/,
    );
  }
});
