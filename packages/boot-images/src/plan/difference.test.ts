import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPlan } from './cluster-plan.ts';
import type { ClusterStep, StepOf } from './cluster-step.ts';
import { notPlanned, planDifference } from './difference.ts';

const calls = ['ImportVApp "new"', 'MarkAsTemplate "new"', 'Rename_Task "old" to "retired"'];

function image(more: Partial<StepOf<'image'>> = {}): StepOf<'image'> {
  return {
    ...{ kind: 'image', server: 'vc1', folder: '/dc1/vm/c1', name: 'new', release: '9.8', sets: ['ms/a', 'ms/b'] },
    ...{ from: { location: 'https://example/x.ova', sha256: 'ab' }, world: 'w' },
    ...{ steps: [{ step: 'import', calls, text: 'Import it.' }], ...more },
  };
}

const imports = (...made: readonly string[]): StepOf<'image'> =>
  image({ steps: [{ step: 'import', calls: made, text: 'Import it.' }] });

function point(more: Partial<StepOf<'point'>> = {}): StepOf<'point'> {
  const edits = [{ path: ['template'], from: 'old', to: 'new' }];
  return { kind: 'point', set: 'ms/a', edits, from: '9.6', to: '9.8', ...more };
}

function plan(steps: readonly ClusterStep[], rest: ClusterPlan['rest'] = []): ClusterPlan {
  return { version: 1, cluster: 'c1', steps, rest };
}

const difference = (planned: readonly ClusterStep[], now: readonly ClusterStep[]): string =>
  planDifference(plan(planned), plan(now)) ?? 'none';

test('KEEP-C: a plan is refused when a call would be made that it does not list, and not when only the rest of its calls is left', () => {
  for (const left of [calls, calls.slice(1), calls.slice(2)])
    assert.equal(difference([image()], [imports(...left)]), 'none', left.join());
  const destroy = 'Destroy_Task "old"';
  for (const made of [[...calls, destroy], [destroy, ...calls], [destroy]])
    assert.match(
      difference([image()], [imports(...made)]),
      /says nothing of the call Destroy_Task "old" for image new/,
    );
  assert.match(difference([image()], [imports(...calls.toReversed())]), /nothing of the call MarkAsTemplate "new"/);
  assert.match(notPlanned(imports(destroy), plan([image()])) ?? '', /nothing of the call Destroy_Task/);
});

test('KEEP-C: a plan is refused when the image, the machine sets or the edits would be other ones than it says', () => {
  const from = { location: 'https://example/x.ova', sha256: 'cd' };
  assert.match(difference([image()], [image({ from })]), /says image 9\.8, sha256 ab, and it would be 9\.8, sha256 cd/);
  assert.match(difference([image()], [image({ release: '9.9' })]), /it would be 9\.9, sha256 ab/);
  assert.match(difference([image()], [image({ sets: ['ms/b', 'ms/c'] })]), /now it would be for ms\/c, too/);
  assert.equal(difference([image()], [image({ sets: ['ms/b'] })]), 'none', 'ms/a is done');
  assert.match(difference([image()], [image({ folder: '/dc1/vm/c2' })]), /the plan has no such step/);
  assert.match(difference([point()], [point({ to: '9.9' })]), /9\.6 → 9\.8, and it would be ms\/a: 9\.6 → 9\.9/);
  assert.match(difference([point()], [point({ from: '9.7' })]), /9\.6 → 9\.8, and it would be ms\/a: 9\.7 → 9\.8/);
  const edits = [{ path: ['template'], from: 'old', to: 'elsewhere' }];
  assert.match(difference([point()], [point({ edits })]), /by template - old, template \+ new, and it would be/);
  assert.match(
    difference([point()], [point(), point({ set: 'ms/b' })]),
    /the plan has no such step.*ms\/b: 9\.6 → 9\.8/,
  );
});

test('KEEP-C: a plan is refused for another cluster, and when a machine set that it moves is neither at its image nor to be moved', () => {
  const here = plan([point()]);
  assert.match(planDifference(here, { ...here, cluster: 'c2' }) ?? '', /made for cluster c1, and this is c2/);
  const at = (current: string) => plan([], [{ set: 'ms/a', step: 'none', why: 'up to date', current }]);
  assert.equal(planDifference(here, at('9.8')), undefined);
  assert.match(planDifference(here, at('9.7')) ?? '', /and now ms\/a is at 9\.7: up to date/);
  assert.match(planDifference(here, plan([])) ?? '', /there is no ms\/a/);
  const held = plan([], [{ set: 'ms/a', step: 'wait', why: 'held' }]);
  assert.equal(planDifference(held, here), undefined, 'what waits is another plan’s');
});
