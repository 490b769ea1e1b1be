import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { virtualClock } from '@drydock/model';
import {
  type PublishedTemplate,
  type TemplateStore,
  type TemplateWish,
  templateStore,
  upstreamNames,
} from '@drydock/templates';
import { memoryLedger, memoryOva, testPlacement, testUptime, testWish } from '@drydock/templates/testing';
import { type CallHook, type MemoryInventory, memoryInventory, simulatedFault } from '@drydock/vsphere/testing';
import { mcoSync, type UpstreamSite } from './mco-swap.ts';

const FOLDER = '/DC0/vm/ocp';
const OTHER = '/DC0/vm/other';
const COMPUTED = 'c1-abcde-rhcos-fd1';

/** The same world for both. Each test plays one history against upstream's algorithm, where it must do harm, and against ours, where it must not. */
interface Rig {
  readonly inventory: MemoryInventory;
  readonly clock: ReturnType<typeof virtualClock>;
  upstream(change?: Partial<Omit<UpstreamSite, 'inventory' | 'client'>>): Promise<string>;
  /** A process of our installation, which begins with what the ledger has. */
  store(): TemplateStore;
  ours(name: string, change?: Partial<TemplateWish>): Promise<PublishedTemplate>;
}

function rig(production = COMPUTED, inMaintenance = false): Rig {
  const clock = virtualClock({ auto: true });
  const hosts = [{ name: 'h', inMaintenanceMode: inMaintenance }];
  const clusters = [{ path: '/DC0/host/C0', hosts }];
  const inventory = memoryInventory({ now: clock.now, folders: [FOLDER, OTHER], clusters });
  inventory.add(inventory.at(FOLDER), { name: production, template: true, productVersion: '9.4' });
  clock.advance(86_400_000);
  const ledger = memoryLedger('cluster');
  const store = (): TemplateStore =>
    templateStore({
      ...{ vcenters: async () => inventory.client(), cacheDir: '/nonexistent', clock, ovas: memoryOva() },
      ...{ ledger, uptime: testUptime(clock) },
    });
  return {
    inventory,
    clock,
    store,
    upstream: (change) =>
      mcoSync({
        inventory,
        client: inventory.client(),
        folder: FOLDER,
        template: production,
        computed: COMPUTED,
        release: '9.6',
        tagName: 'infra',
        ...change,
      }),
    ours: async (name, change) => {
      await using process = store();
      const wish = testWish({ publication: { kind: 'swap', name, unmarked: 'retire' }, ...change });
      return await process.publish(wish, { holderIsLive: () => false });
    },
  };
}

const versions = ({ inventory }: Rig, name: string, folder = FOLDER): readonly (string | undefined)[] =>
  inventory
    .snapshot()
    .machines.filter((machine) => machine.name === name && machine.folder === folder)
    .map(({ productVersion }) => productVersion);
const names = ({ inventory }: Rig): readonly string[] => inventory.snapshot().machines.map(({ name }) => name);

/** Ends the process that makes the n-th rename, after it. */
function dieAfterRename(n: number): CallHook {
  let count = 0;
  return (method, phase, _args, { client }) => {
    if (method !== 'rename' || phase !== 'after') return;
    count += 1;
    if (count === n) client.kill();
  };
}

/** How often a reader saw the name absent, looking after every change. */
function absences({ inventory }: Rig, name: string): () => number {
  let absent = 0;
  inventory.subscribe(({ machines }) => {
    if (!machines.some((machine) => machine.name === name && machine.isTemplate)) absent += 1;
  });
  return () => absent;
}

async function dies(work: Promise<unknown>, { inventory }: Rig): Promise<void> {
  await assert.rejects(work);
  inventory.onCall = undefined;
}

suite("negative control: upstream's swap, caught on each of its weaknesses", () => {
  test('BI-W1 the name is absent between the renames: unmeasured there; never with a pointer, measured and reported by our swap (VS-W104)', async () => {
    const theirs = rig();
    const seen = absences(theirs, COMPUTED);
    await theirs.upstream();
    assert.equal(seen(), 1);
    const pointer = rig();
    const none = absences(pointer, COMPUTED);
    assert.equal((await pointer.ours('', { publication: { kind: 'pointer' } })).absentMs, undefined);
    assert.equal(none(), 0);
    const swap = rig();
    const once = absences(swap, COMPUTED);
    const { absentMs } = await swap.ours(COMPUTED);
    assert.ok(absentMs !== undefined && absentMs >= 0 && absentMs < 5000);
    assert.equal(once(), 1);
  });

  test('BI-W2 VS-W94 the second rename fails: upstream leaves the name absent, ours takes the first back in the same pass', async () => {
    const refuse = (): CallHook => {
      let renames = 0;
      return (method, phase) => {
        if (method !== 'rename' || phase !== 'before') return;
        renames += 1;
        if (renames === 2)
          throw simulatedFault('NoPermission', 'Rename_Task', 'x', { privilegeId: 'VirtualMachine.Config.Rename' });
      };
    };
    const theirs = rig();
    theirs.inventory.onCall = refuse();
    await dies(theirs.upstream(), theirs);
    assert.deepEqual(versions(theirs, COMPUTED), []);
    const made = rig();
    made.inventory.onCall = refuse();
    await assert.rejects(made.ours(COMPUTED), /VirtualMachine\.Config\.Rename/);
    assert.deepEqual(versions(made, COMPUTED), ['9.4']);
  });

  test('BI-W3 a crash after rename 1 of a custom name: upstream points elsewhere and leaks, ours finishes under that name', async () => {
    const theirs = rig('custom');
    theirs.inventory.onCall = dieAfterRename(1);
    await dies(theirs.upstream(), theirs);
    assert.equal(await theirs.upstream(), COMPUTED);
    assert.deepEqual(versions(theirs, 'custom'), []);
    assert.ok(names(theirs).includes(upstreamNames('custom').old));
    const made = rig('custom');
    made.inventory.onCall = dieAfterRename(1);
    await dies(made.ours('custom'), made);
    assert.equal((await made.ours('custom')).uploads, 0);
    assert.deepEqual(versions(made, 'custom'), ['9.6']);
    // What upstream left behind is taken over, too (BI-V149).
    assert.equal((await theirs.ours('custom')).name, 'custom');
    assert.deepEqual(versions(theirs, 'custom'), ['9.6']);
    assert.ok(!names(theirs).includes(upstreamNames('custom').old));
  });

  test('BI-W4 the only good copy is destroyed before there is a new one; ours destroys nothing', async () => {
    const play = async (made: Rig, sync: () => Promise<unknown>): Promise<void> => {
      made.inventory.onCall = dieAfterRename(1);
      await dies(sync(), made);
      // An admin mends it with anything, then the hosts go into maintenance.
      made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, template: true, productVersion: 'odd' });
      made.inventory.onCall = (method) => {
        if (method === 'hosts') throw simulatedFault('HostNotConnected', 'hosts', 'C0');
      };
      await sync().catch(() => undefined);
    };
    const theirs = rig();
    await play(theirs, () => theirs.upstream());
    assert.ok(!theirs.inventory.snapshot().machines.some(({ productVersion }) => productVersion === '9.4'));
    const made = rig();
    await play(made, () => made.ours(COMPUTED));
    assert.ok(made.inventory.snapshot().machines.some(({ productVersion }) => productVersion === '9.4'));
  });

  test('BI-W5 BI-V151 swap mode: a crash after rename 2: upstream keeps mco-old for ever; ours marks what it put away, and removes mco-old', async () => {
    const theirs = rig();
    theirs.inventory.onCall = dieAfterRename(2);
    await dies(theirs.upstream(), theirs);
    await theirs.upstream();
    assert.ok(names(theirs).includes(upstreamNames(COMPUTED).old));
    await theirs.ours(COMPUTED);
    // Whoever made it may still be about to rename it.
    assert.ok(names(theirs).includes(upstreamNames(COMPUTED).old));
    theirs.clock.advance(10 * 60_000);
    await theirs.ours(COMPUTED);
    assert.ok(!names(theirs).includes(upstreamNames(COMPUTED).old));
    const made = rig();
    made.inventory.onCall = dieAfterRename(2);
    await dies(made.ours(COMPUTED), made);
    await made.ours(COMPUTED);
    await using store = made.store();
    const { placement, cluster } = testWish();
    const old = (await store.list(placement, cluster)).find(({ version }) => version === '9.4');
    assert.equal(old?.role, 'retired');
  });

  test('BI-W6 a failure after the upload: upstream uploads again each time, ours never', async () => {
    const theirs = rig();
    for (let round = 0; round < 3; round += 1) await assert.rejects(theirs.upstream({ tagName: 'gone' }));
    assert.equal(theirs.inventory.counters.uploads, 3);
    const made = rig();
    for (let round = 0; round < 3; round += 1) await assert.rejects(made.ours(COMPUTED, { tagIds: ['urn:no'] }));
    assert.equal(made.inventory.counters.uploads, 1);
    await made.ours(COMPUTED);
    assert.equal(made.inventory.counters.uploads, 1);
  });

  test('BI-W7 a leftover when the version matches already: upstream leaks it, ours removes it', async () => {
    const theirs = rig();
    const { temp } = upstreamNames(COMPUTED);
    theirs.inventory.add(theirs.inventory.at(FOLDER), { name: temp, createDate: '2025-01-01T00:00:00Z' });
    await theirs.upstream({ release: '9.4' });
    assert.ok(names(theirs).includes(temp));
    await theirs.ours(COMPUTED);
    // Its maker, who writes no heartbeat, may still upload to it.
    assert.ok(names(theirs).includes(temp));
    theirs.clock.advance(24 * 3_600_000);
    await theirs.ours(COMPUTED);
    assert.ok(!names(theirs).includes(temp));
  });

  test('BI-W8 VS-W99 a clone of the old template runs: upstream fails after the swap, ours keeps the old one; linked clones keep their disks', async () => {
    const theirs = rig();
    theirs.inventory.onCall = (method, phase) => {
      if (method === 'destroy' && phase === 'before')
        theirs.inventory.startTask(theirs.inventory.at(`${FOLDER}/${upstreamNames(COMPUTED).old}`), 'clone');
    };
    await assert.rejects(theirs.upstream(), /TaskInProgress/);
    const linked = rig();
    linked.inventory.clone(linked.inventory.at(`${FOLDER}/${COMPUTED}`), {
      name: 'worker',
      folder: linked.inventory.at(OTHER),
      linked: true,
    });
    await linked.upstream();
    assert.deepEqual(linked.inventory.snapshot().broken, ['worker']);
    const made = rig();
    made.inventory.clone(made.inventory.at(`${FOLDER}/${COMPUTED}`), {
      name: 'worker',
      folder: made.inventory.at(OTHER),
      linked: true,
    });
    await made.ours(COMPUTED);
    assert.deepEqual(made.inventory.snapshot().broken, []);
  });

  test('BI-W9 VS-W103 a machine that runs bears the name: upstream renames it, ours refuses', async () => {
    const play = (made: Rig) => made.inventory.power(made.inventory.at(`${FOLDER}/${COMPUTED}`), 'poweredOn');
    const theirs = rig();
    play(theirs);
    await assert.rejects(theirs.upstream());
    assert.deepEqual(versions(theirs, upstreamNames(COMPUTED).old), ['9.4']);
    const made = rig();
    const machine = made.inventory.state.machines.get([...made.inventory.state.machines.keys()][0] ?? '');
    if (machine !== undefined) machine.isTemplate = false;
    play(made);
    await assert.rejects(made.ours(COMPUTED), /is a machine that is not powered off/);
    assert.deepEqual(versions(made, COMPUTED), ['9.4']);
    assert.equal(made.inventory.counters.uploads, 0);
  });

  test('BI-W10 two processes: upstream destroys the import of the other, ours waits for it', async () => {
    const together = async (made: Rig, sync: () => Promise<unknown>): Promise<number> => {
      let second: Promise<unknown> | undefined;
      let destroyed = 0;
      made.inventory.onCall = async (method, phase) => {
        if (method === 'destroy' && phase === 'before') destroyed += 1;
        if (method !== 'lease.upload.half' || phase !== 'before' || second !== undefined) return;
        second = sync().catch(() => undefined);
        await second;
      };
      await sync().catch(() => undefined);
      return destroyed;
    };
    const theirs = rig();
    assert.ok((await together(theirs, () => theirs.upstream())) > 0);
    const made = rig();
    const shared = (holder: string) => async () => {
      await using store = made.store();
      const wish = testWish({ holder, publication: { kind: 'swap', name: COMPUTED, unmarked: 'retire' } });
      return await store.publish(wish, { holderIsLive: () => true });
    };
    let turn = 0;
    const destroyed = await together(made, () => {
      turn += 1;
      return shared(`holder-${turn}`)();
    });
    assert.equal(destroyed, 0);
    assert.deepEqual(versions(made, COMPUTED), ['9.6']);
  });

  test('BI-W11 VS-T2 one custom name in two folders: upstream destroys the rollback copy of the other cluster, ours does not know it', async () => {
    const play = async (made: Rig): Promise<void> => {
      made.inventory.add(made.inventory.at(OTHER), {
        name: upstreamNames('custom').old,
        template: true,
        productVersion: 'theirs',
      });
    };
    const theirs = rig('custom');
    await play(theirs);
    await theirs.upstream();
    assert.deepEqual(versions(theirs, upstreamNames('custom').old, OTHER), []);
    const made = rig('custom');
    await play(made);
    await made.ours('custom', { placement: testPlacement() });
    assert.deepEqual(versions(made, upstreamNames('custom').old, OTHER), ['theirs']);
  });
});
