import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { extraConfig, feed } from '../testing/pages.ts';
import { type Hash64, xxHash64 } from './hash.ts';
import { IGNORED_KEYS } from './ignored-keys.ts';
import { Ledger, type LedgerOptions } from './ledger.ts';
import { WATCHED_PATHS } from './watched-paths.ts';

let hash: Hash64;

before(async () => {
  hash = await xxHash64();
});

function ledger(options: Partial<LedgerOptions> = {}): Ledger {
  return new Ledger({ paths: WATCHED_PATHS, ignoredKeys: IGNORED_KEYS, hash, ...options });
}

/** After a first pass in which these machines were found and delivered. */
function live(machines: Readonly<Record<string, Readonly<Record<string, string | undefined>>>>): Ledger {
  const made = ledger();
  made.beginPass();
  feed(made.sink(), ...Object.entries(machines).map(([vm, changes]) => ({ kind: 'enter' as const, vm, changes })));
  made.endPass();
  made.take(Number.POSITIVE_INFINITY);
  return made;
}

/** `vm-1 changed name,parent`, in the order in which they would be delivered. */
function taken(from: Ledger, limit = Number.POSITIVE_INFINITY): readonly string[] {
  return from
    .take(limit)
    .map(({ ref, kind, paths }) => [ref.value, kind, [...paths].join()].filter((part) => part !== '').join(' '));
}

test('VS-W3 the first pass of a process finds machines, each once', () => {
  const made = ledger();
  made.beginPass();
  feed(made.sink(), { kind: 'enter', vm: 'vm-1', changes: { name: 'a' } }, { kind: 'enter', vm: 'vm-2' });
  made.endPass();
  assert.deepEqual(taken(made), ['vm-1 found', 'vm-2 found']);
  assert.deepEqual(taken(made), []);
  assert.equal(made.size, 2);
});

test('VS-W4 a changed value is one change, the same value again is none', () => {
  const made = live({ 'vm-1': { 'summary.runtime.powerState': 'poweredOff' } });
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { 'summary.runtime.powerState': 'poweredOn' } });
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { 'summary.runtime.powerState': 'poweredOn' } });
  assert.deepEqual(taken(made), ['vm-1 changed summary.runtime.powerState']);
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { 'summary.runtime.powerState': 'poweredOn' } });
  assert.deepEqual(taken(made), []);
});

test('VS-W6 ignored keys do not count, a key beside them does, the order of keys does not', () => {
  const made = live({ 'vm-1': { 'config.extraConfig': extraConfig({ 'hpet0.present': '1', a: '1', b: '2' }) } });
  feed(made.sink(), {
    kind: 'modify',
    vm: 'vm-1',
    changes: { 'config.extraConfig': extraConfig({ b: '2', 'hpet0.present': '0', a: '1', 'guestinfo.appInfo': 'x' }) },
  });
  assert.deepEqual(taken(made), []);
  feed(made.sink(), {
    kind: 'modify',
    vm: 'vm-1',
    changes: { 'config.extraConfig': extraConfig({ b: '2', a: '1', 'guestinfo.fromTheGuest': '!' }) },
  });
  assert.deepEqual(taken(made), ['vm-1 changed config.extraConfig']);
});

test('VS-W8 VS-W24 VS-W26 unset is a value: the last snapshot goes, a key goes, a value goes and comes back', () => {
  const made = live({ 'vm-1': { snapshot: 'tree', rootSnapshot: 's1', 'config.keyId': 'k' } });
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { snapshot: undefined, rootSnapshot: undefined } });
  assert.deepEqual(taken(made), ['vm-1 changed snapshot,rootSnapshot']);
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { 'config.keyId': undefined } });
  assert.deepEqual(taken(made), ['vm-1 changed config.keyId']);
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { 'config.keyId': 'k' } });
  assert.deepEqual(taken(made), ['vm-1 changed config.keyId']);
});

test('a value that comes back before anybody was told is still told: somebody may have acted on the one in between', () => {
  const made = live({ 'vm-1': { name: 'a' } });
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { name: 'b' } });
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { name: 'a' } });
  assert.deepEqual(taken(made), ['vm-1 changed name']);
});

test('VS-W22 everything entering again unchanged is no news', () => {
  const changes = { name: 'a', 'config.extraConfig': extraConfig({ a: '1' }), snapshot: undefined };
  const made = live({ 'vm-1': changes, 'vm-2': changes });
  feed(made.sink(), { kind: 'enter', vm: 'vm-1', changes }, { kind: 'enter', vm: 'vm-2', changes });
  assert.deepEqual(taken(made), []);
});

test('VS-W23 what changed, left and came while nobody looked shows in the next pass, and nothing else', () => {
  const off = { 'summary.runtime.powerState': 'poweredOff', snapshot: 's' };
  const made = live({ 'vm-1': off, 'vm-2': off, 'vm-3': off, 'vm-4': off });
  made.beginPass();
  feed(
    made.sink(),
    { kind: 'enter', vm: 'vm-1', changes: { ...off, 'summary.runtime.powerState': 'poweredOn' } },
    { kind: 'enter', vm: 'vm-2', changes: off },
    // As a real vCenter says that a property is unset: not at all.
    { kind: 'enter', vm: 'vm-4', changes: { 'summary.runtime.powerState': 'poweredOff' } },
    { kind: 'enter', vm: 'vm-5', changes: off },
  );
  made.endPass();
  assert.deepEqual(taken(made), [
    'vm-1 changed summary.runtime.powerState',
    'vm-4 changed snapshot',
    'vm-5 changed',
    'vm-3 left',
  ]);
});

test('VS-W9 VS-W27 a machine that leaves is told, and so is one that comes back as it was', () => {
  const made = live({ 'vm-1': { name: 'a' }, 'vm-2': { name: 'b' } });
  feed(made.sink(), { kind: 'leave', vm: 'vm-1' }, { kind: 'leave', vm: 'vm-2' }, { kind: 'leave', vm: 'vm-9' });
  assert.deepEqual(taken(made), ['vm-1 left', 'vm-2 left']);
  feed(made.sink(), { kind: 'enter', vm: 'vm-1', changes: { name: 'a' } });
  assert.deepEqual(taken(made), ['vm-1 changed']);
  made.forget({ type: 'VirtualMachine', value: 'vm-2' });
  assert.equal(made.size, 1);
});

test('VS-W29 the name of its object written later makes a machine worth another look, though the key is ignored', () => {
  const made = live({ 'vm-1': { 'config.extraConfig': extraConfig({ a: '1' }) } });
  feed(made.sink(), {
    kind: 'modify',
    vm: 'vm-1',
    changes: { 'config.extraConfig': extraConfig({ a: '1', 'vmservice.namespacedName': 'ns/n' }) },
  });
  const [dirty] = made.take(1);
  assert.deepEqual([dirty?.kind, dirty?.carries], ['changed', 'ns/n']);
});

test('VS-W47 enter and change in one answer are one change', () => {
  const made = live({});
  feed(
    made.sink(),
    { kind: 'enter', vm: 'vm-1', changes: { name: 'a' } },
    { kind: 'modify', vm: 'vm-1', changes: { name: 'b' } },
  );
  assert.deepEqual(taken(made), ['vm-1 changed name']);
});

test('VS-W11 VS-W14 machines that a container brings in are found, those that it takes out are not told, and what comes back is', () => {
  const made = live({ 'vm-1': { name: 'a' } });
  made.expectIn(['vm-2', 'vm-3']);
  feed(
    made.sink(),
    { kind: 'enter', vm: 'vm-2', changes: { name: 'b' } },
    { kind: 'enter', vm: 'vm-3', changes: { name: 'c' } },
  );
  feed(made.sink(), { kind: 'enter', vm: 'vm-4', changes: { name: 'd' } });
  assert.deepEqual(taken(made), ['vm-2 found', 'vm-3 found', 'vm-4 changed']);
  made.expectOut(['vm-2', 'vm-3']);
  feed(made.sink(), { kind: 'leave', vm: 'vm-2' });
  made.dropExpected();
  assert.deepEqual(taken(made), []);
  assert.equal(made.size, 2);
  made.expectIn(['vm-2', 'vm-3']);
  feed(
    made.sink(),
    { kind: 'enter', vm: 'vm-2', changes: { name: 'b' } },
    { kind: 'enter', vm: 'vm-3', changes: { name: 'changed' } },
  );
  assert.deepEqual(taken(made), ['vm-2 changed', 'vm-3 changed name']);
});

test('a machine stays dirty until it was delivered, and a change during the delivery makes it dirty again', () => {
  const made = live({ 'vm-1': { name: 'a' }, 'vm-2': { name: 'a' } });
  feed(
    made.sink(),
    { kind: 'modify', vm: 'vm-1', changes: { name: 'b' } },
    { kind: 'modify', vm: 'vm-2', changes: { name: 'b' } },
  );
  const [first] = made.take(1);
  assert.equal(first?.ref.value, 'vm-1');
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { parent: 'p' } });
  assert.ok(first);
  made.putBack(first);
  assert.deepEqual(taken(made), ['vm-2 changed name', 'vm-1 changed parent,name']);
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { name: 'c' } });
  const [again] = made.take(1);
  feed(made.sink(), { kind: 'leave', vm: 'vm-1' });
  assert.ok(again);
  made.putBack(again);
  assert.deepEqual(taken(made), ['vm-1 left name']);
});

test('a machine that rests is looked at once, however often it changes and others are taken; rested, it comes with all of its changes', () => {
  const made = live({ 'vm-1': { name: 'a' }, 'vm-2': { name: 'a' } });
  let looks = 0;
  const resting = {
    has: (value: string): boolean => {
      if (value === 'vm-1') looks += 1;
      return value === 'vm-1';
    },
  };
  for (let n = 0; n < 20; n += 1) {
    feed(
      made.sink(),
      { kind: 'modify', vm: 'vm-1', changes: { name: `b${n}` } },
      { kind: 'modify', vm: 'vm-2', changes: { name: `b${n}` } },
    );
    assert.deepEqual(
      made.take(9, resting).map(({ ref }) => ref.value),
      ['vm-2'],
    );
  }
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { parent: 'p' } });
  assert.deepEqual([looks, made.dirty, taken(made)], [1, 1, []]);
  made.rested('vm-2');
  made.rested('vm-1');
  assert.deepEqual([taken(made), made.dirty], [['vm-1 changed name,parent'], 0]);
});

test('what was delivered shortly before a new pass is delivered again: its reader may have seen what the watch did not', () => {
  const made = live({ 'vm-1': { name: 'a' }, 'vm-2': { name: 'a' }, 'vm-3': { name: 'a' } });
  for (const { vm, at } of [
    { vm: 'vm-2', at: 1_000 },
    { vm: 'vm-1', at: 100_000 },
  ]) {
    feed(made.sink(), { kind: 'modify', vm, changes: { name: 'b' } });
    for (const dirty of made.take(1)) made.delivered(dirty, at);
  }
  made.looked('vm-3', 110_000);
  made.heard(130_000);
  made.beginPass();
  feed(
    made.sink(),
    { kind: 'enter', vm: 'vm-1', changes: { name: 'b' } },
    { kind: 'enter', vm: 'vm-2', changes: { name: 'b' } },
    { kind: 'enter', vm: 'vm-3', changes: { name: 'a' } },
  );
  made.endPass();
  assert.deepEqual(taken(made), ['vm-1 changed', 'vm-3 changed']);
});

test('what was delivered while a pass runs is delivered again only if that pass had not come to it', () => {
  const made = live({ 'vm-1': { name: 'a' }, 'vm-2': { name: 'a' } });
  made.beginPass();
  feed(made.sink(), { kind: 'enter', vm: 'vm-1', changes: { name: 'b' } });
  made.again('vm-2');
  const both = made.take(2);
  assert.deepEqual(
    both.map(({ ref }) => ref.value),
    ['vm-1', 'vm-2'],
  );
  for (const dirty of both) made.delivered(dirty, 1_000);
  assert.deepEqual(taken(made), []);
  feed(made.sink(), { kind: 'enter', vm: 'vm-2', changes: { name: 'a' } });
  made.endPass();
  assert.deepEqual(taken(made), ['vm-2 changed']);
});

test('what was looked at before the first pass came to it, or before that began anew, is told once more, when everybody has looked', () => {
  const made = ledger();
  made.beginPass();
  feed(made.sink(), { kind: 'enter', vm: 'vm-1', changes: { name: 'a' } });
  for (const dirty of made.take(1)) made.delivered(dirty, 1_000);
  made.beginPass();
  made.looked('vm-2', 1_000);
  feed(
    made.sink(),
    { kind: 'enter', vm: 'vm-1', changes: { name: 'a' } },
    { kind: 'enter', vm: 'vm-2', changes: { name: 'a' } },
  );
  made.endPass();
  assert.deepEqual(taken(made), ['vm-2 found']);
  made.heard(60_000);
  assert.deepEqual(taken(made), []);
  made.heard(62_000);
  assert.deepEqual(taken(made), ['vm-1 changed', 'vm-2 changed']);
});

test('what was looked at before the watch was interrupted is told once more, though the server says nothing of it', () => {
  const made = live({ 'vm-1': { name: 'a' }, 'vm-2': { name: 'a' } });
  made.looked('vm-1', 1_000);
  made.heard(50_000);
  made.resumed();
  made.looked('vm-2', 60_000);
  made.heard(200_000);
  assert.deepEqual(taken(made), ['vm-1 changed']);
});

test('VS-W38 a property that the server does not give is named, and the others work', () => {
  const unreadable: string[] = [];
  const made = ledger({ onUnreadable: (ref, path) => unreadable.push(`${ref.value} ${path}`) });
  made.beginPass();
  const sink = made.sink();
  sink.object('enter', 'VirtualMachine', 'vm-1');
  sink.missing('config.keyId', undefined, () => assert.fail());
  sink.objectEnd();
  made.endPass();
  taken(made);
  feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { name: 'b' } });
  assert.deepEqual(taken(made), ['vm-1 changed name']);
  assert.deepEqual(unreadable, ['vm-1 config.keyId']);
});

test('a value that no parser takes is a change of its machine and of no other', () => {
  const unreadable: string[] = [];
  const made = ledger({ onUnreadable: (ref, path) => unreadable.push(`${ref.value} ${path}`) });
  made.beginPass();
  feed(made.sink(), { kind: 'enter', vm: 'vm-1' }, { kind: 'enter', vm: 'vm-2' });
  made.endPass();
  taken(made);
  const broken = '<OptionValue><key>&undeclared;</key></OptionValue>';
  feed(
    made.sink(),
    { kind: 'modify', vm: 'vm-1', changes: { 'config.extraConfig': broken, name: 'b' } },
    { kind: 'modify', vm: 'vm-2', changes: { name: 'c' } },
  );
  assert.deepEqual(unreadable, ['vm-1 config.extraConfig']);
  assert.deepEqual(taken(made), ['vm-1 changed name', 'vm-2 changed name']);
});

const KEY = fc.constantFrom(
  'a',
  'b',
  'c',
  'hpet0.present',
  'guestinfo.appInfo',
  'R&amp;D',
  'vmservice.namespacedName',
  'x<!-- c -->y',
);
const OPTIONS = fc.dictionary(KEY, fc.constantFrom('1', '2', '&lt;', '<![CDATA[<a>]]>'), {
  maxKeys: 6,
  noNullPrototype: true,
});

test('extraConfig changes exactly when what is left of it without ignored keys changes, however it is written', () => {
  const counted = (options: Readonly<Record<string, string>>): string =>
    JSON.stringify(
      Object.entries(options)
        .filter(([key]) => !IGNORED_KEYS.has(key))
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
  fc.assert(
    fc.property(OPTIONS, OPTIONS, fc.boolean(), (one, other, turned) => {
      const made = live({ 'vm-1': { 'config.extraConfig': extraConfig(one) } });
      const then = turned ? Object.fromEntries(Object.entries(other).toReversed()) : other;
      feed(made.sink(), { kind: 'modify', vm: 'vm-1', changes: { 'config.extraConfig': extraConfig(then) } });
      const named = one['vmservice.namespacedName'] !== other['vmservice.namespacedName'];
      // Where one is plain and the other is not, they are hashed in different ways, and the worst of that is a signal too many.
      const odd = (options: Readonly<Record<string, string>>): boolean =>
        /[&<]/.test(
          Object.entries(options)
            .filter(([key, value]) => key !== '' && (/[&<]/.test(key) || value.startsWith('<!')))
            .join(),
        );
      const changed = taken(made).length > 0;
      if (counted(one) !== counted(other) || named) assert.ok(changed);
      else if (odd(one) === odd(other)) assert.ok(!changed);
    }),
    { numRuns: 600 },
  );
});

test('45,000 machines cost less than 700 bytes each', () => {
  const made = ledger();
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  const start = process.memoryUsage();
  made.beginPass();
  const sink = made.sink();
  for (let n = 0; n < 45_000; n += 1) {
    sink.object('enter', 'VirtualMachine', `vm-${n}`);
    sink.objectEnd();
  }
  made.endPass();
  made.take(Number.POSITIVE_INFINITY);
  gc();
  const end = process.memoryUsage();
  const each = (end.heapUsed + end.arrayBuffers - start.heapUsed - start.arrayBuffers) / 45_000;
  assert.ok(each < 700, `${each.toFixed(0)} bytes`);
  assert.equal(made.size, 45_000);
});
