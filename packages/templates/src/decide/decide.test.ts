import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { uniqueName } from '../names.ts';
import { decide } from './decide.ts';
import type { Candidate, Machine, Observed, Wanted } from './machine.ts';

const NOW = 1_000_000_000;
const attempts = [0, 1, 2].map((round) => ({
  name: uniqueName('t', '9.6', 'd', `op-${round}`),
  operation: `op-${round}`,
}));
/** In use as what it is: a template that nobody touched, or on its way to be one. */
const sound = (one: Machine): boolean => one.tampered === undefined && (one.isTemplate || one.past !== 'template');
const wanted: Wanted = { owner: 'us', content: { kind: 'image', digest: 'd', attempts }, tagIds: ['urn:1'] };

const candidate: fc.Arbitrary<Candidate> = fc
  .record({
    id: fc.nat(999),
    round: fc.nat(2),
    isTemplate: fc.boolean(),
    verified: fc.boolean(),
    createdAt: fc.option(fc.nat(NOW), { nil: undefined }),
    busy: fc.boolean(),
    uploader: fc.constantFrom('here', 'live', 'gone', 'unknown'),
    tagged: fc.boolean(),
    past: fc.constantFrom('never', 'never', 'marking', 'template'),
    renew: fc.boolean(),
    unchangedMs: fc.constantFrom(0, 700_000, 90_000_000),
    tampered: fc.constantFrom(undefined, undefined, 'it was powered on'),
    ran: fc.constantFrom(false, false, true),
    linked: fc.constantFrom<readonly string[]>([], [], ['worker']),
    unseen: fc.constantFrom<readonly string[]>([], [], ['lost']),
    chained: fc.constantFrom(false, false, true),
  })
  .map(({ id, round, createdAt, tagged, tampered, ...rest }) => ({
    ...rest,
    ...(tampered === undefined ? {} : { tampered }),
    ref: { type: 'VirtualMachine', value: `vm-${id}` },
    name: attempts[round]?.name ?? '',
    instanceUuid: `uuid-${id}`,
    key: `key-${id}`,
    poweredOff: true,
    born: true,
    proof: 'keyed' as const,
    own: true,
    pointers: [],
    holders: [],
    uploaded: false,
    beats: false,
    mark: {
      owner: 'us',
      operation: `op-${round}`,
      digest: 'd',
      release: '9.6',
      holder: 'h',
      instanceUuid: `uuid-${id}`,
    },
    ...(createdAt === undefined ? {} : { createdAt }),
    tags: tagged ? ['urn:1'] : [],
  }));

const observed: fc.Arbitrary<Observed & { readonly machines: readonly Candidate[] }> = fc
  .uniqueArray(candidate, { maxLength: 5, selector: ({ ref }) => ref.value })
  .map((machines) => ({ machines }));

test('OWN-1 a template is never destroyed, nor what was one, is finished, ran, has snapshots, carries the disks of others, is alive or busy', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      const step = decide(seen, wanted);
      if (step.kind !== 'destroy') return;
      const victim = seen.machines.find(({ ref }) => ref === step.ref);
      assert.ok(victim !== undefined && !victim.isTemplate && !victim.busy);
      assert.ok(victim.uploader === 'gone' || victim.uploader === 'unknown');
      assert.ok(!victim.verified && victim.past === 'never');
      assert.ok(!victim.ran && !victim.chained && victim.linked.length === 0 && victim.unseen.length === 0);
    }),
    { numRuns: 2000 },
  );
});

test('OWN-2 only a verified machine that nobody touched becomes or is the template; no import starts while one is there', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      const step = decide(seen, wanted);
      const verified = seen.machines.filter((one) => one.verified && sound(one));
      if (step.kind === 'markAsTemplate' || step.kind === 'done')
        assert.ok(verified.some(({ ref }) => ref === step.ref));
      if (step.kind === 'markAsTemplate') assert.ok(!verified.some(({ isTemplate }) => isTemplate));
      if (step.kind === 'import') assert.ok(verified.length === 0);
      if (step.kind === 'import') assert.ok(!seen.machines.some(({ name }) => name === step.attempt.name));
    }),
    { numRuns: 2000 },
  );
});

test('the order in which the folder is listed does not matter', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      const [a, b] = [decide(seen, wanted), decide({ ...seen, machines: seen.machines.toReversed() }, wanted)];
      assert.equal(a.kind, b.kind);
      if (a.kind !== 'destroy' && a.kind !== 'wait') assert.deepEqual(a, b);
    }),
  );
});

test('all names taken by others: blocked, with a reason', () => {
  const machines = attempts.map(({ name }, index) => ({
    ref: { type: 'VirtualMachine', value: `vm-${index}` },
    name,
    instanceUuid: '',
    past: 'never' as const,
    renew: false,
    unchangedMs: 0,
    key: `key-${index}`,
    ran: false,
    uploaded: false,
    beats: false,
    unseen: [],
    isTemplate: true,
    poweredOff: true,
    busy: false,
    chained: false,
    verified: false,
    uploader: 'unknown' as const,
    tags: [],
    linked: [],
    born: false,
    proof: 'none' as const,
    own: true,
    pointers: [],
    holders: [],
  }));
  const step = decide({ machines }, wanted);
  assert.deepEqual(step, {
    kind: 'blocked',
    code: 'NAME_TAKEN',
    reason: `all 3 names from ${attempts[0]?.name} on are taken`,
  });
});
