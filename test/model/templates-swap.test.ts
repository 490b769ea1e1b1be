import assert from 'node:assert/strict';
import { soaking, threadTests } from '@drydock/model';
import {
  bearersOf,
  entryOf,
  exploreWork,
  FOLDER,
  leftover,
  NAME,
  publishAs,
  STARTS,
  type Start,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

const test = threadTests(import.meta.url);

/** A clean pass after any history changes the folder at most this often: nothing loops. */
const MAX_CHANGES = 20;

const publish = (world: World, holder: string) => publishAs(world, holder, wishFor('9.6'));

/** What must be true after the last, clean pass. */
function checkEnd(start: Start): (world: World, faults: number) => void {
  return (world, faults) => {
    const { machines } = world.inventory.snapshot();
    const [current, ...others] = bearersOf({ machines, leases: [], broken: [] });
    assert.equal(others.length, 0);
    assert.deepEqual(
      [current?.isTemplate, current?.complete, current?.productVersion, current?.secureBoot, current?.tags.length],
      [true, true, '9.6', false, 1],
    );
    assert.ok(world.inventory.counters.uploads <= 1 + faults, `${world.inventory.counters.uploads} uploads`);
    assert.ok(world.changes.length <= MAX_CHANGES, `${world.changes.length} changes: ${world.changes.join(', ')}`);
    // What is left besides: exactly the template before it, kept and marked.
    const rest = machines.filter(
      ({ ref, folder }) => folder === FOLDER && ref !== current?.ref && !world.foreign.has(ref),
    );
    const names = rest.map(
      ({ name, productVersion, isTemplate }) => `${name.replace(/[0-9a-f]{8}$/, '*')} ${productVersion} ${isTemplate}`,
    );
    assert.deepEqual(names, start === 'absent' ? [] : [`${NAME}-retired-* 9.4 true`]);
    for (const { ref } of rest) assert.equal(entryOf(world, ref)?.role, 'retired');
    assert.ok(!machines.some(({ name }) => name === leftover('tmp') || name === leftover('old')), 'a leftover stayed');
  };
}

for (const start of STARTS) {
  test(`VS-W93 BI-V149 swap mode, ${start}: a crash or lost answer at every call, one clean pass converges`, async () => {
    const coverage = await exploreWork(() => worldWith(start), publish, checkEnd(start));
    const renames = coverage.places.filter((place) => place.startsWith('after rename'));
    assert.equal(renames.length, { absent: 1, 'left behind': 3 }[start as string] ?? 2, renames.join());
    assert.ok(!coverage.complete || coverage.scenarios > 100, `only ${coverage.scenarios} scenarios`);
  });
}

for (const start of (soaking ? STARTS : ['unmarked', 'ours']) as readonly Start[]) {
  test(`VS-W93 swap mode, ${start}: crashes and lost answers in pairs at every call`, async () => {
    const coverage = await exploreWork(() => worldWith(start), publish, checkEnd(start), { depth: 2 });
    assert.ok(!coverage.complete || coverage.scenarios > 800, `only ${coverage.scenarios} scenarios`);
  });
}

if (soaking) {
  for (const start of STARTS) {
    // Both kinds of fault where there is something to lose, else only deaths: a day has 24 hours.
    const kinds = start === 'ours' ? (['kill', 'lose'] as const) : (['kill'] as const);
    test(`VS-W93 swap mode, ${start}: in triples at every change`, async () => {
      const coverage = await exploreWork(() => worldWith(start), publish, checkEnd(start), {
        mutatingOnly: true,
        kinds,
        depth: 3,
      });
      assert.ok(!coverage.complete || coverage.scenarios > 400, `only ${coverage.scenarios} scenarios`);
    });
  }
}
