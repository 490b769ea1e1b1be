import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { soaking } from '@drydock/model';
import { isTemplateError, type TemplateErrorCode } from '@drydock/templates';
import { type CrowdExploration, crowd, type Event, exploreCrowd, keylessCrowd, type Work } from './templates-crowd.ts';
import { bearersOf, NAME, wishFor } from './templates-world.ts';

const HOUR = 3_600_000;
const OWNER = 'cluster-uid';
const { placement } = wishFor('9.6');
const LONG = { timeout: HOUR };

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

async function explored(t: TestContext, exploration: CrowdExploration, atLeast: number): Promise<void> {
  const { scenarios, states, places, complete } = await exploreCrowd(exploration);
  t.diagnostic(`${scenarios} histories over ${places.length} places, ${states} states`);
  assert.ok(!complete || scenarios > atLeast, `only ${scenarios} histories`);
}

const onChanges: CrowdExploration['at'] = ({ mutates }) => soaking || mutates;
const FAULTS: readonly Event[] = ['kill', 'lose', 'refuse', 'logout', 'unlead'];

for (const [what, work] of [
  ['a swap', swap],
  ['a pointer publication', pointer],
  ['a collection', collect],
] as const) {
  test(
    `OWN-20 ${what} among clones, forgeries and converted templates: every fault at every call; each pass that lives leaves the name, touches nothing else and uploads no more than needed`,
    LONG,
    (t) => explored(t, { version: '9.6', work, setup: crowd, events: FAULTS }, 60),
  );
}

test('OWN-20 a swap among them: crashes, refusals and dead sessions in pairs at every change', LONG, (t) =>
  explored(t, { version: '9.6', work: swap, setup: crowd, events: ['kill', 'refuse'], depth: 2, at: onChanges }, 300),
);

test(
  'OWN-20 a swap that died, and a collection by another process before it goes on: what bore the name stays until it is borne again',
  LONG,
  (t) => explored(t, { version: '9.6', work: collectAndSwap, setup: crowd, events: ['kill'], at: onChanges }, 10),
);

test('OWN-20 without a key: nothing is destroyed that this process did not import', LONG, async (t) => {
  const events: readonly Event[] = ['kill', 'refuse'];
  await explored(t, { version: '9.6', work: swap, setup: keylessCrowd, events, keyless: true }, 60);
  await explored(t, { version: '9.6', work: collect, setup: keylessCrowd, events, keyless: true }, 5);
});

const OBSTACLES: readonly TemplateErrorCode[] = [
  'IMPORT_FAILED',
  'RENAME_FAILED',
  'NAME_TAKEN',
  'VCENTER_FAILED',
  'UPLOAD_IN_PROGRESS',
];

for (const [what, work, setup] of [
  ['a swap', swap, crowd],
  ['a pointer publication', pointer, crowd],
] as const) {
  test(
    `OWN-20 ${what}: while each answer is on its way somebody clones, boots, takes or links what is ours`,
    LONG,
    async (t) => {
      const events: readonly Event[] = ['clone', 'boot', 'take', 'link'];
      const at: CrowdExploration['at'] = ({ phase }) => phase === 'after';
      await explored(t, { version: '9.6', work: tolerating(work, ...OBSTACLES), setup, events, at }, 60);
    },
  );
}

test(
  'OWN-20 a crash, and then somebody who boots or takes, at every change; in a soak who clones as well, at every answer',
  LONG,
  (t) => {
    const at: CrowdExploration['at'] = ({ phase, mutates, run }) =>
      run === 1 ? mutates && phase === 'before' : phase === 'after' && (mutates || soaking);
    const events: readonly Event[] = soaking ? ['kill', 'clone', 'boot', 'take'] : ['kill', 'take'];
    return explored(
      t,
      { version: '9.6', work: tolerating(swap, ...OBSTACLES), setup: crowd, events, depth: 2, at },
      100,
    );
  },
);

test('OWN-20 a collection: while each answer is on its way somebody clones, boots or links', LONG, (t) => {
  const events: readonly Event[] = ['clone', 'link'];
  // Between the last look at what is new and the call nothing on the server guards it.
  const at: CrowdExploration['at'] = ({ phase, disksRead }) => phase === 'after' && disksRead < 2;
  return explored(t, { version: '9.3', work: collect, setup: crowd, events, at }, 10);
});

test('OWN-20 a call of a dead process takes effect at any call of the next pass', LONG, (t) => {
  const at: CrowdExploration['at'] = ({ mutates, phase, run }) => phase === 'before' && (run > 1 || mutates);
  const check: CrowdExploration['check'] = ({ inventory }) => {
    const [bearer, ...more] = bearersOf(inventory.snapshot());
    assert.deepEqual([bearer?.name, bearer?.productVersion, more.length], [NAME, '9.6', 0]);
  };
  return explored(t, { version: '9.6', work: swap, setup: crowd, events: ['late'], depth: 2, at, check }, 300);
});
