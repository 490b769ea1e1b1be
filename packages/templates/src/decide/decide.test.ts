import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decide } from './decide.ts';
import type { Candidate, Observed, Wanted } from './machine.ts';

const NOW = 1_000_000_000;
const attempts = [0, 1, 2].map((round) => ({ name: `t-${round}`, operation: `op-${round}` }));
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
  })
  .map(({ id, round, createdAt, tagged, ...rest }) => ({
    ...rest,
    ref: { type: 'VirtualMachine', value: `vm-${id}` },
    name: `t-${round}`,
    instanceUuid: `uuid-${id}`,
    poweredOff: true,
    chained: false,
    linked: [],
    born: true,
    proof: 'keyed' as const,
    renew: false,
    pointers: [],
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
  .map((machines) => ({ now: NOW, machines }));

test('a template is never destroyed, nothing alive or busy is destroyed, and a verified one only when a template is in place', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      const step = decide(seen, wanted);
      if (step.kind !== 'destroy') return;
      const victim = seen.machines.find(({ ref }) => ref === step.ref);
      assert.ok(victim !== undefined && !victim.isTemplate && !victim.busy);
      assert.ok(victim.uploader === 'gone' || victim.uploader === 'unknown');
      if (victim.verified) assert.ok(seen.machines.some((other) => other.isTemplate && other.verified));
    }),
    { numRuns: 2000 },
  );
});

test('only a verified machine becomes a template; no import starts while one is there or may become one', () => {
  fc.assert(
    fc.property(observed, (seen) => {
      const step = decide(seen, wanted);
      const verified = seen.machines.filter((one) => one.verified);
      if (step.kind === 'markAsTemplate' || step.kind === 'done')
        assert.ok(verified.some(({ ref }) => ref === step.ref));
      if (step.kind === 'markAsTemplate') assert.ok(!verified.some(({ isTemplate }) => isTemplate));
      if (step.kind === 'import') assert.ok(!seen.machines.some((one) => one.verified || !one.isTemplate));
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
    renew: false,
    pointers: [],
  }));
  const step = decide({ now: NOW, machines }, wanted);
  assert.deepEqual(step, { kind: 'blocked', code: 'NAME_TAKEN', reason: 'all 3 names from t-0 on are taken' });
});
