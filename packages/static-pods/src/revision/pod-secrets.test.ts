import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePod } from './pod.ts';

const spec = 'metadata: {name: a}\nspec: {containers: []}\n';

test('SAFE-9 a pod that cannot be read is named with its line, without a word of it', () => {
  for (const text of ['env: hunter2: x', 'env: "\\q hunter2"', 'env: *hunter2', 'kind: Pod\nkind: Pod # hunter2'])
    assert.throws(
      () => decodePod(Buffer.from(`${spec}${text}\n`), 'configmap a'),
      (error: Error) => /in line \d/.test(error.message) && !/hunter/.test(error.message) && error.cause === undefined,
      text,
    );
});
