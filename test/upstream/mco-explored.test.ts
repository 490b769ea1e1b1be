import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exploreWork, FOLDER, leftover, NAME, type World, worldWith } from '../model/templates-world.ts';
import { mcoSync } from './mco-swap.ts';

const sync =
  (computed: string) =>
  ({ inventory }: World): Promise<string> => {
    const client = inventory.client();
    return mcoSync({ inventory, client, folder: FOLDER, template: NAME, computed, release: '9.6', tagName: 'infra' });
  };

function check({ inventory }: World): void {
  const { machines } = inventory.snapshot();
  const at = (name: string): boolean => machines.some((machine) => machine.name === name && machine.folder === FOLDER);
  assert.ok(at(NAME), 'nobody bears the name');
  assert.ok(!at(leftover('tmp')) && !at(leftover('old')), 'a leftover stayed');
}

/** Without the template of the same name elsewhere, on which upstream's look-up fails at once (BI-W15). */
async function alone(): Promise<World> {
  const world = await worldWith('unmarked');
  for (const { ref, name, folder } of world.inventory.snapshot().machines) {
    if (name !== NAME || folder === FOLDER) continue;
    world.foreign.delete(ref);
    world.inventory.remove({ type: 'VirtualMachine', value: ref.split(':')[1] ?? '' });
  }
  return world;
}

const ELSEWHERE = '/DC0/vm/other';

/** Each must be found by the explorer of our own swap, by the invariant named: an explorer that lets these pass proves nothing. */
const HISTORIES: readonly {
  readonly what: string;
  readonly setup: () => Promise<World>;
  readonly kind: 'kill' | 'lose';
  /** Where the name is a custom one: the one that upstream computes. */
  readonly computed?: string;
  readonly found: RegExp;
}[] = [
  {
    what: 'a template of the same name elsewhere',
    setup: () => worldWith('unmarked'),
    kind: 'kill',
    found: /resolves to multiple/,
  },
  { what: 'a death at every call (BI-W5)', setup: alone, kind: 'kill', found: /after rename .*a leftover stayed/ },
  { what: 'a lost answer at every call (BI-W5)', setup: alone, kind: 'lose', found: /a leftover stayed/ },
  {
    what: 'a death between the renames of a custom name (BI-W3)',
    setup: alone,
    kind: 'kill',
    computed: 'c1-abcde-rhcos-fd1',
    found: /after rename mco-old-.*startImport while the name was absent/s,
  },
  {
    what: 'a linked clone of the old template',
    setup: async () => {
      const world = await alone();
      const [base] = [...world.inventory.state.machines.values()].filter(({ name }) => name === NAME);
      assert.ok(base !== undefined);
      const folder = world.inventory.at(ELSEWHERE);
      world.inventory.clone(base.ref, { name: 'linked', folder, linked: true });
      return world;
    },
    kind: 'kill',
    found: /linked lost a disk/,
  },
  {
    what: 'a look-alike of its temporary name in another folder',
    setup: async () => {
      const world = await alone();
      const { value } = world.inventory.add(world.inventory.at(ELSEWHERE), { name: leftover('tmp') });
      const ref = `VirtualMachine:${value}`;
      const machine = world.inventory.snapshot().machines.find((one) => one.ref === ref);
      world.foreign.set(ref, JSON.stringify(machine));
      return world;
    },
    kind: 'kill',
    found: /foreign .* changed/,
  },
];

for (const { what, setup, kind, computed = NAME, found } of HISTORIES) {
  test(`negative control: the explorer catches upstream's algorithm: ${what}`, async () => {
    await assert.rejects(exploreWork(setup, sync(computed), check, { kinds: [kind] }), found);
  });
}
