import assert from 'node:assert/strict';
import { ApiError } from '../errors.ts';

/** The `ApiError` of a call that must fail; fails itself, with `said`, where the call succeeds, or rejects with anything else. */
export async function failureOf(call: Promise<unknown>, said = 'should have failed'): Promise<ApiError> {
  const error = await call.then(
    () => assert.fail(said),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}
