import assert from 'node:assert/strict';
import { threadTests } from '@drydock/model';
import { OWNERSHIP, type RevertRequest, retiredName } from '@drydock/templates';
import type { MoRef } from '@drydock/vsphere';
import {
  bearersOf,
  entryOf,
  exploreWork,
  FOLDER,
  NAME,
  prepared,
  processOf,
  publishAs,
  seenFor,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

const test = threadTests(import.meta.url);

const { placement } = wishFor('9.6');
const OWNER = 'cluster-uid';

/** 9.6 bears the name, 9.4 is retired. */
const published = prepared(async () => {
  const world = await worldWith('ours');
  await publishAs(world, 'second-pass', wishFor('9.6'));
  world.clock.advance(3_600_000);
  return world;
});

const ours = ({ inventory, foreign }: World) =>
  inventory.snapshot().machines.filter(({ ref, folder }) => folder === FOLDER && !foreign.has(ref));

test('VS-W93 revert: a crash or a lost answer at every call, alone and in pairs; the same command finishes it, nothing is uploaded', async () => {
  const request = (world: World): RevertRequest => ({ placement, owner: OWNER, name: NAME, holder: `h-${world.runs}` });
  const revert = async (world: World): Promise<void> => {
    await using store = processOf(world);
    await store.revert(request(world));
  };
  const check = (world: World, faults: number): void => {
    // A pass that died after its last change was complete: the next one goes back again, which is what its caller asked for.
    const versions = bearersOf(world.inventory.snapshot()).map(({ productVersion }) => productVersion);
    assert.ok(
      faults === 0 ? versions[0] === '9.4' : versions.length === 1,
      `${versions.join()} after ${faults} faults`,
    );
    assert.equal(world.inventory.counters.uploads, 0);
    assert.deepEqual(
      ours(world)
        .map(({ productVersion }) => `${productVersion}`)
        .toSorted(),
      ['9.4', '9.6'],
    );
    for (const { ref, name, instanceUuid } of ours(world)) {
      if (name === NAME) continue;
      assert.equal(name, retiredName(NAME, instanceUuid));
      assert.equal(entryOf(world, ref)?.role, 'retired');
    }
  };
  const once = await exploreWork(published, revert, check);
  assert.ok(!once.complete || once.scenarios > 80, `only ${once.scenarios}`);
  await exploreWork(published, revert, check, { depth: 2 });
});

test('VS-W93 revert to a named generation: whatever fails, that generation is in place in the end', async () => {
  const revert = async (world: World): Promise<void> => {
    await using store = processOf(world);
    const target = ours(world).find(({ productVersion }) => productVersion === '9.4');
    await store.revert({
      placement,
      owner: OWNER,
      name: NAME,
      to: target?.instanceUuid ?? '',
      holder: `h-${world.runs}`,
    });
  };
  const check = (world: World): void => {
    assert.deepEqual(
      bearersOf(world.inventory.snapshot()).map(({ productVersion }) => productVersion),
      ['9.4'],
    );
    assert.equal(world.inventory.counters.uploads, 0);
  };
  await exploreWork(published, revert, check, { depth: 2 });
});

test('VS-W93 a crash in the window of a revert: the same command without a generation finishes what was begun', async () => {
  const world = await published();
  world.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'rename' && phase === 'after') client.kill();
  };
  const revert = async (holder: string): Promise<void> => {
    await using store = processOf(world);
    await store.revert({ placement, owner: OWNER, name: NAME, holder });
  };
  await assert.rejects(revert('dies'));
  world.inventory.onCall = undefined;
  assert.equal(bearersOf(world.inventory.snapshot()).length, 0);
  await revert('finishes');
  assert.equal(bearersOf(world.inventory.snapshot())[0]?.productVersion, '9.4');
});

test('BI-W5 collection: a crash or a lost answer at every call never takes what bears the name, and a last pass removes the rest', async () => {
  const collect = async (world: World): Promise<void> => {
    await using store = processOf(world);
    await store.collect(placement, OWNER, { referenced: () => undefined, holderIsLive: () => false, keep: 0 });
  };
  const setup = async (): Promise<World> => {
    const world = await published();
    world.clock.advance(86_400_000);
    return world;
  };
  const check = (world: World): void =>
    assert.deepEqual(
      ours(world).map(({ name }) => name),
      [NAME],
    );
  const coverage = await exploreWork(setup, collect, check, { depth: 2 });
  assert.ok(!coverage.complete || coverage.scenarios > 40, `only ${coverage.scenarios}`);
});

/** A publication whose process dies right after it recorded that it is about to make a template, and whose release is not wanted again. An observer has seen what it left. */
const forgotten = prepared(async () => {
  const world = await published();
  world.inventory.onCall = (method, phase, _args, { client }) => {
    if (phase === 'before' && method === 'markAsTemplate') client.kill();
  };
  await assert.rejects(publishAs(world, 'dies', wishFor('9.8'), '9.8'));
  world.inventory.onCall = undefined;
  await seenFor(world, 0);
  assert.deepEqual(
    half(world).map(({ ref }) => entryOf(world, ref)?.stage),
    ['marking'],
  );
  return world;
});

const collectWith = async (world: World, live: boolean | undefined = false): Promise<readonly string[]> => {
  await using store = processOf(world);
  const options = { referenced: () => undefined, holderIsLive: () => live, keep: 0 };
  return (await store.collect(placement, OWNER, options)).filter(({ removed }) => !removed).map(({ reason }) => reason);
};
const half = (world: World) => ours(world).filter(({ productVersion }) => productVersion === '9.8');

test('OWN-18 an importer that dies right before it makes a template, whose release is never wanted again: collection removes it after a day, whatever fails', async () => {
  const setup = async (): Promise<World> => {
    const world = await forgotten();
    assert.deepEqual(
      half(world).map(({ isTemplate, complete }) => [isTemplate, complete]),
      [[false, true]],
    );
    world.clock.advance(86_400_000 + 1);
    return world;
  };
  const collect = async (world: World): Promise<void> => {
    await collectWith(world);
  };
  const check = (world: World): void =>
    assert.deepEqual(
      ours(world).map(({ name }) => name),
      [NAME],
    );
  const coverage = await exploreWork(setup, collect, check, { depth: 2 });
  assert.ok(!coverage.complete || coverage.scenarios > 40, `only ${coverage.scenarios}`);
});

test('OWN-18 what may be somebody’s, or may still be made a template, is not removed as forgotten', async () => {
  const day = 86_400_000 + 1;
  const waits = 'it is uploaded whole, and about to be made a template';
  const theirs = /^it was a template and somebody made a machine of it/;
  const cases: readonly (readonly [
    what: string,
    happens: (world: World, ref: MoRef) => void,
    live: boolean,
    kept: RegExp,
  ])[] = [
    [
      'its importer lives',
      ({ clock }) => clock.advance(day),
      true,
      new RegExp(`^${waits}: .* is being imported by dies$`),
    ],
    [
      'less than a day',
      ({ clock }) => clock.advance(day - 3_600_000),
      false,
      new RegExp(`^(?:${waits}|a finished import waits to be adopted)$`),
    ],
    [
      'it became a template, and somebody made a machine of it',
      ({ clock, inventory }, ref) => {
        inventory.convert(ref, 'template');
        inventory.convert(ref, 'machine');
        clock.advance(day);
      },
      false,
      theirs,
    ],
  ];
  for (const [what, happens, live, kept] of cases) {
    const world = await forgotten();
    const { name } = half(world)[0] ?? assert.fail('it is there');
    const machine = [...world.inventory.state.machines.values()].find((one) => one.name === name);
    happens(world, machine?.ref ?? assert.fail('it is there'));
    const reasons = await collectWith(world, live);
    assert.equal(half(world).length, 1, what);
    assert.ok(
      reasons.some((reason) => kept.test(reason)),
      `${what}: ${reasons.join('; ')}`,
    );
  }
});

test('adoption: a crash or a lost answer at every call, the template stays one all the time', async () => {
  const adopt = async (world: World): Promise<void> => {
    await using store = processOf(world);
    await store.adopt({ placement, owner: OWNER, reference: NAME, holder: 'h' });
  };
  const check = (world: World): void => {
    const [adopted] = ours(world);
    assert.match(adopted?.customValues[OWNERSHIP] ?? '', /"kind":"adopted","is":"[^"]+","code":"[0-9a-f]{12}:/);
    const entry = entryOf(world, adopted?.ref ?? '');
    assert.deepEqual([entry?.role, entry?.stage, entry?.own], ['adopted', 'template', true]);
  };
  await exploreWork(() => worldWith('unmarked'), adopt, check, { depth: 2 });
});

test('VS-W93 pointer mode: in the same world, crashes and lost answers in pairs; what bears the stable name never changes', async () => {
  const wish = wishFor('9.6', { publication: { kind: 'pointer' } });
  const publish = (world: World, holder: string) => publishAs(world, holder, wish);
  const check = (world: World, faults: number): void => {
    assert.equal(bearersOf(world.inventory.snapshot())[0]?.productVersion, '9.4');
    const fresh = ours(world).filter(({ productVersion }) => productVersion === '9.6');
    assert.deepEqual(
      fresh.map(({ isTemplate, complete }) => [isTemplate, complete]),
      [[true, true]],
    );
    assert.ok(world.inventory.counters.uploads <= 1 + faults);
    assert.equal(ours(world).length, 2);
  };
  const coverage = await exploreWork(() => worldWith('unmarked'), publish, check, { depth: 2 });
  assert.ok(!coverage.complete || coverage.scenarios > 800, `only ${coverage.scenarios}`);
});
