import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standingOf, wishOf } from './wish.ts';

test('a wish is met by the image, the release or the phase; what is blocked or left alone is stuck', () => {
  const at = (phase: string, current: string) => ({ phase, current });
  for (const [wish, status, expected] of [
    ['current', at('Current', '9.8'), 'met'],
    ['current', at('Uploading', '9.6'), 'pending'],
    ['current', at('Failed', '9.6'), 'pending'],
    ['current', at('Blocked', '9.6'), 'stuck'],
    ['current', undefined, 'pending'],
    ['release=9.8', at('Current', '9.8'), 'met'],
    ['release=9.8', at('Current', '9.6'), 'pending'],
    ['release=9.8', at('Skipped', '9.8'), 'stuck'],
    ['phase=blocked', at('Blocked', '9.6'), 'met'],
    ['phase=Current', at('Blocked', '9.6'), 'stuck'],
  ] as const)
    assert.equal(standingOf(status, wishOf(wish)), expected, `${wish} ${JSON.stringify(status)}`);
  for (const wrong of ['', 'currently', 'release=', 'phase=Sleeping', 'phase', 'image=a'])
    assert.throws(() => wishOf(wrong), { name: 'UsageError', message: /current, release=RELEASE or phase=PHASE/ });
});
