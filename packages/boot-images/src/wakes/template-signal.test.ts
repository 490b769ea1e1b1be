import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computed, fakeCluster, machineSet, newRelease, published } from '../testing/index.ts';
import type { Touched } from './causes.ts';
import { type TemplateChange, templateSource } from './template-signal.ts';

const sets = [
  machineSet('wk-a', { template: 't1' }),
  machineSet('wk-b', { template: '/dc1/vm/c1/t1' }),
  machineSet('wk-c', { template: 't2' }),
  machineSet('wk-d', { template: 't1', workspace: { server: 'vc2' } }),
];

/** What a change causes: the sets that are touched, with what is told of each. */
function caused(change: TemplateChange): {
  readonly touched: Touched | undefined;
  readonly told: readonly string[];
  readonly woken: number;
} {
  const told: string[] = [];
  let touched: Touched | undefined;
  let woken = 0;
  const source = templateSource(
    {
      subscribe: (on) => {
        on(change);
        return { [Symbol.dispose]: () => undefined };
      },
    },
    {
      key: { name: 'cluster' },
      causes: { note: (_event, which) => (touched = which) },
      machineSets: () => sets,
      onSet: (set, note) => told.push(`${set.metadata.name}: ${note}`),
    },
  );
  source.start(() => (woken += 1));
  return { touched, told, woken };
}

test('a change of a template touches the sets that refer to it on that vCenter, and wakes one pass', () => {
  assert.deepEqual(caused({ kind: 'destroyed', server: 'vc1', name: 't1' }), {
    touched: new Set(['ms/wk-a', 'ms/wk-b']),
    told: ['wk-a: template t1 was destroyed on vc1', 'wk-b: template t1 was destroyed on vc1'],
    woken: 1,
  });
  assert.deepEqual(caused({ kind: 'renamed', server: 'vc1', name: 'x', to: 't2' }).told, [
    'wk-c: template x was renamed to t2 on vc1',
  ]);
  assert.deepEqual(caused({ kind: 'moved', server: 'vc2', name: 't1' }).told, [
    'wk-d: template t1 was moved to another folder on vc2',
  ]);
  assert.equal(caused({ kind: 'destroyed', server: 'vc1' }).told.length, 3, 'it may have been any');
  assert.deepEqual(caused({ kind: 'destroyed', server: 'vc1', name: 'ours-unused' }), {
    touched: new Set(),
    told: [],
    woken: 1,
  });
});

test('that a folder is watched from now on is no event of any set, but a reason to look once more', () => {
  assert.deepEqual(caused({ kind: 'watched', server: 'vc1' }), { touched: undefined, told: [], woken: 1 });
});

test('a template that vanished is made again by the pass that its signal wakes', async () => {
  const cluster = fakeCluster({ templates: { [computed]: { version: newRelease } } });
  await cluster.pass();
  assert.equal(cluster.template('wk-a'), computed);
  cluster.store.templates.delete(computed);
  await cluster.pass({ touched: new Set(['ms/wk-a']) });
  assert.equal(cluster.template('wk-a'), published);
});
