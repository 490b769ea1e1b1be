import assert from 'node:assert/strict';
import { threadTests } from '@drydock/model';
import { type RevertRequest, retiredName } from '@drydock/templates';
import {
  bearersOf,
  exploreWork,
  FOLDER,
  NAME,
  prepared,
  processOf,
  publishAs,
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
    for (const { name, instanceUuid, customValues } of ours(world)) {
      if (name === NAME) continue;
      assert.equal(name, retiredName(NAME, instanceUuid));
      assert.match(customValues['drydock'] ?? '', /"role":"retired"/);
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

test('adoption: a crash or a lost answer at every call, the template stays one all the time', async () => {
  const adopt = async (world: World): Promise<void> => {
    await using store = processOf(world);
    await store.adopt({ placement, owner: OWNER, reference: NAME, holder: 'h' });
  };
  const check = (world: World): void => {
    assert.match(ours(world)[0]?.customValues['drydock'] ?? '', /"role":"adopted"/);
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
