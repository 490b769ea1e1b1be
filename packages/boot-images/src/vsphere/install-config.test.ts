import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskTypeFor } from './install-config.ts';

const config = (text: string) => ({ metadata: { name: 'cluster-config-v1' }, data: { 'install-config': text } });

test('an install-config that is no YAML is told by its line, and not a word of it is', () => {
  const text = 'platform:\n  vsphere:\n    password: "hunter2\n      x: [';
  assert.throws(
    () => diskTypeFor('t', config(text)),
    (error: Error) => {
      assert.match(
        error.message,
        /^failed to determine disk .* t: failed to unmarshal install-config: .*in line \d+\)$/,
      );
      assert.ok(!error.message.includes('hunter2') && error.cause === undefined);
      return true;
    },
  );
  assert.equal(diskTypeFor('t', config('platform: {vsphere: {diskType: thick}}')), 'thick');
});
