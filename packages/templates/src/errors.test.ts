import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VimError } from '@drydock/vsphere';
import { TemplateError } from './errors.ts';
import { failure } from './failure.ts';

test('FIND-25 an error of vCenter inside one of ours gives its advice once, in place of "look at the cause"', () => {
  const cause = new VimError({
    ...{ kind: 'transport', code: 'VIM_UNREACHABLE', op: 'Rename_Task', opId: 'op-1', message: 'vc1 does not answer' },
  });
  const thrown = failure('VCENTER_FAILED', 'rename a', 'vm-1', cause);
  assert.ok(thrown instanceof TemplateError);
  assert.equal(thrown.text, 'failed to rename a: vm-1: Rename_Task (op-1): vc1 does not answer');
  assert.equal(
    thrown.message,
    `${thrown.text}. Check the address, the network, the proxy and that the vCenter is up, then try again: what was done is not done twice.`,
  );
  assert.equal(thrown.message, `${thrown.text}. ${thrown.next}`);
  const plain = failure('VCENTER_FAILED', 'rename a', 'vm-1', new Error('odd'));
  assert.match((plain as Error).message, /: odd\. Look at the cause, then try again: /);
});
