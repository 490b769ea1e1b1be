import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import type { MoRef } from '@drydock/vsphere';
import { type MemoryInventory, memoryInventory } from '@drydock/vsphere/testing';
import { recordOwnership } from '../act/prove.ts';
import { fingerprintOf } from '../fingerprint.ts';
import { birthConfig, CONTENT_KEY } from '../mark/birth-mark.ts';
import { uniqueName } from '../names.ts';
import { templateStore } from '../store-vsphere.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryLedger, testUptime } from '../testing/memory-ledger.ts';
import { memoryOva, testPlacement } from '../testing/wishes.ts';
import { testWitnesses } from '../testing/witnesses.ts';

const FOLDER = '/DC0/vm/ocp';
const DAY = 86_400_000;

interface Given {
  readonly name: string;
  readonly owner?: string;
  readonly template?: boolean;
  readonly verified?: boolean;
  readonly ageMs?: number;
  readonly digest?: string;
}

/** `aheadMs`: by how much vCenter's clock is ahead when collection runs. Each machine was seen for `ageMs` by then. */
async function rig(given: readonly Given[], aheadMs = 0) {
  const clock = virtualClock({ auto: true });
  let ahead = 0;
  const inventory = memoryInventory({ now: () => clock.now() + ahead });
  const ledger = memoryLedger();
  const store = templateStore({
    vcenters: async () => inventory.client(),
    cacheDir: '/nonexistent',
    clock,
    uptime: testUptime(clock),
    ovas: memoryOva(),
    markKeys: async () => TEST_KEYS,
    ledger,
  });
  const collect = ({
    referenced = () => undefined,
    ...options
  }: {
    keep?: number;
    referenced?: (name: string) => string | undefined;
    holderIsLive?: () => boolean | undefined;
    dryRun?: boolean;
  } = {}) =>
    store.collect(testPlacement(), 'us', {
      referenced: (name) => referenced(plain(name)),
      holderIsLive: () => false,
      keep: 0,
      ...options,
    });
  const oldest = Math.max(...given.map(({ ageMs = 2 * DAY }) => ageMs));
  const start = clock.now();
  const byAge = given.entries().toArray();
  for (const [index, one] of byAge.toSorted(([, a], [, b]) => (b.ageMs ?? 2 * DAY) - (a.ageMs ?? 2 * DAY))) {
    const {
      name,
      owner = 'us',
      template = true,
      verified = true,
      ageMs = 2 * DAY,
      digest = `${index}`.repeat(8),
    } = one;
    clock.advance(oldest - ageMs - (clock.now() - start));
    const instanceUuid = `42000000-0000-4000-8000-${index.toString().padStart(12, '0')}`;
    const mark = { owner, operation: `op${index}`, digest, release: '9.6' };
    const ref = inventory.add(inventory.at(FOLDER), {
      name: uniqueName(name, '9.6', digest, `op${index}`),
      template,
      instanceUuid,
      extraConfig: Object.fromEntries(birthConfig({ ...mark, holder: 'h', instanceUuid }, TEST_KEYS)),
      createDate: new Date(clock.now()).toISOString(),
    });
    const client = inventory.client();
    const vm = await client.vm(ref);
    if (verified && vm !== undefined) {
      const content = fingerprintOf(vm);
      inventory.state.machines.get(`VirtualMachine:${ref.value}`)?.extraConfig.set(CONTENT_KEY, content);
      const witnesses = await testWitnesses(client, clock, ledger);
      await recordOwnership(client, vm, 'imported', mark, witnesses, {});
      for (const [key, text] of ledger.texts)
        if (!template && text.includes(`"${digest}"`))
          ledger.texts.set(key, text.replace('"stage":"template"', '"stage":"imported"'));
    }
    await collect({ dryRun: true });
  }
  clock.advance(oldest - (clock.now() - start));
  ahead = aheadMs;
  return { inventory, clock, collect };
}

/** The name that a machine was given for a test. */
function plain(name: string): string {
  return name.replace(/-9\.6-[0-9a-f]{8}$/, '');
}

function machineAt(inventory: MemoryInventory, wanted: string): MoRef {
  const found = inventory.snapshot().machines.find(({ name }) => plain(name) === wanted);
  return { type: 'VirtualMachine', value: found?.ref.split(':')[1] ?? assert.fail(wanted) };
}

function left({ inventory }: { inventory: MemoryInventory }): readonly string[] {
  return inventory
    .snapshot()
    .machines.map(({ name }) => plain(name))
    .toSorted();
}

test('what nobody uses goes; what is used, unknown, foreign, new or unmarked stays, each with its reason', async () => {
  const made = await rig([
    { name: 'idle' },
    { name: 'used' },
    { name: 'unknown' },
    { name: 'foreign', owner: 'them' },
    { name: 'new', ageMs: 1000 },
  ]);
  made.inventory.add(made.inventory.at(FOLDER), { name: 'unmarked', template: true });
  const collected = await made.collect({ referenced: (name) => ({ used: 'MachineSet a', unknown: 'unknown' })[name] });
  assert.deepEqual(left(made), ['foreign', 'new', 'unknown', 'unmarked', 'used']);
  assert.deepEqual(
    Object.fromEntries(collected.map(({ name, removed, reason }) => [plain(name), `${removed}: ${reason}`])),
    {
      idle: 'true: nothing uses it',
      used: 'false: used by MachineSet a',
      unknown: 'false: it is unknown whether something uses it',
      foreign: 'false: it belongs to cluster them',
      new: 'false: it is new and may be about to be used',
    },
  );
});

test('the newest that nobody uses stays as a way back', async () => {
  const made = await rig([
    { name: 'rhcos', ageMs: 9 * DAY },
    { name: 'rhcos', ageMs: 2 * DAY },
    { name: 'rhcos', ageMs: 5 * DAY },
  ]);
  const newest = made.inventory.snapshot().machines.at(-1)?.name;
  await made.collect({ keep: 1 });
  assert.deepEqual(
    made.inventory.snapshot().machines.map(({ name }) => name),
    [newest],
  );
});

test('VS-W99 the source of a running clone stays, and goes when the clone has ended', async () => {
  const made = await rig([{ name: 'old' }]);
  const end = made.inventory.startTask(machineAt(made.inventory, 'old'), 'VirtualMachine.clone');
  assert.deepEqual(
    (await made.collect()).map(({ reason }) => reason),
    ['a task runs on it'],
  );
  assert.deepEqual(left(made), ['old']);
  end();
  await made.collect();
  assert.deepEqual(left(made), []);
});

test('VS-W99 the base of a linked clone stays', async () => {
  const made = await rig([{ name: 'old' }]);
  made.inventory.clone(machineAt(made.inventory, 'old'), {
    name: 'worker',
    folder: made.inventory.at(FOLDER),
    linked: true,
  });
  const collected = await made.collect();
  assert.equal(collected.find(({ name }) => plain(name) === 'old')?.reason, 'its disks carry those of worker');
  assert.deepEqual(made.inventory.snapshot().broken, []);
});

test('VS-W99 a clone that starts between verdict and destroy keeps the template', async () => {
  const made = await rig([{ name: 'old' }]);
  // What collection asks once it has judged, before it judges again.
  made.inventory.onCall = (method, phase) => {
    if (method !== 'obstacle' || phase !== 'after') return;
    made.inventory.onCall = undefined;
    made.inventory.startTask(machineAt(made.inventory, 'old'), 'VirtualMachine.clone');
  };
  assert.deepEqual(
    (await made.collect()).map(({ reason }) => reason),
    ['a task runs on it'],
  );
  assert.deepEqual(left(made), ['old']);
});

test('unfinished imports: a live holder keeps, a dead one does not, an unknown one by its silence', async () => {
  const half = (name: string, ageMs: number): Given => ({ name, template: false, verified: false, ageMs });
  const made = await rig([half('young', 1000), half('aged', 700_000)]);
  await made.collect({ holderIsLive: () => true });
  assert.deepEqual(left(made), ['aged', 'young']);
  await made.collect({ holderIsLive: () => undefined });
  assert.deepEqual(left(made), ['young']);
  await made.collect({ holderIsLive: () => false });
  assert.deepEqual(left(made), []);
});

test('a finished import waits for a day to be adopted, unless a template has the same content', async () => {
  const staged = (name: string, ageMs: number, digest: string): Given => ({ name, template: false, ageMs, digest });
  const made = await rig([
    staged('waiting', DAY / 2, 'aa'),
    staged('forgotten', 2 * DAY, 'bb'),
    staged('twin', DAY / 2, 'cc'),
    { name: 'done', digest: 'cc' },
  ]);
  await made.collect({ referenced: (name) => (name === 'done' ? 'MachineSet a' : undefined) });
  assert.deepEqual(left(made), ['done', 'waiting']);
});

test("KEEP-6 a step of vCenter's clock makes nothing old: neither the import of an unknown holder nor a new template", async () => {
  const given = [
    { name: 'import', template: false, verified: false, ageMs: 60_000 },
    { name: 'new', ageMs: 60_000 },
    { name: 'dead', template: false, verified: false, ageMs: 700_000 },
  ];
  for (const ahead of [2 * DAY, 0, -2 * DAY]) {
    const made = await rig(given, ahead);
    const collected = await made.collect({ holderIsLive: () => undefined });
    assert.deepEqual(left(made), ['import', 'new'], `${ahead} ms ahead: ${JSON.stringify(collected)}`);
  }
});
