import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Deployment } from '@drydock/api';
import type { Clock } from '@drydock/kube';
import { keptTo } from '../apply/agreement.ts';
import { applyPayload } from '../apply/apply.ts';
import { GADGET, type RollbackWorld, rollbackWorld, WIDGET } from '../testing/rollback-world.ts';
import { rollbackDifference } from './agreement.ts';
import { planRollback, type RollbackPlan } from './plan.ts';
import { rollBack } from './rollback.ts';

const OPERATOR = { namespace: 'default', name: 'operator' };

/** Time passes while something is waited for, and the operator writes. */
function clockOf(world: RollbackWorld): Clock {
  let time = 0;
  return {
    now: () => time,
    date: () => new Date(Date.UTC(2026, 0, 1)),
    sleep: async (ms) => {
      time += ms;
      world.tick();
    },
  };
}

async function planned(world: RollbackWorld): Promise<RollbackPlan> {
  const plan = await planRollback(world.back, world.ports(world.cluster.client()));
  return JSON.parse(JSON.stringify(plan)) as RollbackPlan;
}

test('a way back does what its plan printed: each definition and orphan that it names, each write of the payload, and nothing else', async () => {
  const world = await rollbackWorld();
  const plan = await planned(world);
  const kept = keptTo(plan.applied);
  const done = new Set<string>();
  const client = world.cluster.client();
  world.cluster.onCall = ({ verb, resource, key }, phase, { client: by, mutates }) => {
    if (phase === 'after' && mutates) world.tick();
    if (phase === 'before' && mutates && by === client && !key?.name.startsWith('drydock-'))
      done.add(`${verb.replace(/Status$/, '')} ${resource} ${key?.name}`);
  };
  const outcome = await rollBack(
    world.back,
    world.ports(client, {
      clock: clockOf(world),
      apply: (wish, ports) => applyPayload(wish, { ...ports, objection: kept }),
    }),
  );
  world.cluster.onCall = undefined;
  assert.deepEqual([outcome.complete, outcome.errors, outcome.kept], [true, [], []]);

  const steps = plan.phases.flatMap(({ steps: of }) => of);
  const named = (action: string): readonly string[] =>
    steps.filter((step) => step.action === action).map(({ object }) => object);
  const said = new Set([
    ...[...named('mark'), ...named('widen'), ...named('narrow')].map(
      (name) => `replace customresourcedefinitions.apiextensions.k8s.io ${name}`,
    ),
    ...named('delete').map((object) => {
      const [kind = '', name = ''] = object.split(' ');
      const plural = `${kind.split('.')[0]?.toLowerCase()}s${kind.includes('.') ? kind.slice(kind.indexOf('.')) : ''}`;
      return `delete ${plural} ${name.split('/').at(-1)}`;
    }),
    ...plan.applied.phases.flatMap(({ nodes }) =>
      nodes.flatMap(({ objects }) =>
        objects
          .filter(({ action }) => action === 'update')
          .map(({ id }) => `replace ${id.kind.toLowerCase()}s${id.group === '' ? '' : `.${id.group}`} ${id.name}`),
      ),
    ),
    // What is cut from statuses, and the canary that proves a narrow definition.
    ...named('cut').map((place) => `replace ${place.split(' ')[0]}`),
  ]);
  const cuts = [...done].filter((call) => [WIDGET, GADGET].some(({ plural }) => call.includes(` ${plural}.`)));
  assert.ok(cuts.length > 0 && named('cut').length > 0);
  const rest = [...done].filter((call) => !cuts.includes(call));
  assert.deepEqual(
    rest.filter((call) => !said.has(call)),
    [],
    'done, and not in the plan',
  );
  assert.deepEqual(
    [...said].filter((call) => !done.has(call) && !/^replace (?:widgets|gadgets)\./.test(call)),
    [],
    'in the plan, and not done',
  );
});

test('of a plan that was printed before something moved, what moved is named, and nothing of the payload is written that it does not say', async () => {
  const world = await rollbackWorld();
  const plan = await planned(world);
  assert.equal(rollbackDifference(plan, await planned(world)), undefined);
  const live = world.cluster.peek(Deployment, OPERATOR);
  world.cluster.put(Deployment, OPERATOR, {
    ...live,
    metadata: { ...live?.metadata, labels: { by: 'hand' } },
  } as never);
  assert.equal(rollbackDifference(plan, await planned(world)), undefined, 'what no step touches is no difference');
  world.cluster.put(WIDGET, { name: 'two' }, { spec: { size: 2, extra: 'new' }, status: { phase: 'Ready' } } as never);
  assert.match(
    rollbackDifference(plan, await planned(world)) ?? '',
    /^Sanitise: copy widgets\.shop\.example\.com .*2 objects/,
  );
  world.cluster.put(ConfigMap, { namespace: 'default', name: 'shop' }, { data: { version: 'by hand' } });
  assert.match(
    rollbackDifference(plan, await planned(world)) ?? '',
    /^ConfigMap default\/shop has changed since the plan was made, and now another update is needed \(data\.version: "by hand" → "1\.0\.0"\)/,
  );
  const client = world.cluster.client();
  const outcome = await rollBack(
    world.back,
    world.ports(client, {
      clock: clockOf(world),
      apply: (wish, ports) => applyPayload(wish, { ...ports, objection: keptTo(plan.applied) }),
    }),
  );
  assert.deepEqual(
    [outcome.complete, outcome.phase, outcome.errors.map(({ reason }) => reason)],
    [false, 'Operators', ['PlanMoved']],
  );
  const { data } = world.cluster.peek(ConfigMap, { namespace: 'default', name: 'shop' }) ?? {};
  assert.deepEqual(data, { version: 'by hand' });
  // Who plans anew goes on from there.
  const again = await planned(world);
  world.cluster.onCall = (_call, phase, { mutates }) => {
    if (phase === 'after' && mutates) world.tick();
  };
  const rest = await rollBack(
    world.back,
    world.ports(client, {
      clock: clockOf(world),
      apply: (wish, ports) => applyPayload(wish, { ...ports, objection: keptTo(again.applied) }),
    }),
  );
  assert.deepEqual([rest.complete, rest.errors], [true, []]);
  assert.deepEqual(world.broken, []);
});
