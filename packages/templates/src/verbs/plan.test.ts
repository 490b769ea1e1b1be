import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import type { Plan, PlanRequest } from '../library.ts';
import { upstreamNames } from '../names.ts';
import { recordCalls, withoutRef } from '../testing/call-recorder.ts';
import { fails, mutations, type TestRig, testRig } from '../testing/rig.ts';
import { testPlacement, testWish } from '../testing/wishes.ts';
import type { TemplateWish } from '../wish.ts';

const FOLDER = '/DC0/vm/ocp';
const NAME = 'stable ⚓';
const placement = testPlacement();
const owner = 'cluster-uid';
const DAY = 86_400_000;

const wish = (release: string, change: Partial<TemplateWish> = {}): TemplateWish =>
  testWish({
    image: { release, location: 'https://m.test/x', sha256: release.replace('.', '').padEnd(64, '0') },
    publication: { kind: 'swap', name: NAME, unmarked: 'retire' },
    ...change,
  });

const withoutRefs = (plan: Plan): readonly string[] => plan.steps.flatMap(({ calls }) => calls.map(withoutRef));

const options = { holderIsLive: () => false, referenced: () => undefined };

function apply(made: TestRig, plan: Plan): Promise<unknown> {
  const expectWorld = plan.world;
  switch (plan.kind) {
    case 'publish':
      return made.store.publish(plan.wish, { ...options, expectWorld });
    case 'revert':
      return made.store.revert(plan.wish, { expectWorld });
    case 'adopt':
      return made.store.adopt(plan.wish, { expectWorld });
    case 'gc':
      return made.store.collect(plan.wish.placement, plan.wish.owner, { ...options, ...plan.wish, expectWorld });
  }
}

interface Case {
  readonly what: string;
  readonly request: (made: TestRig) => PlanRequest;
  readonly prepare?: (made: TestRig) => void | Promise<void>;
  readonly steps: readonly string[];
}

const publish = (of: TemplateWish) => (): PlanRequest => ({ kind: 'publish', wish: of });
const unmarked = (made: TestRig, name = NAME): void => {
  made.inventory.add(made.inventory.at(FOLDER), { name, template: true, createDate: '2025-01-01T00:00:00Z' });
};
const twice = async (made: TestRig): Promise<void> => {
  await made.store.publish(wish('9.2'), options);
  await made.store.publish(wish('9.4'), options);
};

const CASES: readonly Case[] = [
  {
    what: 'a first publication by pointer',
    request: publish(wish('9.6', { publication: { kind: 'pointer' } })),
    steps: ['import', 'markAsTemplate', 'attachTags'],
  },
  { what: 'a first swap', request: publish(wish('9.6')), steps: ['import', 'markAsTemplate', 'attachTags', 'rename'] },
  {
    what: 'a swap of a template without a mark, leftovers of another tool included',
    request: publish(wish('9.6')),
    prepare: (made) => {
      unmarked(made);
      unmarked(made, upstreamNames(NAME).old);
    },
    steps: ['import', 'markAsTemplate', 'attachTags', 'intend', 'swap', 'retire'],
  },
  {
    what: 'a swap where the name is absent',
    request: publish(wish('9.6')),
    prepare: (made) => unmarked(made, upstreamNames(NAME).old),
    steps: ['rename', 'import', 'markAsTemplate', 'attachTags', 'intend', 'swap', 'retire'],
  },
  { what: 'a swap that is done', request: publish(wish('9.4')), prepare: twice, steps: [] },
  {
    what: 'a revert',
    request: () => ({ kind: 'revert', wish: { placement, owner, name: NAME, holder: 'h' } }),
    prepare: twice,
    steps: ['intend', 'swap', 'retire'],
  },
  {
    what: 'an adoption',
    request: () => ({ kind: 'adopt', wish: { placement, owner, reference: NAME, holder: 'h' } }),
    prepare: (made) => unmarked(made),
    steps: ['adopt'],
  },
  {
    what: 'a collection',
    request: () => ({ kind: 'gc', wish: { placement, owner, keep: 0, graceMs: -DAY } }),
    prepare: twice,
    steps: ['destroy'],
  },
];

function rig(): TestRig {
  return testRig(virtualClock({ auto: true }));
}

for (const { what, request, prepare, steps } of CASES) {
  test(`${what}: planning changes nothing, the planned calls are those that applying makes, in order, and then nothing is left to plan`, async () => {
    const made = rig();
    await prepare?.(made);
    const before = mutations(made);
    const plan = await made.store.plan(request(made), options);
    assert.equal(mutations(made), before);
    assert.deepEqual(
      plan.steps.map(({ step }) => step),
      steps,
    );
    assert.deepEqual(JSON.parse(JSON.stringify(plan)), plan, 'a plan is plain data');
    const calls = recordCalls(made.inventory);
    await apply(made, plan);
    made.inventory.onCall = undefined;
    assert.deepEqual(withoutRefs(plan), calls);
    if (plan.kind === 'revert') return;
    const again = await made.store.plan(request(made), options);
    assert.deepEqual(again.steps, []);
  });

  test(`${what}: a plan is refused once the world has moved, and nothing is changed`, async () => {
    const made = rig();
    await prepare?.(made);
    const plan = await made.store.plan(request(made), options);
    // Somebody else publishes, collects, adopts or deletes in between.
    const [ours] = made.in(FOLDER).filter(({ name }) => name === NAME || plan.kind === 'gc');
    if (ours === undefined) unmarked(made);
    else made.inventory.remove({ type: 'VirtualMachine', value: ours.ref.split(':')[1] ?? '' });
    if (plan.kind === 'adopt') unmarked(made);
    if (plan.kind === 'publish' && plan.wish.publication?.kind === 'pointer')
      made.inventory.add(made.inventory.at(FOLDER), { name: /"(.*)"/.exec(withoutRefs(plan)[0] ?? '')?.[1] ?? '' });
    const before = mutations(made);
    await fails(apply(made, plan), 'WORLD_MOVED', /since/);
    assert.equal(mutations(made), before);
  });
}

test('workers that come and go, other names, running tasks and passing time do not make a plan invalid', async () => {
  const clock = virtualClock({ auto: true });
  const made = testRig(clock);
  await twice(made);
  const plan = await made.store.plan({ kind: 'publish', wish: wish('9.6') }, options);
  made.inventory.add(made.inventory.at(FOLDER), { name: 'worker', powerState: 'poweredOn' });
  await made.store.publish(wish('9.9', { publication: { kind: 'swap', name: 'another' } }), options);
  clock.advance(DAY);
  await apply(made, plan);
});

test('a plan fails as the request itself would', async () => {
  const made = rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: NAME, powerState: 'poweredOn' });
  const plan = (of: TemplateWish) => made.store.plan({ kind: 'publish', wish: of }, options);
  await fails(plan(wish('9.6')), 'POWERED_ON', NAME);
  await fails(plan(wish('9.6', { tagName: 'no' })), 'TAG_NOT_FOUND', /no tag named no/);
  await fails(plan(wish('9.6', { publication: { kind: 'swap', name: 'x'.repeat(81) } })), 'NAME_TOO_LONG', 'length');
  const elsewhere = testPlacement({ networks: ['no'] });
  const other = { kind: 'swap', name: 'other' } as const;
  await fails(plan(wish('9.6', { placement: elsewhere, publication: other })), 'NETWORK_NOT_FOUND', 'failed to find');
  const revert = { placement, owner, name: NAME, holder: 'h' };
  await fails(made.store.plan({ kind: 'revert', wish: revert }, options), 'NOTHING_TO_REVERT', NAME);
});

test('a collection is planned as if everything were used where nobody says what is', async () => {
  const made = rig();
  await twice(made);
  const wishes = { placement, owner, keep: 0, graceMs: -DAY };
  const plan = await made.store.plan({ kind: 'gc', wish: wishes }, { holderIsLive: () => false });
  assert.deepEqual(plan.steps, []);
});
