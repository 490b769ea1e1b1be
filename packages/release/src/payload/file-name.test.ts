import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOfFile } from './file-name.ts';

test('RB-R3 a component may have hyphens between letters and digits, and nothing else', () => {
  const place = placeOfFile('0000_50_cloud-credential-operator_00.yaml');
  assert.deepEqual(place, { runlevel: '50', component: 'cloud-credential-operator' });
  for (const name of [
    '0000_50_cloud--x_1.yaml',
    '0000_5a_x_1.yaml',
    '0000_50_-x_1.yaml',
    '000_50_x_1.yaml',
    '10_foo.yaml',
  ])
    assert.equal(placeOfFile(name), undefined, name);
});
