import assert from 'node:assert/strict';
import { test } from 'node:test';
import { infrastructure, workspace } from '../testing/fake-cluster.ts';
import { matchFailureDomain, mismatchText, workspaceOf } from './failure-domain.ts';

test('BI-V128 BI-V129 vmGroup, resource pool and datastore decide the failure domain', () => {
  const find = (change: object): string | undefined => {
    const place = workspaceOf({ workspace: { ...workspace, ...change } });
    return place && matchFailureDomain(place, infrastructure())?.name;
  };
  assert.equal(find({}), 'fd1');
  assert.equal(find({ vmGroup: 'g1' }), undefined);
  assert.equal(find({ resourcePool: '/dc1/host/c/Resources/' }), 'fd1');
  assert.equal(find({ datastore: 'ds1' }), undefined);
  const place = workspaceOf({ workspace: { ...workspace, vmGroup: 'g1' } });
  assert.ok(place && mismatchText(place).includes(', vmGroup: g1)'));
});
