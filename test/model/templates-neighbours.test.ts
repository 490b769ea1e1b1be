import assert from 'node:assert/strict';
import { type Exploration, explore, scheduler, soaking, threadTests, virtualClock } from '@drydock/model';
import { BIRTH_KEY, isTemplateError, retiredName, type TemplateErrorCode, templateStore } from '@drydock/templates';
import { memoryOva } from '@drydock/templates/testing';
import { simulatedLoss } from '@drydock/vsphere/testing';
import {
  bearersOf,
  copyWorld,
  FOLDER,
  isRetired,
  NAME,
  optionsOf,
  processOf,
  publishAs,
  stateOf,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

const test = threadTests(import.meta.url);

/** What an admin does at some instant; `undo` makes way for us again. */
interface Meddling {
  readonly what: string;
  readonly act: (world: World) => (() => void) | undefined;
  /** With what a pass may end instead of success. */
  readonly refusals: readonly TemplateErrorCode[];
}

const machines = (world: World) => world.inventory.snapshot().machines;
const refOf = (text: string) => ({ type: 'VirtualMachine', value: text.split(':')[1] ?? '' });

const MEDDLINGS: readonly Meddling[] = [
  {
    what: 'a clone of whatever bears the name starts',
    act: (world) => {
      const [bearer] = bearersOf(world.inventory.snapshot());
      return bearer === undefined ? undefined : world.inventory.startTask(refOf(bearer.ref), 'VirtualMachine.clone');
    },
    refusals: ['TEMPLATE_BUSY'],
  },
  {
    what: 'a linked clone of whatever bears the name appears elsewhere',
    act: (world) => {
      const [bearer] = bearersOf(world.inventory.snapshot());
      if (bearer === undefined) return undefined;
      const folder = world.inventory.at('/DC0/vm/other');
      world.inventory.clone(refOf(bearer.ref), { name: `worker-${world.runs}`, folder, linked: true, powerOn: true });
      return undefined;
    },
    refusals: [],
  },
  {
    what: 'somebody deletes what bears the name',
    act: (world) => {
      for (const bearer of bearersOf(world.inventory.snapshot())) world.inventory.remove(refOf(bearer.ref));
      return undefined;
    },
    refusals: [],
  },
  {
    what: 'somebody deletes every import of ours that is not published',
    act: (world) => {
      for (const { ref, name, extraConfig } of machines(world))
        if (/"release":"9\.6"/.test(extraConfig[BIRTH_KEY] ?? '') && name !== NAME) world.inventory.remove(refOf(ref));
      return undefined;
    },
    // The machine goes while it is being made: the import fails and is tried again by the next pass.
    refusals: ['IMPORT_FAILED', 'NAME_TAKEN', 'RENAME_FAILED', 'VCENTER_FAILED', 'TAG_FAILED', 'DIGEST_MISMATCH'],
  },
  {
    what: 'somebody takes the name as soon as it is free',
    act: (world) => {
      if (bearersOf(world.inventory.snapshot()).length > 0) return undefined;
      const taken = world.inventory.add(world.inventory.at(FOLDER), { name: `${NAME}`, powerState: 'poweredOn' });
      world.foreign.set(`VirtualMachine:${taken.value}`, JSON.stringify(machines(world).at(-1)));
      return () => {
        world.foreign.delete(`VirtualMachine:${taken.value}`);
        world.inventory.remove(taken);
      };
    },
    refusals: ['SWAP_FAILED', 'POWERED_ON', 'NAME_TAKEN', 'RENAME_FAILED'],
  },
  {
    what: 'somebody takes the retired name',
    act: (world) => {
      const [bearer] = bearersOf(world.inventory.snapshot());
      if (bearer === undefined || bearer.productVersion === '9.6') return undefined;
      const name = retiredName(NAME, bearer.instanceUuid);
      const taken = world.inventory.add(world.inventory.at(FOLDER), { name });
      world.foreign.set(`VirtualMachine:${taken.value}`, JSON.stringify(machines(world).at(-1)));
      return () => {
        world.foreign.delete(`VirtualMachine:${taken.value}`);
        world.inventory.remove(taken);
      };
    },
    refusals: ['NAME_TAKEN', 'RENAME_FAILED'],
  },
  {
    what: 'somebody gives our template another name',
    act: (world) => {
      const [bearer] = bearersOf(world.inventory.snapshot());
      const machine = world.inventory.state.machines.get(bearer?.ref ?? '');
      if (machine !== undefined && machine.productVersion === '9.6') machine.name = 'renamed by hand';
      return undefined;
    },
    refusals: [],
  },
];

/** A pass that may be refused; then everything that was must still be there. Afterwards the admin makes way. */
async function passWith(world: World, holder: string, meddling: Meddling, undo: (() => void)[]): Promise<void> {
  try {
    await publishAs(world, holder, wishFor('9.6'));
  } catch (error) {
    if (!isTemplateError(error) || !meddling.refusals.includes(error.code)) throw error;
    assert.ok(error.next.length > 0 && error.message.endsWith(error.next));
  }
  if (undo.length === 0) return;
  for (const make of undo.splice(0)) make();
  await publishAs(world, `${holder}-again`, wishFor('9.6'));
}

type Watched = World & { undo: (() => void)[] };

for (const meddling of MEDDLINGS) {
  const exploration = (last: number): Exploration<Watched, 'kill, then meddle'> => ({
    setup: async () => ({ ...(await worldWith('ours')), undo: [] }),
    run: async (world, tripwire) => {
      world.runs += 1;
      world.changes.length = 0;
      world.inventory.onCall = (method, phase, _args, { client, mutates }) => {
        if (method === 'logout' || (!mutates && last > 1 && !soaking)) return;
        if (tripwire.hit(`${phase} ${method}`) === undefined) return;
        if (world.runs < last) {
          client.kill();
          throw simulatedLoss(method);
        }
        const undo = meddling.act(world);
        if (undo !== undefined) world.undo.push(undo);
      };
      try {
        await passWith(world, `holder-${world.runs}`, meddling, world.undo);
      } finally {
        world.inventory.onCall = undefined;
      }
    },
    check: (world) => {
      // The taker of a name is no template: that is not what a reader must be spared.
      const seen = world.seen.filter((line) => !/ bears the name and is no template$/.test(line));
      assert.deepEqual(seen, []);
      const [current, ...more] = bearersOf(world.inventory.snapshot());
      assert.deepEqual([current?.productVersion, current?.complete, more.length], ['9.6', true, 0]);
      assert.deepEqual(world.inventory.snapshot().broken, []);
      const ours = machines(world).filter(({ name }) => isRetired(name) || name.startsWith('rhcos-9.6'));
      const rest = ours.filter(({ ref }) => !world.foreign.has(ref)).map(({ productVersion }) => productVersion);
      assert.ok(rest.length <= 2 && !rest.includes(undefined), `left: ${rest.join()}`);
      assert.ok(world.inventory.counters.uploads <= 3, `${world.inventory.counters.uploads} uploads`);
    },
    faults: ['kill, then meddle'],
    // Whoever meddled has made way by the end of a pass.
    worlds: {
      copy: (world) => ({ ...copyWorld(world), undo: [] }),
      state: (world) => `${world.inventory.counters.uploads} ${stateOf(world)}`,
    },
    depth: last === 2 ? 2 : 1,
  });
  test(`VS-W93 swap mode: ${meddling.what}, at every call, and at every change of the pass that follows a crash`, async () => {
    const once = await explore(exploration(1));
    assert.ok(!once.complete || once.scenarios > 60, `only ${once.scenarios} scenarios`);
    const coverage = await explore(exploration(2));
    assert.ok(!coverage.complete || coverage.scenarios > 100, `only ${coverage.scenarios} scenarios`);
  });
}

test('two processes with one wish race through a swap: one template, one upload, whatever the interleaving', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const world = await racing(seed);
    const publish = (holder: string) => async () => {
      const vcenters = async () => world.inventory.client();
      await using store = templateStore({ ...optionsOf(world), vcenters, ovas: memoryOva() });
      return await store.publish({ ...wishFor('9.6'), holder }, { holderIsLive: () => true });
    };
    const results = await world.turns.run([publish('a'), publish('b')]);
    for (const result of results) {
      // Who meets the other's renames half-way may say so; it never does harm.
      const harmless = result.status === 'rejected' && isTemplateError(result.reason) && result.reason.retriable;
      assert.ok(result.status === 'fulfilled' || harmless, `seed ${seed}: ${JSON.stringify(result)}`);
    }
    assert.ok(
      results.some(({ status }) => status === 'fulfilled'),
      `seed ${seed}`,
    );
    world.inventory.onCall = undefined;
    assert.deepEqual(world.seen, [], `seed ${seed}`);
    assert.deepEqual(
      bearersOf(world.inventory.snapshot()).map(({ productVersion }) => productVersion),
      ['9.6'],
    );
    assert.equal(world.inventory.counters.uploads, 1, `seed ${seed}`);
    assert.equal(bearersOf(world.inventory.snapshot())[0]?.secureBoot, false, `seed ${seed}`);
  }
});

async function racing(seed: number) {
  const world = await worldWith('ours');
  const clock = virtualClock({ start: world.clock.now() });
  const turns = scheduler(seed, clock);
  world.inventory.onCall = (method, phase) => (method === 'logout' || phase === 'after' ? undefined : turns.turn());
  return { ...world, clock, turns };
}

test('two wishes for one name race: the name always has one of them, and a last pass of each settles it', async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const world = await racing(seed);
    const publish = (holder: string, version: string) => async () => {
      const vcenters = async () => world.inventory.client();
      await using store = templateStore({ ...optionsOf(world), vcenters, ovas: memoryOva({ version }) });
      return await store.publish({ ...wishFor(version), holder }, { holderIsLive: () => true });
    };
    await world.turns.run([publish('a', '9.6'), publish('b', '9.8')]);
    world.inventory.onCall = undefined;
    assert.deepEqual(world.seen, [], `seed ${seed}`);
    await publishAs(world, 'c', wishFor('9.8'), '9.8');
    assert.deepEqual(
      bearersOf(world.inventory.snapshot()).map(({ productVersion }) => productVersion),
      ['9.8'],
    );
  }
});

test('without a note that can be read back nothing is renamed: a crash in between could not be recovered from', async () => {
  const world = await worldWith('unmarked');
  const client = world.inventory.client();
  type Reconfigure = typeof client.reconfigure;
  const forgetful = {
    ...client,
    reconfigure: async (...[vm, change]: Parameters<Reconfigure>) => {
      const extraConfig = new Map([...(change.extraConfig ?? [])].filter(([key]) => key !== 'drydock.replaces'));
      return client.reconfigure(vm, { ...change, extraConfig });
    },
    setCustomValue: async () => undefined,
  };
  const vcenters = async () => forgetful;
  await using store = templateStore({ ...optionsOf(world), vcenters, ovas: memoryOva() });
  const { byMethod } = world.inventory.counters;
  const renames = byMethod.get('rename');
  await assert.rejects(store.publish(wishFor('9.6'), { holderIsLive: () => true }), (error) =>
    isTemplateError(error, 'ATTRIBUTE_CUT'),
  );
  assert.equal(byMethod.get('rename'), renames);
});

test('the second cluster publishes under the same name in its own folder: nothing here changes', async () => {
  const world = await worldWith('ours');
  const before = JSON.stringify(bearersOf(world.inventory.snapshot()));
  const elsewhere = wishFor('9.6', {
    cluster: 'second',
    placement: { ...wishFor('9.6').placement, folder: '/DC0/vm/other' },
  });
  for (const [ref] of world.foreign)
    if (machines(world).some((one) => one.ref === ref && one.folder !== FOLDER)) world.foreign.delete(ref);
  await publishAs(world, 'x', elsewhere);
  assert.equal(JSON.stringify(bearersOf(world.inventory.snapshot())), before);
  await using store = processOf(world);
  // In our folder the name is ours: the second cluster is refused before it uploads anything.
  const { uploads } = world.inventory.counters;
  await assert.rejects(
    store.publish({ ...wishFor('9.6'), cluster: 'second' }, { holderIsLive: () => true }),
    (error) => isTemplateError(error, 'FOREIGN_OWNER') && error.text.includes('belongs to cluster-uid'),
  );
  assert.equal(world.inventory.counters.uploads, uploads);
});
