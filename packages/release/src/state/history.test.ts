import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type HistoryEntry, mergeHistory, pruneHistory } from './history.ts';

const image = (name: string) => `registry.test/release@sha256:${name.repeat(64).slice(0, 64)}`;
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const attained = (version: string, completed: boolean, name = version.replaceAll('.', '')) => ({
  ...{ version, completed, verified: false },
  image: image(name),
});
/** One entry for each version, the newest first; `!` behind one that is not complete. */
const entries = (...versions: readonly string[]): readonly HistoryEntry[] =>
  versions.map((text, index) => ({
    state: text.endsWith('!') ? 'Partial' : 'Completed',
    version: text.replace('!', ''),
    image: image(`${index}`),
    startedTime: at(1_000 - index),
    verified: true,
  }));
const versionsOf = (history: readonly HistoryEntry[]) =>
  history.map(({ state, version }) => `${version}${state === 'Partial' ? '!' : ''}`);

test('RB-R19 there, halfway on, and back: three entries, the newest first, the one between partial with its end', () => {
  let history: readonly HistoryEntry[] = [];
  history = mergeHistory(history, attained('4.13.0', false), at(0));
  history = mergeHistory(history, attained('4.13.0', true), at(1));
  history = mergeHistory(history, attained('4.14.0', false), at(2));
  history = mergeHistory(history, attained('4.14.0', false), at(3));
  history = mergeHistory(history, attained('4.13.0', false), at(4));
  history = mergeHistory(history, attained('4.13.0', true), at(5));
  assert.deepEqual(
    history.map(({ version, state, startedTime, completionTime }) => [version, state, startedTime, completionTime]),
    [
      ['4.13.0', 'Completed', at(4), at(5)],
      ['4.14.0', 'Partial', at(2), at(4)],
      ['4.13.0', 'Completed', at(0), at(1)],
    ],
  );
});

test('an entry is filled in as more is known, a signature is never taken back, risks are replaced where they are known', () => {
  const begun = mergeHistory([], { version: '', image: image('a'), completed: false, verified: true }, at(0));
  const known = mergeHistory(
    begun,
    { version: '4.14.1', image: image('a'), completed: false, verified: false, acceptedRisks: 'x' },
    at(1),
  );
  assert.deepEqual(known, [
    { state: 'Partial', version: '4.14.1', image: image('a'), startedTime: at(0), verified: true, acceptedRisks: 'x' },
  ]);
  const done = mergeHistory(known, { version: '4.14.1', image: image('a'), completed: true, verified: false }, at(2));
  assert.deepEqual([done[0]?.acceptedRisks, done[0]?.completionTime], ['x', at(2)]);
  // What was accepted for going there is not asked again once it is there, and stays on record.
  const held = mergeHistory(done, { ...attained('4.14.1', true, 'a'), acceptedRisks: '' }, at(3));
  assert.equal(held[0]?.acceptedRisks, 'x');
  assert.equal(
    mergeHistory(done, { ...attained('4.14.1', true), image: '' }, at(3)),
    done,
    'without an image nothing is known',
  );
  // The same version in another image is another release.
  assert.equal(mergeHistory(done, attained('4.14.1', false, 'b'), at(3)).length, 2);
});

test('RB-R21 an attempt between patches goes before one between minors', () => {
  const history = entries(
    '4.14.9',
    '4.14.8',
    '4.14.7',
    '4.14.6',
    '4.14.5',
    '4.14.4',
    '4.14.3',
    '4.14.2!',
    '4.14.1',
    '4.14.0!',
    '4.13.5',
    '4.13.4',
  );
  assert.equal(history[7]?.state, 'Partial');
  assert.equal(history[9]?.state, 'Partial');
  const once = pruneHistory(history, 11);
  assert.deepEqual(versionsOf(once), versionsOf(history.filter((_, index) => index !== 7)));
});

test('RB-R22 one entry goes at a time; the newest five, the oldest and the newest that is complete never do', () => {
  const version = fc
    .tuple(fc.constantFrom('4', '5'), fc.nat(3), fc.nat(3), fc.boolean())
    .map(([major, minor, patch, partial]) => `${major}.${minor}.${patch}${partial ? '!' : ''}`);
  fc.assert(
    fc.property(fc.array(version, { minLength: 12, maxLength: 40 }), (versions) => {
      const before = entries(...versions);
      const after = pruneHistory(before, 10);
      assert.equal(after.length, before.length - 1);
      for (const kept of [...before.slice(0, 5), before.at(-1), before.find(({ state }) => state === 'Completed')])
        assert.ok(kept === undefined || after.includes(kept));
    }),
  );
  const short = entries('4.14.0', '4.13.0');
  assert.equal(pruneHistory(short, 2), short);
  // The newest that is complete, behind many attempts.
  const attempts = entries(...Array.from({ length: 10 }, (_, index) => `4.15.${index}!`), '4.14.1', '4.14.0', '4.13.0');
  assert.ok(versionsOf(pruneHistory(attempts, 12)).includes('4.14.1'));
});

test('RB-R23 the same minor of two majors is a transition', () => {
  // By the second number alone both attempts would lie between patches, and the older one would go.
  const newer = ['5.10.7', '5.10.6', '5.10.5', '5.10.4', '5.10.3', '5.10.2', '5.10.2!', '5.10.1', '5.10.0'];
  const history = entries(...newer, '5.10.0!', '4.10.9', '4.10.8');
  assert.deepEqual(versionsOf(pruneHistory(history, 11)), versionsOf(history.filter((_, index) => index !== 6)));
});

test('a history that somebody edited is cut at once: what is between is dropped, both ends stay', () => {
  const long = entries(
    ...Array.from({ length: 20_000 }, (_, index) => (index % 2 === 0 ? 'no version' : '1.2.3!')),
    '4.0.0',
  );
  const merged = mergeHistory(long, attained('4.14.0', true), at(0));
  assert.equal(merged.length, 100);
  assert.deepEqual([merged[0]?.version, merged.at(-1)?.version], ['4.14.0', '4.0.0']);
});
