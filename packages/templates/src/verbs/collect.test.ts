import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { type MemoryInventory, memoryInventory } from '@drydock/vsphere/testing';
import { markConfig, VERIFIED_KEY } from '../mark.ts';
import { uniqueName } from '../names.ts';
import { HEARTBEAT_KEY } from '../record.ts';
import { templateStore } from '../store-vsphere.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryOva, testPlacement } from '../testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const DAY = 86_400_000;

interface Given {
  readonly name: string;
  readonly owner?: string;
  readonly template?: boolean;
  readonly verified?: boolean;
  readonly ageMs?: number;
  readonly digest?: string;
  /** Its importer says from time to time that it lives. */
  readonly beats?: boolean;
}

/** `aheadMs`: by how much our clock is ahead of vCenter's. */
function rig(given: readonly Given[], aheadMs = 0) {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: clock.now });
  for (const [
    index,
    {
      name,
      owner = 'us',
      template = true,
      verified = true,
      ageMs = 2 * DAY,
      digest = `${index}`.repeat(8),
      beats = true,
    },
  ] of given.entries()) {
    const instanceUuid = `42000000-0000-4000-8000-${index.toString().padStart(12, '0')}`;
    const born = { owner, operation: `op${index}`, digest, release: '9.6', holder: 'h', instanceUuid };
    const mark = markConfig(born, { keys: TEST_KEYS });
    const extraConfig = { ...Object.fromEntries(mark), ...(verified ? { [VERIFIED_KEY]: digest } : {}) };
    const createDate = new Date(clock.now() - ageMs).toISOString();
    if (beats) Object.assign(extraConfig, { [HEARTBEAT_KEY]: 'PT1M' });
    // What is no template bears the name of its attempt still.
    const attempt = uniqueName(name, '9.6', digest, `op${index}`);
    inventory.add(inventory.at(FOLDER), {
      name: template ? name : attempt,
      template,
      instanceUuid,
      extraConfig,
      createDate,
    });
  }
  const store = templateStore({
    vcenters: async () => inventory.client(),
    cacheDir: '/nonexistent',
    clock: { ...clock, now: () => clock.now() + aheadMs },
    ovas: memoryOva(),
    markKeys: async () => TEST_KEYS,
  });
  const collect = (
    options: {
      keep?: number;
      referenced?: (name: string) => string | undefined;
      holderIsLive?: () => boolean | undefined;
    } = {},
  ) =>
    store.collect(testPlacement(), 'us', {
      referenced: () => undefined,
      holderIsLive: () => false,
      keep: 0,
      ...options,
    });
  return { inventory, clock, collect };
}

function left({ inventory }: { inventory: MemoryInventory }): readonly string[] {
  return inventory.snapshot().machines.map(({ name }) => name.replace(/-9\.6-[0-9a-f]{8}$/, ''));
}

test('what nobody uses goes; what is used, unknown, foreign, new or unmarked stays, each with its reason', async () => {
  const made = rig([
    { name: 'idle' },
    { name: 'used' },
    { name: 'unknown' },
    { name: 'foreign', owner: 'them' },
    { name: 'new', ageMs: 1000 },
  ]);
  made.inventory.add(made.inventory.at(FOLDER), { name: 'unmarked', template: true });
  const collected = await made.collect({ referenced: (name) => ({ used: 'MachineSet a', unknown: 'unknown' })[name] });
  assert.deepEqual(left(made), ['used', 'unknown', 'foreign', 'new', 'unmarked']);
  assert.deepEqual(Object.fromEntries(collected.map(({ name, removed, reason }) => [name, `${removed}: ${reason}`])), {
    idle: 'true: nothing uses it',
    used: 'false: used by MachineSet a',
    unknown: 'false: it is unknown whether something uses it',
    foreign: 'false: it belongs to cluster them',
    new: 'false: it is new and may be about to be used',
  });
});

test('the newest that nobody uses stays as a way back', async () => {
  const made = rig([
    { name: 'oldest', ageMs: 9 * DAY },
    { name: 'newest', ageMs: 2 * DAY },
    { name: 'old', ageMs: 5 * DAY },
  ]);
  await made.collect({ keep: 1 });
  assert.deepEqual(left(made), ['newest']);
});

test('VS-W99 the source of a running clone stays, and goes when the clone has ended', async () => {
  const made = rig([{ name: 'old' }]);
  const end = made.inventory.startTask(made.inventory.at(`${FOLDER}/old`), 'VirtualMachine.clone');
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
  const made = rig([{ name: 'old' }]);
  made.inventory.clone(made.inventory.at(`${FOLDER}/old`), {
    name: 'worker',
    folder: made.inventory.at(FOLDER),
    linked: true,
  });
  const collected = await made.collect();
  assert.equal(collected.find(({ name }) => name === 'old')?.reason, 'its disks carry those of worker');
  assert.deepEqual(made.inventory.snapshot().broken, []);
});

test('VS-W99 a clone that starts between verdict and destroy keeps the template', async () => {
  const made = rig([{ name: 'old' }]);
  // What collection asks once it has judged, before it judges again.
  made.inventory.onCall = (method, phase) => {
    if (method !== 'obstacle' || phase !== 'after') return;
    made.inventory.onCall = undefined;
    made.inventory.startTask(made.inventory.at(`${FOLDER}/old`), 'VirtualMachine.clone');
  };
  assert.deepEqual(
    (await made.collect()).map(({ reason }) => reason),
    ['a task runs on it'],
  );
  assert.deepEqual(left(made), ['old']);
});

test('unfinished imports: a live holder keeps, a dead one does not, an unknown one by age', async () => {
  const half = (name: string, ageMs: number): Given => ({ name, template: false, verified: false, ageMs });
  const made = rig([half('young', 1000), half('aged', 700_000)]);
  await made.collect({ holderIsLive: () => true });
  assert.deepEqual(left(made), ['young', 'aged']);
  await made.collect({ holderIsLive: () => undefined });
  assert.deepEqual(left(made), ['young']);
  await made.collect({ holderIsLive: () => false });
  assert.deepEqual(left(made), []);
});

test('a finished import waits for a day to be adopted, unless a template has the same content', async () => {
  const staged = (name: string, ageMs: number, digest: string): Given => ({ name, template: false, ageMs, digest });
  const made = rig([
    staged('waiting', DAY / 2, 'aa'),
    staged('forgotten', 2 * DAY, 'bb'),
    staged('twin', DAY / 2, 'cc'),
    { name: 'done', digest: 'cc' },
  ]);
  await made.collect({ referenced: (name) => (name === 'done' ? 'MachineSet a' : undefined) });
  assert.deepEqual(left(made), ['waiting', 'done']);
});

test("a clock that is two days ahead of vCenter's makes nothing old: neither the import of somebody unknown nor a new template", async () => {
  const given = [
    { name: 'import', template: false, verified: false, ageMs: 60_000 },
    { name: 'new', ageMs: 60_000 },
    { name: 'dead', template: false, verified: false, ageMs: 700_000 },
  ];
  for (const ahead of [2 * DAY, 0, -2 * DAY]) {
    const made = rig(given, ahead);
    const collected = await made.collect({ holderIsLive: () => undefined });
    assert.deepEqual(left(made), ['import', 'new'], `${ahead} ms ahead: ${JSON.stringify(collected)}`);
  }
});
