import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineSet, Secret } from '@drydock/api';
import type { Change } from '@drydock/kube';
import { machineSet } from '../testing/fake-cluster.ts';
import { watchUserData } from './user-data-watch.ts';

/** Something that can be subscribed to, and told of changes by hand. */
function feed<T extends MachineSet | Secret>() {
  const listeners = new Set<(change: Change<T>) => void>();
  return {
    synced: Promise.resolve(),
    subscribe: (on: (change: Change<T>) => void): Disposable => {
      listeners.add(on);
      return { [Symbol.dispose]: () => void listeners.delete(on) };
    },
    tell: (change: Omit<Change<T>, 'key' | 'initial'> & { readonly initial?: boolean }): void => {
      for (const on of listeners) on({ key: { name: 'k' }, initial: false, ...change });
    },
  };
}

test('each Secret that a set names is watched by its name, for as long as one does', async () => {
  const sets = feed<MachineSet>();
  const open = new Map<string, ReturnType<typeof feed<Secret>>>();
  const watch = watchUserData(sets, (name) => {
    assert.ok(!open.has(name), `${name} is watched twice`);
    const made = feed<Secret>();
    open.set(name, made);
    return { ...made, [Symbol.asyncDispose]: async () => void open.delete(name) };
  });
  const changed: (string | undefined)[] = [];
  watch.subscribe(({ now }) => void changed.push(now?.metadata.name));
  const named = (name: string, secret: string): MachineSet => machineSet(name, { userDataSecret: { name: secret } });

  sets.tell({ now: named('a', 'worker'), initial: true });
  sets.tell({ now: named('b', 'worker') });
  sets.tell({ now: machineSet('owned', { userDataSecret: { name: 'pool' } }, { ownerReferences: [{} as never] }) });
  sets.tell({ now: machineSet('none', { userDataSecret: null }) });
  assert.deepEqual([...open.keys()], ['worker']);
  const secret = (name: string): Secret => ({ metadata: { name } }) as Secret;
  open.get('worker')?.tell({ now: secret('worker'), initial: true });
  open.get('worker')?.tell({ old: secret('worker'), now: secret('worker') });
  assert.deepEqual(changed, ['worker', 'worker']);

  sets.tell({ old: named('a', 'worker'), now: named('a', 'infra') });
  assert.deepEqual([...open.keys()], ['worker', 'infra']);
  sets.tell({ old: named('b', 'worker') });
  assert.deepEqual([...open.keys()], ['infra']);
  sets.tell({ now: named('b', 'worker') });
  await watch[Symbol.asyncDispose]();
  assert.deepEqual([...open.keys()], []);
  sets.tell({ now: named('late', 'late') });
  assert.deepEqual([...open.keys()], []);
});
