import assert from 'node:assert/strict';
import { soaking, type ThreadContext, threadTests } from '@drydock/model';
import { isTemplateError, OWNERSHIP, type TemplateErrorCode } from '@drydock/templates';
import { type CrowdExploration, type Event, exploreCrowd, FAULTS, type Work } from './templates-crowd.ts';
import { crowd, HANDMADE, handmade, uploads, wayBack } from './templates-crowd-setups.ts';
import { bearersOf, entryOf, NAME, type World, wishFor } from './templates-world.ts';

const HOUR = 3_600_000;
const OWNER = 'cluster-uid';
const { placement } = wishFor('9.6');
const test = threadTests(import.meta.url);

/** Another process may have been given up for dead, or may not be known at all. */
const swap: Work = async ({ store, holder }) =>
  (await store.publish({ ...wishFor('9.6'), holder }, { holderIsLive: (other) => other === holder })).name;
const pointer: Work = async ({ store, holder }) => {
  const wish = wishFor('9.6', { publication: { kind: 'pointer' } });
  return (await store.publish({ ...wish, holder }, { holderIsLive: (other) => other === holder })).name;
};
/** Half a day later somebody collects, and only then the publication goes on. */
const collectAndSwap: Work = async (pass) => {
  const { world, store } = pass;
  if (world.runs > 1) {
    world.clock.advance(12 * HOUR);
    const nobody = () => undefined;
    await store.collect(placement, OWNER, { referenced: nobody, holderIsLive: () => false, keep: 0 });
  }
  return swap(pass);
};
const collect: Work = async ({ world, store }) => {
  world.clock.advance(48 * HOUR);
  const nobody = () => undefined;
  await store.collect(placement, OWNER, { referenced: nobody, holderIsLive: () => false, keep: 0 });
  return undefined;
};
const revert: Work = async ({ world, store, holder }) => {
  const { machines } = world.inventory.snapshot();
  const target = machines.find(({ ref, productVersion }) => world.ledger.ours.has(ref) && productVersion === '9.5');
  const to = target?.instanceUuid ?? assert.fail('9.5 is gone');
  await store.revert({ placement, owner: OWNER, name: NAME, to, holder });
  return NAME;
};
const adopt: Work = async ({ store, holder }) => {
  await store.adopt({ placement, owner: OWNER, reference: HANDMADE, holder });
  return undefined;
};

/** Somebody else's deeds may be the reason for which a pass ends without what it wanted; it says so. */
const tolerating =
  (work: Work, ...codes: readonly TemplateErrorCode[]): Work =>
  async (pass) => {
    try {
      return await work(pass);
    } catch (error) {
      if (!isTemplateError(error) || !codes.includes(error.code)) throw error;
      assert.ok(error.message.endsWith(error.next));
      return undefined;
    }
  };

async function explored(t: ThreadContext, exploration: CrowdExploration, atLeast: number): Promise<void> {
  const { scenarios, states, places, merged, complete } = await exploreCrowd(exploration);
  const ends = merged === 0 ? '' : `, ${merged} of which ended as another one`;
  t.diagnostic(`${scenarios} histories over ${places.length} places${ends}; ${states} states of the folder`);
  assert.ok(!complete || scenarios > atLeast, `only ${scenarios} histories`);
}

const pairs = (t: ThreadContext, exploration: Omit<CrowdExploration, 'events' | 'depth'>, atLeast: number) =>
  explored(t, { ...exploration, events: FAULTS, depth: 2 }, atLeast);

const bears =
  (version: string) =>
  (world: World): void => {
    const [bearer, ...more] = bearersOf(world.inventory.snapshot());
    assert.deepEqual([bearer?.name, bearer?.productVersion, more.length], [NAME, version, 0]);
  };

for (const [what, exploration] of [
  ['a swap', { version: '9.6', work: swap, setup: crowd, check: bears('9.6') }],
  ['a pointer publication', { version: '9.6', work: pointer, setup: crowd, check: bears('9.5') }],
  ['a collection', { version: '9.6', work: collect, setup: crowd, check: bears('9.5') }],
  ['a revert', { version: '9.5', work: revert, setup: wayBack, check: bears('9.5') }],
] as const) {
  test(`OWN-20 ${what} among clones, forgeries and converted templates: every crash, lost answer, refusal, dead session and lost lead at every call, alone and in pairs; each pass that lives leaves the name, touches nothing else and uploads no more than needed`, (t) =>
    pairs(t, exploration, 150));
}

test('OWN-20 an adoption among them, alone and in pairs: the template stays one all the time, and in the end the code proves that it is ours', (t) =>
  pairs(
    t,
    {
      version: '9.2',
      work: adopt,
      setup: handmade,
      check: (world) => {
        bears('9.5')(world);
        const adopted = world.inventory.snapshot().machines.find(({ name }) => name === HANDMADE);
        assert.equal(adopted?.isTemplate, true);
        assert.match(adopted.customValues[OWNERSHIP] ?? '', /"kind":"adopted","is":"[^"]+","code":"[0-9a-f]{12}:/);
        const entry = entryOf(world, adopted.ref);
        assert.deepEqual([entry?.role, entry?.stage, entry?.own], ['adopted', 'template', true]);
      },
    },
    100,
  ));

test('OWN-20 a swap that died, and a collection by another process before it goes on: what bore the name stays until it is borne again', (t) =>
  explored(t, { version: '9.6', work: collectAndSwap, setup: crowd, events: FAULTS, check: bears('9.6') }, 300));

test('OWN-20 without a key: nothing is destroyed that this process did not import', async (t) => {
  const events: readonly Event[] = ['kill', 'refuse'];
  await explored(t, { version: '9.6', work: swap, setup: crowd, events, depth: 2, keyless: true }, 60);
  await explored(t, { version: '9.6', work: collect, setup: crowd, events, depth: 2, keyless: true }, 5);
});

const OBSTACLES: readonly TemplateErrorCode[] = ['IMPORT_FAILED', 'RENAME_FAILED', 'NAME_TAKEN', 'VCENTER_FAILED'];
/** While an answer is on its way. */
const onAnswers: CrowdExploration['at'] = ({ phase }) => phase === 'after';

for (const [what, work] of [
  ['a swap', swap],
  ['a pointer publication', pointer],
] as const) {
  test(`OWN-20 ${what}: while each answer is on its way somebody clones, boots, takes or links what is ours`, (t) => {
    const events: readonly Event[] = ['clone', 'boot', 'take', 'link'];
    return explored(
      t,
      { version: '9.6', work: tolerating(work, ...OBSTACLES), setup: crowd, events, at: onAnswers },
      60,
    );
  });
}

test(`OWN-20 a crash at every change, and then, while each answer of the next pass is on its way, somebody who boots or takes what is ours${soaking ? ', clones or links it' : ''}`, (t) => {
  const at: CrowdExploration['at'] = ({ phase, mutates, run }) => (run === 1 ? mutates : phase === 'after');
  const events: readonly Event[] = ['kill', 'boot', 'take', ...(soaking ? (['clone', 'link'] as const) : [])];
  const only = (event: Event, earlier: number): boolean => (event === 'kill') === (earlier === 0);
  return explored(
    t,
    { version: '9.6', work: tolerating(swap, ...OBSTACLES), setup: crowd, events, depth: 2, at, only },
    100,
  );
});

test('OWN-20 a collection: while each answer is on its way somebody clones, boots or links', (t) => {
  const events: readonly Event[] = ['clone', 'boot', 'link'];
  // Between the last look at what is new and the call nothing on the server guards it.
  const at: CrowdExploration['at'] = ({ phase, disksRead }) => phase === 'after' && disksRead < 2;
  return explored(t, { version: '9.3', work: collect, setup: crowd, events, at }, 10);
});

test('OWN-20 a call of a dead process takes effect at any call of the next pass', (t) => {
  const at: CrowdExploration['at'] = ({ mutates, phase, run }) => phase === 'before' && (run > 1 || mutates);
  return explored(
    t,
    { version: '9.6', work: swap, setup: crowd, events: ['late'], depth: 2, at, check: bears('9.6') },
    300,
  );
});

/** Of the holders of uploads nothing is known. */
const unknown = (holder: string) => (other: string) => (other.startsWith('elsewhere') ? undefined : other === holder);
const WAITING: readonly TemplateErrorCode[] = ['UPLOAD_IN_PROGRESS'];

for (const [what, version, work] of [
  [
    'a swap to what a dead process uploads',
    '9.6',
    async ({ store, holder }) =>
      (await store.publish({ ...wishFor('9.6'), holder }, { holderIsLive: unknown(holder) })).name,
  ],
  [
    'a swap to what a living process uploads',
    '9.7',
    async ({ store, holder }) =>
      (await store.publish({ ...wishFor('9.7'), holder }, { holderIsLive: unknown(holder) })).name,
  ],
  [
    'a collection',
    '9.6',
    async ({ store, holder }) => {
      const referenced = () => undefined;
      await store.collect(placement, OWNER, { referenced, holderIsLive: unknown(holder), keep: 0 });
      return undefined;
    },
  ],
] as const satisfies readonly (readonly [string, string, Work])[]) {
  // Who waits looks thirty times.
  const depth = what === 'a collection' || soaking ? 2 : 1;
  test(`OWN-6 OWN-20 ${what}, of whose holders nothing is known: every fault at every call${depth === 2 ? ', alone and in pairs' : ''}; one that lives is never touched, one that died goes after ten minutes of silence, not before`, async (t) => {
    const world = await uploads();
    const { living, dead } = world;
    const exploration: CrowdExploration = {
      version,
      work: tolerating(work, ...WAITING),
      setup: () => uploads(),
      events: FAULTS,
      depth,
      pauseMs: 0,
      begin: (_, ledger) => {
        ledger.uploading.add(living);
        ledger.silent.set(dead, world.silentSince);
      },
      check: ({ inventory, clock }) => {
        const refs = inventory.snapshot().machines.map(({ ref }) => ref);
        assert.ok(refs.includes(living), 'what somebody uploads is gone');
        if (clock.now() - world.silentSince < 900_000 || version === '9.7') return;
        assert.ok(!refs.includes(dead), 'what a dead process left is still there');
      },
    };
    await explored(t, exploration, 100);
  });
}
