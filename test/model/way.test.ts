import assert from 'node:assert/strict';
import type { OperatorProcessOptions } from '@drydock/boot-images/testing';
import { ExplorationError, seeds, soaking, type ThreadContext, threadTests, withSeed } from '@drydock/model';
import { DEEDS, editing } from './way-deeds.ts';
import { exploreWay, type WayExploration } from './way-exploration.ts';
import { playWay } from './way-seeds.ts';

const test = threadTests(import.meta.url);
const MODES = ['pointer', 'swap'] as const;

async function explored(t: ThreadContext, exploration: WayExploration, atLeast: number): Promise<readonly string[]> {
  const { scenarios, places, merged, complete } = await exploreWay({ ...exploration, depth: soaking ? 2 : 1 });
  t.diagnostic(`${scenarios} histories over ${places.length} places, ${merged} of which ended as another one`);
  assert.ok(!complete || scenarios > atLeast, `only ${scenarios} histories`);
  return places;
}

for (const publication of MODES) {
  test(`OWN-18 ${publication} mode: at each call of the operator it dies, also with an image that nobody wants any more, or somebody goes back, lifts the pin or edits the set, another release comes, or its image does not start: one outcome, and a pinned set never moves`, async (t) => {
    const places = await explored(t, { publication, sets: 2, faults: ['dies', 'dies outdated', ...DEEDS] }, 150);
    const calls = ['create machines', 'delete machines', publication === 'swap' ? 'rename' : 'patch machinesets'];
    for (const call of [...calls, 'startImport', 'replaceStatus bootimages'])
      assert.ok(
        places.some((place) => place.includes(call)),
        `${call} in ${places.join()}`,
      );
  });
}

// Under one name several sets get the pin, by a write each.
for (const publication of soaking ? MODES : (['swap'] as const))
  test(`OWN-18 ${publication} mode: at each call of whoever goes back he dies, the operator runs, or somebody else lifts a pin, writes another, or edits the set`, async (t) => {
    const faults = ['dies', 'operates', 'reverts to', 'releases', 'newer release', 'edits'] as const;
    await explored(t, { publication, sets: 2, of: 'revert', faults }, 50);
  });

test('OWN-18 seeded: their calls come one after another in any order, and the operator dies again and again: one outcome', async (t) => {
  const met = new Map<string, number>();
  const count = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);
  const together = (): void => {
    for (const what of ['death', 'obeyed', ...DEEDS])
      assert.ok(met.has(what), `no ${what}: ${JSON.stringify([...met])}`);
  };
  for (const seed of seeds(24, 100_000, 'interleavings', together))
    await withSeed(seed, import.meta.filename, async () => {
      const publication = seed % 2 === 0 ? 'swap' : 'pointer';
      const { deaths, deeds, answers } = await playWay(seed, { publication, sets: 2 });
      for (const what of [...deeds, ...answers, ...Array.from({ length: deaths }, () => 'death')]) count(what);
    });
  t.diagnostic(JSON.stringify(Object.fromEntries(met)));
});

const caught = (exploration: Omit<WayExploration, 'publication' | 'sets'>, why: RegExp): Promise<void> =>
  assert.rejects(exploreWay({ publication: 'pointer', sets: 2, ...exploration }), (error: unknown) => {
    assert.ok(error instanceof ExplorationError, String(error));
    assert.match(error.message, why);
    return true;
  });

test('OWN-18 negative control: a revert that edits the set instead of pinning it is undone, and that is seen', () =>
  caught({ faults: [], before: ['reverts'], revert: editing }, /a revert was told that it has/));

test('OWN-18 negative control: a canary that its set counts as one of its own is seen', () => {
  const mistake: OperatorProcessOptions['mistake'] = (ports) => ({
    ...ports,
    client: {
      ...ports.client,
      create: (resource, one, call) => {
        const [set] = resource.kind === 'Machine' ? ports.world.machineSets() : [];
        const labels = { ...one.metadata.labels, ...set?.spec?.selector?.matchLabels };
        return ports.client.create(resource, { ...one, metadata: { ...one.metadata, labels } }, call);
      },
    },
  });
  return caught({ faults: [], mistake }, /a set counts the machine of a canary/);
});

test('OWN-18 negative control: sets that are pointed at an image whose canary failed are seen', () => {
  const mistake: OperatorProcessOptions['mistake'] = (ports) => ({
    ...ports,
    report: (set, outcome) => {
      const { canary } = outcome;
      const told = canary === undefined ? outcome : { ...outcome, canary: { ...canary, verdict: 'Passed' } };
      return ports.report(set, told);
    },
  });
  return caught({ faults: ['bad image'], mistake }, /which no machine has tried/);
});

test('OWN-18 negative control: a collection that ignores histories destroys the way back, and that is seen', () => {
  const mistake: OperatorProcessOptions['mistake'] = (ports) => ({
    ...ports,
    platforms: {
      has: (type) => ports.platforms.has(type),
      get: (type) => {
        const platform = ports.platforms.get(type);
        if (platform?.collect === undefined) return platform;
        const { collect } = platform;
        return { ...platform, collect: (inputs, options) => collect(inputs, { ...options, needed: () => undefined }) };
      },
    },
  });
  return caught({ faults: [], before: ['bad image', 'newer release'], mistake }, /is the way back of/);
});
