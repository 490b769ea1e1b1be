import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BootImage, type BootImagePolicy, bootImageName, type Infrastructure } from '@drydock/api';
import { pinOf } from '../pass/pin-of.ts';
import { infrastructure, machineSet } from '../testing/fake-cluster.ts';
import { checkSharedName } from './policies.ts';

/** Sets that share their names by tens, all pinned, in a world that stays but for `state`; what was asked of their platform. */
function world(
  count: number,
  release: (at: number) => string = () => 'Q',
  policies: readonly BootImagePolicy[] = [],
  until?: string,
) {
  const sets = Array.from({ length: count }, (_, at) =>
    machineSet(`wk-${at}`, { template: `name-${at % (count / 10)}` }, at === 0 ? { labels: { lead: '' } } : {}),
  );
  const images = sets.map(
    ({ metadata: { name, namespace = '' } }, at): BootImage => ({
      metadata: { name: bootImageName('ms', name), namespace },
      spec: {
        machineSet: { apiGroup: 'machine.openshift.io', kind: 'MachineSet', name },
        pin: { release: release(at), ...(until === undefined ? {} : { until }) },
      },
    }),
  );
  const byName = new Map(sets.map((set) => [set.metadata.name, set]));
  const own = new Map(images.map((image) => [image.metadata.name, image]));
  const state = { now: 0, infrastructure: infrastructure() };
  const asked = { names: 0, sets: 0 };
  const platform = {
    publication: 'swap' as const,
    sharedName: (spec: Readonly<Record<string, unknown>>, { status }: Infrastructure) => {
      asked.names += 1;
      return `${status?.infrastructureName}|${String(spec['template'])}`;
    },
  };
  const sources = {
    now: () => new Date(state.now),
    platforms: new Map(),
    world: {
      bootImagePolicies: () => policies,
      bootImage: ({ name }: { readonly name: string }) => own.get(name),
      pinnedImages: () => images,
      machineSets: () => sets,
      machineSet: ({ name }: { readonly name: string }) => {
        asked.sets += 1;
        return byName.get(name);
      },
      infrastructure: () => state.infrastructure,
    },
  };
  return {
    ...{ sets, own, asked, state },
    pin: (set: (typeof sets)[number]) => pinOf(set, platform as never, sources),
    check: (set: (typeof sets)[number]) => checkSharedName(set, platform, sources),
  };
}

test('OWN-18 swap mode: the pins of all sets cost one look at each set and each pin, however many sets there are', () => {
  for (const count of [100, 1_000]) {
    const { sets, asked, pin } = world(count);
    for (const set of sets) assert.equal(pin(set)?.pin.release, 'Q');
    assert.ok(asked.names <= 2 * count && asked.sets <= count, `${asked.names} names, ${asked.sets} sets of ${count}`);
  }
});

test('OWN-18 swap mode: a set without a pin has that of another one under its name; one pin that differs is told with whose it is', () => {
  const { sets, own, pin } = world(20);
  own.delete(bootImageName('ms', 'wk-0'));
  const [first, , third] = sets;
  assert.ok(first !== undefined && third !== undefined);
  assert.deepEqual(pin(first), { pin: { release: 'Q' }, of: 'ms/wk-2' });
  assert.deepEqual(pin(third), { pin: { release: 'Q' } });
  const differs = world(20, (at) => (at === 4 ? 'R' : 'Q'));
  assert.throws(() => differs.pin(differs.sets[0] ?? first), /ms\/wk-0 to Q.*ms\/wk-4 to R/);
  assert.deepEqual(differs.pin(differs.sets[1] ?? first), { pin: { release: 'Q' } }, 'under another name');
});

test('KEEP-C: swap mode: a pin that has lapsed holds no other machine set under its name, from the moment at which it lapses', () => {
  const end = 60_000;
  const { sets, own, state, pin } = world(20, undefined, [], new Date(end).toISOString());
  own.delete(bootImageName('ms', 'wk-0'));
  const [first] = sets;
  assert.ok(first !== undefined);
  state.now = end - 1;
  assert.equal(pin(first)?.of, 'ms/wk-2');
  state.now = end;
  assert.equal(pin(first), undefined);
  state.now = end - 1;
  assert.equal(pin(first)?.of, 'ms/wk-2', 'a clock that is set back');
});

test('KEEP-C: swap mode: when Infrastructure changes the names that machine sets share, pins and policies hold the sets under the new names', () => {
  const gold: BootImagePolicy = { metadata: { name: 'gold' }, spec: { image: { release: 'Q' } } };
  const lead = { image: { release: 'R' }, priority: 1, selector: { matchLabels: { lead: '' } } };
  const { sets, own, state, pin, check } = world(20, undefined, [gold, { metadata: { name: 'lead' }, spec: lead }]);
  own.delete(bootImageName('ms', 'wk-0'));
  const [first] = sets;
  assert.ok(first !== undefined);
  for (const infrastructureName of ['c1-abcde', 'c2-fghij']) {
    state.infrastructure = { ...infrastructure(), status: { infrastructureName } };
    assert.equal(pin(first)?.of, 'ms/wk-2', infrastructureName);
    assert.throws(() => check(first), /wk-0 is to have R by .* and machineset wk-2 Q by/, infrastructureName);
  }
});

test('OWN-18 policies that name releases cost one look at each set, however many there are; a set is told which other one wants another release', () => {
  const gold: BootImagePolicy = { metadata: { name: 'gold' }, spec: { image: { release: 'Q' } } };
  for (const count of [100, 1_000]) {
    const { sets, asked, check } = world(count, undefined, [gold]);
    for (const set of sets) check(set);
    assert.ok(asked.names <= 2 * count, `${asked.names} names of ${count} sets`);
  }
  const lead = { image: { release: 'R' }, priority: 1, selector: { matchLabels: { lead: '' } } };
  const { sets, check } = world(20, undefined, [gold, { metadata: { name: 'lead' }, spec: lead }]);
  const [first, second, third] = sets;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  assert.throws(() => check(first), /wk-0 is to have R by bootimagepolicy lead and machineset wk-2 Q by/);
  assert.throws(() => check(third), /wk-2 is to have Q by bootimagepolicy gold and machineset wk-0 R by/);
  check(second);
});
