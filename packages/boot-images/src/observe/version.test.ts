import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareReleases } from './version.ts';

test('releases compare by RHEL version, date and build, across the legacy form', () => {
  const sign = (a: string, b: string): number | undefined => {
    const order = compareReleases(a, b);
    return order === undefined ? undefined : Math.sign(order);
  };
  assert.equal(sign('418.94.202511191518-0', '9.6.20260512-0'), -1);
  assert.equal(sign('412.810.202301010000-0', '413.92.202305021736-0'), -1);
  assert.equal(sign('9.8.20260428-1', '9.8.20260428-0'), 1);
  assert.equal(sign('9.8.20260428-0', '9.8.20260428-0'), 0);
  assert.equal(sign('9.8', '9.8.20260428-0'), undefined);
});
