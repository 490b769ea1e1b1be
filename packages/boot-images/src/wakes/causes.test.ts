import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCauses } from './causes.ts';

test('events gather until a pass takes them; a timer keeps the last reason and touches nothing', () => {
  const causes = createCauses();
  causes.note('MAPIMachineSetUpdated', new Set(['wk-a']));
  causes.note('UserDataSecretUpdated', new Set(['wk-b']));
  assert.deepEqual(causes.take(), { reason: 'UserDataSecretUpdated', touched: new Set(['wk-a', 'wk-b']) });
  assert.deepEqual(causes.take(), { reason: 'UserDataSecretUpdated', touched: new Set() });
});

test('what a failed pass puts back is not lost, whatever came meanwhile; what it looked at is dealt with', () => {
  const causes = createCauses();
  causes.note('InfrastructureUpdated', 'all');
  const taken = causes.take();
  causes.note('MAPIMachineSetUpdated', new Set(['wk-a']));
  causes.putBack(taken, new Set(['wk-b']), ['wk-a', 'wk-b', 'wk-c']);
  const touched = new Set(['wk-a', 'wk-c']);
  assert.deepEqual(causes.take(), { reason: 'MAPIMachineSetUpdated', touched });
  causes.putBack({ reason: 'MAPIMachineSetUpdated', touched }, new Set(['wk-c']), []);
  assert.deepEqual(causes.take().touched, new Set(['wk-a']));
});
