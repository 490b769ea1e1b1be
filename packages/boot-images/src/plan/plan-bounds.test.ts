import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rotatedSet } from '../cluster-api/set.ts';
import type { Acting } from '../pass/item.ts';
import type { ForeseenPublication } from '../platform.ts';
import { machineDeployment } from '../testing/capi-world.ts';
import { machineSet } from '../testing/fake-cluster.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import { PlanMoved, planBounds, rotationBounds } from './plan-bounds.ts';

const edits = [{ path: ['template'], from: 'old', to: 'new' }];
const image: ForeseenPublication = {
  ...{ server: 'vc1', folder: 'f', name: 'new', from: { location: 'https://example/x.ova', sha256: 'ab' } },
  ...{ steps: [{ step: 'import', calls: ['ImportVApp "new"'], text: 'Import it.' }], world: 'w' },
};
const plan: ClusterPlan = {
  ...{ version: 1, cluster: 'c1' },
  steps: [
    { kind: 'image', ...image, release: '9.8', sets: ['ms/a'] },
    { kind: 'canary', machine: 'drydock-canary-1', image: 'new', policy: 'gold', sets: ['ms/a'] },
    { kind: 'stub', secret: 'worker-user-data', sets: ['ms/a'] },
    { kind: 'point', set: 'ms/a', edits, from: '9.6', to: '9.8' },
    { kind: 'collect', server: 'vc1', folder: 'f', name: 'stale', reason: 'nothing needs it' },
  ],
  rest: [{ set: 'ms/b', step: 'wait', why: 'its window is closed' }],
};
const [a, b, c] = ['a', 'b', 'c'].map((name) => machineSet(name));

/** What is refused, and the reason for which the whole pass ends. */
function refused(ask: (bounds: ReturnType<typeof planBounds>) => void, of: ClusterPlan = plan): string {
  let why: PlanMoved | undefined;
  const bounds = planBounds(of, (moved) => {
    why = moved;
  });
  try {
    ask(bounds);
    return 'nothing';
  } catch (error) {
    assert.ok(error instanceof PlanMoved && error === why, 'the pass ends');
    return error.message;
  }
}

test('KEEP-C: within a plan no machine set is pointed elsewhere, no stub converted, no machine made and nothing removed that it does not name', () => {
  assert.ok(a !== undefined && c !== undefined);
  assert.equal(
    refused(({ mayPoint }) => mayPoint(a, edits)),
    'nothing',
  );
  assert.match(
    refused(({ mayPoint }) => mayPoint(c, edits)),
    /^the plan does not move ms\/c/,
  );
  const other = [{ path: ['template'], from: 'old', to: 'elsewhere' }];
  assert.match(
    refused(({ mayPoint }) => mayPoint(a, other)),
    /^the plan points ms\/a by .*elsewhere$/,
  );
  assert.equal(
    refused(({ mayConvert }) => mayConvert('worker-user-data')),
    'nothing',
  );
  assert.match(
    refused(({ mayConvert }) => mayConvert('infra-user-data')),
    /converts no stub in secret infra-user-data/,
  );
  assert.equal(
    refused(({ mayTry }) => mayTry('drydock-canary-1')),
    'nothing',
  );
  assert.match(
    refused(({ mayTry }) => mayTry('drydock-canary-2')),
    /^no machine drydock-canary-2 tries an image/,
  );
  const { mayRemove } = planBounds(plan, () => undefined);
  assert.deepEqual(['stale', 'drydock-canary-1', 'in-use'].map(mayRemove), [true, true, false]);
});

test('KEEP-C: within a plan a pass leaves out what waited when the plan was made, and what the plan was not asked about', () => {
  assert.ok(a !== undefined && b !== undefined && c !== undefined);
  const included = (of: ClusterPlan) => [a, b, c].map(planBounds(of, () => undefined).includes);
  assert.deepEqual(included(plan), [true, false, true]);
  assert.deepEqual(included({ ...plan, sets: ['ms/a', 'ms/b'] }), [true, false, false]);
});

test('KEEP-C: within a plan no machine set gets another release, and no image is made by other calls', async () => {
  assert.ok(a !== undefined);
  const mayMove = async (target: string, foreseen: ForeseenPublication): Promise<void> => {
    const publication = { foresee: async () => foreseen } as never;
    const move: Acting = { kind: 'publish', publication, hotLoopValue: target };
    await planBounds(plan, () => undefined).mayMove(a, move, {});
  };
  await mayMove('9.8', image);
  await mayMove('9.8', { ...image, steps: [], name: 'elsewhere' });
  await assert.rejects(mayMove('9.9', image), /takes ms\/a to 9\.8, and it would go to 9\.9/);
  const steps = [{ step: 'destroy', calls: ['Destroy_Task "old"'], text: 'Remove it.' }] as const;
  await assert.rejects(mayMove('9.8', { ...image, steps }), /says nothing of the call Destroy_Task "old"/);
});

test('KEEP-C: within a plan no set of Cluster API is pointed at another template than it names', () => {
  const set = rotatedSet('MachineDeployment', machineDeployment('worker', 'worker'));
  const id = 'ns/capi-md/worker';
  const path = ['spec', 'template', 'spec', 'infrastructureRef', 'name'];
  const said: ClusterPlan = {
    ...plan,
    steps: [{ kind: 'point', set: id, edits: [{ path, from: 'worker', to: 'worker-1' }], to: '9.8' }],
  };
  const { mayWrite } = rotationBounds(said);
  mayWrite(set, { kind: 'point', from: 'worker', to: 'worker-1', facts: {} });
  for (const [from, to] of [
    ['worker', 'worker-2'],
    ['theirs', 'worker-1'],
  ] as const)
    assert.throws(() => mayWrite(set, { kind: 'point', from, to, facts: {} }), PlanMoved, `${from} to ${to}`);
});
