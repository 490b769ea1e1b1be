import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leafPatch, machineSetSpecPath, pointer } from './provider-spec.ts';

test('a patch touches the leaf alone and tests its old value; JSON pointers are escaped', () => {
  const path = '/spec/template/spec/providerSpec/value/template';
  assert.deepEqual(leafPatch(machineSetSpecPath, [{ path: ['template'], from: 'a', to: 'b' }]), [
    { op: 'test', path, value: 'a' },
    { op: 'replace', path, value: 'b' },
  ]);
  assert.deepEqual(leafPatch(machineSetSpecPath, [{ path: ['template'], from: undefined, to: 'b' }]), [
    { op: 'add', path, value: 'b' },
  ]);
  assert.equal(pointer(['a/b', '~', 0]), '/a~1b/~0/0');
});
