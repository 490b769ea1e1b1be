import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePod } from './pod.ts';

const manifest = (args: string): Buffer =>
  Buffer.from(`kind: Pod\nmetadata: {name: p}\nspec: {containers: [{args: [${args}]}]}\n`);

test("a pod's YAML is read as Kubernetes reads it: octal numbers and yes are values, dates and 22:22 are text", () => {
  const { spec } = decodePod(manifest('0644, yes, 2001-01-01, 22:22, 1:30.5, 1e3'), 'here');
  assert.deepEqual(spec?.containers, [{ args: [0o644, true, '2001-01-01', '22:22', '1:30.5', 1000] }]);
});
