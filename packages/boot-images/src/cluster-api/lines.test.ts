import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImagePolicy, BootImagePolicySpec } from '@drydock/api';
import { machineDeployment } from '../testing/capi-world.ts';
import { createLines, type Lines } from './lines.ts';
import { type RotatedSet, rotatedSet } from './set.ts';

const RELEASE = 'v1.34.2-aaaaaaaa';
const entry = { version: 'v1.34.2', url: 'https://images.example/a.ova', sha256: 'a'.repeat(64) };

interface Scene {
  readonly lines: Lines;
  readonly policies: BootImagePolicy[];
  /** For whom a set waits, by name. */
  readonly waits: (name: string) => string | undefined;
  /** Gives a set another status. */
  readonly say: (name: string, status: BootImage['status'], pin?: NonNullable<BootImage['spec']>['pin']) => void;
  /** Sets whose turn came since this was asked last. */
  readonly turns: () => readonly string[];
  readonly remove: (name: string) => void;
  /** How many sets were looked at. */
  readonly looks: () => number;
  now: Date;
}

function scene(sets: Readonly<Record<string, string>>, pace: BootImagePolicySpec['pace'] = {}): Scene {
  const known = new Map<string, RotatedSet>();
  for (const [name, failureDomain] of Object.entries(sets))
    known.set(name, rotatedSet('MachineDeployment', machineDeployment(name, name, { failureDomain })));
  const images = new Map<string, BootImage>();
  const policies: BootImagePolicy[] = [
    { metadata: { name: 'p' }, spec: { image: { catalogue: [entry] }, ...(pace === undefined ? {} : { pace }) } },
  ];
  const turns: string[] = [];
  let looks = 0;
  const named = (name: string) => ({ kind: 'MachineDeployment', namespace: 'ns', name }) as const;
  const lines = createLines({
    policies: () => policies,
    set: ({ name }) => {
      looks += 1;
      return known.get(name);
    },
    names: () => [...known.keys()].map(named),
    image: ({ name }) => images.get(name),
    now: () => made.now,
  });
  lines.onTurn(({ name }) => turns.push(name));
  const made: Scene = {
    ...{ lines, policies, now: new Date('2026-01-01T00:00:00Z') },
    waits: (name) => {
      const [set, policy] = [known.get(name), policies[0]];
      assert.ok(set !== undefined && policy !== undefined);
      return /before machinedeployment ns\/(\S+) is done/.exec(lines.waits(set, policy)?.message ?? '')?.[1];
    },
    say: (name, status, pin) => {
      images.set(name, { metadata: { name }, spec: pin === undefined ? {} : { pin }, status: status ?? {} });
      lines.changed(named(name));
    },
    turns: () => turns.splice(0),
    remove: (name) => {
      known.delete(name);
      lines.changed(named(name));
    },
    looks: () => looks,
  };
  return made;
}

const done: BootImage['status'] = { phase: 'Current', current: RELEASE, target: RELEASE };

test('by the pace of a policy sets come one after the other, and one that fails keeps those behind it from being begun', () => {
  const s = scene({ b: '', a: '', c: '' }, { setsAtATime: 1 });
  assert.deepEqual(['a', 'b', 'c'].map(s.waits), [undefined, 'a', 'a']);
  s.say('a', { ...done, phase: 'Failed', current: 'old' });
  assert.deepEqual([s.waits('b'), s.turns()], ['a', []]);
  s.say('a', done);
  assert.deepEqual([s.turns(), s.waits('b'), s.waits('c')], [['b'], undefined, 'b'], 'the next one is told, it alone');
  s.say('b', { phase: 'Skipped', current: 'old', target: RELEASE });
  assert.deepEqual([s.turns(), s.waits('c')], [['c'], undefined], "what may not be moved is in nobody's way");
  // Somebody takes the first one back.
  s.say('a', { ...done, current: 'old' });
  assert.deepEqual([s.waits('c'), s.waits('a')], ['a', undefined]);
  s.remove('a');
  assert.deepEqual([s.turns(), s.waits('c')], [['c'], undefined], 'one that is gone holds nobody up');
});

test('so many at a time, and failure domains one after the other', () => {
  const two = scene({ a: '', b: '', c: '', d: '' }, { setsAtATime: 2 });
  assert.deepEqual(['a', 'b', 'c', 'd'].map(two.waits), [undefined, undefined, 'a', 'a']);
  two.say('b', done);
  assert.deepEqual([two.turns(), two.waits('c'), two.waits('d')], [['c'], undefined, 'a']);

  const zones = scene({ a: 'z2', b: 'z1', c: 'z1', d: '' }, { failureDomains: 'InTurn' });
  assert.deepEqual(['a', 'b', 'c', 'd'].map(zones.waits), ['b', undefined, undefined, 'b']);
  zones.say('b', done);
  assert.deepEqual([zones.turns(), zones.waits('a')], [[], 'c'], 'the zone is not done yet');
  zones.say('c', done);
  assert.deepEqual([zones.turns(), zones.waits('a'), zones.waits('d')], [['a'], undefined, 'a']);
  zones.say('a', done);
  assert.deepEqual([zones.turns(), zones.waits('d')], [['d'], undefined], 'what is in no zone comes last');

  const both = scene({ a: 'z1', b: 'z1', c: 'z2', d: 'z2', e: 'z2' }, { failureDomains: 'InTurn', setsAtATime: 2 });
  assert.deepEqual(['b', 'c'].map(both.waits), [undefined, 'a']);
  both.say('a', done);
  both.say('b', done);
  assert.deepEqual([both.turns(), both.waits('e')], [['c', 'd'], 'c']);
});

test('another pace, and a pin that lapses, count at once', () => {
  const s = scene({ a: '', b: '' }, { setsAtATime: 1 });
  assert.equal(s.waits('b'), 'a');
  s.policies[0] = { metadata: { name: 'p' }, spec: { image: { catalogue: [entry] }, pace: { setsAtATime: 2 } } };
  s.lines.policiesChanged();
  assert.equal(s.waits('b'), undefined);
  s.policies[0] = { metadata: { name: 'p' }, spec: { image: { catalogue: [entry] }, pace: { setsAtATime: 1 } } };
  s.lines.policiesChanged();
  // By its pin it is not where it should be; without it is.
  s.say('a', done, { release: 'other', image: 'other', until: '2026-01-02T00:00:00Z' });
  assert.equal(s.waits('b'), 'a');
  s.now = new Date('2026-01-03T00:00:00Z');
  assert.equal(s.waits('b'), undefined);
});

test('OWN-18 what the pace costs grows with the sets, not with their square', () => {
  const cost = (count: number): number => {
    const names = Array.from({ length: count }, (_, index) => `set-${String(index).padStart(5, '0')}`);
    const s = scene(Object.fromEntries(names.map((name) => [name, ''])), { setsAtATime: 1 });
    for (const [at, name] of names.entries()) {
      assert.equal(s.waits(name), undefined);
      s.say(name, done);
      assert.deepEqual(s.turns(), names.slice(at + 1, at + 2));
    }
    return s.looks();
  };
  assert.equal(cost(400), cost(200) * 2);
});
