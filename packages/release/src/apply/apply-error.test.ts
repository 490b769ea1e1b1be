import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type ApiErrorCode } from '@drydock/kube';
import { readManifestFile } from '../payload/manifest.ts';
import { applyError, faultOf } from './apply-error.ts';

const CASES: readonly (readonly [code: ApiErrorCode, reason: string])[] = [
  ['NotFound', 'UpdatePayloadResourceNotFound'],
  ['Conflict', 'UpdatePayloadResourceConflict'],
  ['Connection', 'UpdatePayloadClusterDown'],
  ['Timeout', 'UpdatePayloadClusterDown'],
  ['ServerError', 'UpdatePayloadClusterError'],
  ['Invalid', 'UpdatePayloadResourceInvalid'],
  ['Unauthorized', 'UpdatePayloadClusterUnauthorized'],
  ['Forbidden', 'UpdatePayloadResourceForbidden'],
  ['TooManyRequests', 'UpdatePayloadClusterOverloaded'],
  ['Expired', 'UpdatePayloadFailed'],
];
const [manifest] = readManifestFile(
  '0000_10_a_1.yaml',
  '\n\n---\n{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n"}}',
);

for (const [code, reason] of CASES)
  test(`a call that failed with ${code} is ${reason}, told with object, file, line and what to do`, () => {
    assert.ok(manifest !== undefined);
    const said = new ApiError({ code, action: 'replace Deployment n/a', said: 'no', details: { name: 'a' } });
    const error = applyError(manifest, faultOf(said));
    assert.deepEqual([error.reason, error.effect, error.file, error.line], [reason, 'Fail', '0000_10_a_1.yaml', 3]);
    assert.match(error.message, /^Deployment\.apps n\/a \(0000_10_a_1\.yaml:3\): replace Deployment n\/a: no\. /);
    assert.ok(error.nextStep.endsWith('.'));
  });

test('of a kind that is not served the type is missing, and what is no error of a call is a defect', () => {
  const said = new ApiError({ code: 'NotFound', status: 404, action: 'get Foo a', said: 'not found' });
  assert.equal(faultOf(said).reason, 'UpdatePayloadResourceTypeMissing');
  assert.throws(() => faultOf(new TypeError('a defect')), TypeError);
});
