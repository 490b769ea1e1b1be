import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TEST_KEYS } from '../testing/keys.ts';
import { birthConfig, readBirthMark } from './birth-mark.ts';

const UUID = '42000000-0000-4000-8000-000000000001';

test('version 0.1.0 reads a birth mark as that of another owner, and this version never reads that part', () => {
  const said = { owner: 'us', operation: 'op', digest: 'd'.repeat(64), release: '9.6', holder: 'h' };
  const mark = { ...said, instanceUuid: UUID };
  const extraConfig = birthConfig(mark, TEST_KEYS);
  const fields = ['owner', 'digest', 'holder', 'instanceUuid'].map((field) => extraConfig.get(`drydock.${field}`));
  assert.deepEqual(fields, ['a later version of Drydock for us', mark.digest, 'h', UUID]);
  assert.deepEqual(readBirthMark({ extraConfig }, TEST_KEYS), { ...mark, code: 'current', legacy: false });
  // A neighbour who deletes the birth mark makes it nobody's here, not a legacy template of this owner.
  const rest = new Map([...extraConfig].filter(([key]) => key !== 'drydock.birth'));
  assert.notEqual(readBirthMark({ extraConfig: rest }, TEST_KEYS)?.owner, 'us');
});
