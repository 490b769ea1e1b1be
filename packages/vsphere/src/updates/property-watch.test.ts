import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VimError } from '../errors.ts';
import type { SessionCaller } from '../session/caller.ts';
import { simulatedFault } from '../testing/fault.ts';
import { scriptedCaller } from '../testing/scripted-caller.ts';
import type { MoRef } from '../vcenter.ts';
import { openWatch } from './property-watch.ts';
import type { UpdateSink } from './scanner.ts';

const FOLDERS = ['group-v1', 'group-v2'].map((value): MoRef => ({ type: 'Folder', value }));
const SINK: UpdateSink = {
  object: () => undefined,
  change: () => undefined,
  missing: () => undefined,
  objectEnd: () => undefined,
};

/** A watch of the first folder; its first wait ends as the test says, the others have an answer at once. */
async function rig() {
  const told: string[] = [];
  const first = Promise.withResolvers<void>();
  let waiting: PromiseWithResolvers<void> | undefined;
  let made = 0;
  const caller = scriptedCaller({
    answer: ({ method }) => {
      told.push(method);
      if (method === 'CancelWaitForUpdates')
        waiting?.reject(simulatedFault('RequestCanceled', 'WaitForUpdatesEx', 'collector'));
      made += 1;
      return method.startsWith('Create') ? `<returnval type="Made">made-${made}</returnval>` : '';
    },
  });
  const content = { ...(await caller.content()), viewManager: { type: 'ViewManager', value: 'vm' } };
  const stream: SessionCaller['stream'] = async () => {
    if (told.includes('WaitForUpdatesEx')) return void told.push('WaitForUpdatesEx again');
    told.push('WaitForUpdatesEx');
    waiting = first;
    await first.promise.finally(() => {
      waiting = undefined;
      told.push('it ended');
    });
  };
  const session = { ensure: async () => ({ generation: 1, content }), holds: () => true };
  const watch = await openWatch({ ...caller, session, stream } as unknown as SessionCaller, {
    paths: ['name'],
    containers: FOLDERS.slice(0, 1),
  });
  told.length = 0;
  return { watch, told, fail: first.reject };
}

test('OWN-21 a wait whose connection broke is taken off the server before the next: what it is handed would be lost', async () => {
  const { watch, told, fail } = await rig();
  const first = watch.next('1', SINK);
  fail(new VimError({ kind: 'transport', code: 'VIM_UNREACHABLE', op: 'WaitForUpdatesEx', message: 'broke' }));
  await assert.rejects(first, { code: 'VIM_UNREACHABLE' });
  await watch.next('1', SINK);
  assert.deepEqual(told, ['WaitForUpdatesEx', 'it ended', 'CancelWaitForUpdates', 'WaitForUpdatesEx again']);
});

test('OWN-21 the list is changed between two waits, never during one, and the caller sees one wait', {
  timeout: 20_000,
}, async () => {
  const { watch, told } = await rig();
  const next = watch.next('1', SINK);
  await watch.add(FOLDERS[1] ?? assert.fail());
  await next;
  assert.deepEqual(told, [
    'WaitForUpdatesEx',
    'CreateContainerView',
    'CancelWaitForUpdates',
    'it ended',
    'ModifyListView',
    'WaitForUpdatesEx again',
  ]);
});
