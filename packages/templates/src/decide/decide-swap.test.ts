import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Mark } from '../mark.ts';
import { retiredName, uniqueName, upstreamNames } from '../names.ts';
import { decide } from './decide.ts';
import { foresee } from './foresee.ts';
import type { Machine, Observed, Wanted } from './machine.ts';

const NOW = 10_000_000_000;
const NAME = 'stable';
const attempts = [0, 1].map((round) => ({
  name: uniqueName(NAME, '9.6', 'd', `op-${round}`),
  operation: `op-${round}`,
}));
const STAGED = attempts[0]?.name ?? '';
const wanted: Wanted = {
  owner: 'us',
  content: { kind: 'image', digest: 'd', attempts },
  tagIds: ['urn:1'],
  swap: { name: NAME, unmarked: 'retire' },
};
const { temp, old } = upstreamNames(NAME);

const uuidOf = (id: number): string => `uuid-${id}`;
const mark: fc.Arbitrary<Mark | undefined> = fc.option(
  fc.record({
    owner: fc.constantFrom('us', 'them'),
    operation: fc.constantFrom('op-0', 'op-1', 'op-x'),
    digest: fc.constantFrom('d', 'e'),
    release: fc.constant('9.6'),
    holder: fc.constant('h'),
    instanceUuid: fc.constant(''),
    publishes: fc.constantFrom(NAME, 'another'),
    other: fc.nat(5).map((id) => `key-${id}`),
  }),
  { nil: undefined },
);

/** Any folder, as no history would leave it: names are unique, everything else is free. */
const machine: fc.Arbitrary<Machine> = fc
  .record({
    id: fc.nat(5),
    mark,
    kind: fc.constantFrom('name', 'retired', 'staged', 'temp', 'old', 'other'),
    isTemplate: fc.boolean(),
    poweredOff: fc.boolean(),
    verified: fc.boolean(),
    createdAt: fc.option(fc.nat(NOW), { nil: undefined }),
    busy: fc.boolean(),
    chained: fc.boolean(),
    uploader: fc.constantFrom('here' as const, 'live' as const, 'gone' as const, 'unknown' as const),
    tagged: fc.boolean(),
    role: fc.constantFrom('retired' as const, 'staged' as const, 'adopted' as const, undefined),
    linked: fc.constantFrom([], ['worker']),
    past: fc.constantFrom('never' as const, 'never' as const, 'marking' as const, 'template' as const),
    renew: fc.boolean(),
    unchangedMs: fc.constantFrom(0, 700_000, 90_000_000),
    ran: fc.constantFrom(false, false, true),
    tampered: fc.constantFrom(undefined, undefined, 'it was powered on'),
    unreadable: fc.constantFrom(undefined, undefined, undefined, 'its configuration is unset'),
  })
  .map(({ id, mark: given, kind, createdAt, tagged, role, verified, tampered, unreadable, ...rest }) => ({
    ...rest,
    uploaded: false,
    beats: false,
    unseen: [],
    ...(tampered === undefined ? {} : { tampered }),
    ...(unreadable === undefined ? {} : { unreadable }),
    ref: { type: 'VirtualMachine', value: `vm-${id}` },
    instanceUuid: uuidOf(id),
    key: `key-${id}`,
    name: {
      name: NAME,
      retired: retiredName(NAME, uuidOf(id)),
      staged: attempts[id % 2]?.name ?? '',
      temp,
      old,
      other: `vm ${id}`,
    }[kind],
    verified: verified && given !== undefined,
    born: given !== undefined,
    proof: given === undefined ? ('none' as const) : ('keyed' as const),
    own: true,
    pointers: [],
    holders: [],
    ...(given === undefined
      ? {}
      : { mark: { ...given, instanceUuid: uuidOf(id), ...(role === undefined ? {} : { role }) } }),
    ...(createdAt === undefined ? {} : { createdAt }),
    tags: tagged ? ['urn:1'] : [],
  }));

const observed: fc.Arbitrary<Observed> = fc
  .uniqueArray(machine, { maxLength: 6, selector: ({ ref }) => ref.value })
  .map((machines) => ({
    machines: machines.filter(({ name }, at) => machines.findIndex((other) => other.name === name) === at),
  }));

/** The same around two templates that are nearly ready to be swapped. */
const ready: fc.Arbitrary<Observed> = fc
  .tuple(observed, machine, machine, fc.boolean(), fc.boolean())
  .map(([{ machines }, current, fresh, noted, taken]) => {
    const own = { owner: 'us', operation: 'op-0', digest: 'd', release: '9.6', holder: 'h', publishes: NAME };
    const other = noted ? 'key-100' : 'key-1';
    const pair: readonly Machine[] = [
      {
        ...current,
        ref: { type: 'VirtualMachine', value: 'vm-100' },
        ...{ instanceUuid: 'uuid-100', key: 'key-100', name: NAME },
        mark: { ...own, ...current.mark, instanceUuid: 'uuid-100', publishes: NAME },
        proof: 'keyed',
      },
      {
        ...fresh,
        ref: { type: 'VirtualMachine', value: 'vm-101' },
        instanceUuid: 'uuid-101',
        key: 'key-101',
        isTemplate: true,
        name: STAGED,
        verified: true,
        born: true,
        proof: 'keyed',
        renew: false,
        mark: { ...own, instanceUuid: 'uuid-101', role: 'staged', other },
      },
    ];
    const names = new Set([NAME, STAGED, ...(taken ? [] : [retiredName(NAME, 'uuid-100')])]);
    return { machines: [...pair, ...machines.filter(({ name }) => !names.has(name))] };
  });

const find = ({ machines }: Observed, value: string) => machines.find(({ ref }) => ref.value === value);

test('nothing foreign is ever renamed, marked or destroyed; nothing that runs, is busy or carries clones is destroyed or put away', () => {
  fc.assert(
    fc.property(fc.oneof(observed, ready), (seen) => {
      const step = decide(seen, wanted);
      if (!('ref' in step) || step.kind === 'done') return;
      const victims = [find(seen, step.ref.value), step.kind === 'swap' ? find(seen, step.old.ref.value) : undefined];
      for (const victim of victims) {
        if (victim === undefined) continue;
        assert.notEqual(victim.mark?.owner, 'them');
        const derived = [temp, old, NAME, retiredName(NAME, victim.instanceUuid)].includes(victim.name);
        assert.equal(victim.unreadable, undefined, 'OWN-12: what cannot be read is left alone');
        assert.ok(victim.mark !== undefined || derived, `${victim.name} is nobody's`);
        if (step.kind === 'swap') assert.ok(victim.isTemplate && !victim.busy);
        if (step.kind === 'destroy') {
          assert.ok(!victim.busy && victim.linked.length * Number(!step.marked) === 0);
          assert.ok(victim.isTemplate || victim.poweredOff || step.marked);
          assert.ok(!(step.marked && victim.isTemplate), 'a template of ours is only taken by collection');
          assert.ok(victim.unreadable === undefined, 'OWN-12: what cannot be read stays');
          if (!victim.isTemplate) assert.ok(victim.past === 'never' && !victim.ran && !victim.verified, 'OWN-1');
        }
      }
    }),
    { numRuns: 5000 },
  );
});

test('a swap is only decided when the new one is complete, knows what it replaces, and the retired name is free', () => {
  let swaps = 0;
  fc.assert(
    fc.property(ready, (seen) => {
      const step = decide(seen, wanted);
      if (step.kind !== 'swap') return;
      swaps += 1;
      const fresh = find(seen, step.ref.value);
      assert.ok(fresh?.isTemplate === true && fresh.verified && fresh.tags.includes('urn:1'));
      assert.deepEqual(fresh.mark?.other, find(seen, step.old.ref.value)?.key);
      assert.ok(!seen.machines.some(({ name }) => name === step.retired));
    }),
    { numRuns: 20_000 },
  );
  assert.ok(swaps > 10, `only ${swaps} swaps were met`);
});

test('from any folder, steps that go well end within twelve, with a template under the name or a reason why not', () => {
  fc.assert(
    fc.property(fc.oneof(observed, ready), (start) => {
      let world = start;
      for (let count = 0; count <= 12; count += 1) {
        const step = decide(world, wanted);
        if (step.kind === 'done') {
          const current = world.machines.find(({ name }) => name === NAME);
          assert.ok(current?.isTemplate === true && current.verified && current.mark?.digest === 'd');
          assert.equal(current.tampered, undefined, 'OWN-2: what was changed is not published');
          return;
        }
        if (step.kind === 'blocked' || step.kind === 'wait') {
          assert.ok(step.reason.length > 0);
          return;
        }
        world = foresee(world, step, wanted, { release: '9.6', holder: 'h' });
      }
      assert.fail('it does not come to an end');
    }),
    { numRuns: 5000 },
  );
});

test('while the name is absent and something whole could bear it, the next step is to rename that in', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      if (seen.machines.some(({ name }) => name === NAME)) return;
      const whole = seen.machines.find(
        ({ name, isTemplate, mark: of, past, ran, unreadable }) =>
          name === old && isTemplate && of === undefined && past === 'never' && !ran && unreadable === undefined,
      );
      if (whole === undefined) return;
      assert.equal(decide(seen, wanted).kind, 'rename');
    }),
    { numRuns: 5000 },
  );
});

test('the order in which the folder is listed does not matter', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      const [a, b] = [decide(seen, wanted), decide({ ...seen, machines: seen.machines.toReversed() }, wanted)];
      assert.equal(a.kind, b.kind);
      if (a.kind === 'swap' || a.kind === 'rename' || a.kind === 'done') assert.deepEqual(a, b);
    }),
    { numRuns: 5000 },
  );
});
