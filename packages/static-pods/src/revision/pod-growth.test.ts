import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import { decodePod } from './pod.ts';
import { substitute } from './substitute.ts';

const spec = 'metadata: {name: a}\nspec: {containers: []}\n';

test('SAFE-1 a pod of half a MiB costs what it weighs, and so do its placeholders', async () => {
  for (const [name, piece] of Object.entries({
    fields: (n: number) => `k${n}: 1\n`,
    environment: () => '- {name: A, value: "$(B)"}\n',
    placeholders: () => 'REVISION NODE_NAME ',
  })) {
    const input = (size: number): Buffer => {
      const one = piece(1);
      const many = Array.from({ length: size / one.length }, (_, n) => piece(n)).join('');
      return Buffer.from(name === 'environment' ? `${spec}env:\n${many}` : `${spec}${many}`);
    };
    await assertLinear({ name, input, limit: 2 ** 19, read: (bytes) => decodePod(bytes, 'configmap a') });
    const change = { revision: '7', nodeName: 'master-0' };
    await assertLinear({ name, input, limit: 2 ** 20, read: (bytes) => substitute(bytes, change) });
  }
});

test('SAFE-9 a pod that cannot be read is named with its line, without a word of it', () => {
  for (const text of ['env: hunter2: x', 'env: "\\q hunter2"', 'env: *hunter2', 'kind: Pod\nkind: Pod # hunter2'])
    assert.throws(
      () => decodePod(Buffer.from(`${spec}${text}\n`), 'configmap a'),
      (error: Error) => /in line \d/.test(error.message) && !/hunter/.test(error.message) && error.cause === undefined,
      text,
    );
});
