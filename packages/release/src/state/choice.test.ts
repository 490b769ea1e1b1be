import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attempt, accept } from './acceptance.ts';
import type { HistoryEntry } from './history.ts';
import { modeOf } from './mode.ts';
import { type PreconditionWorld, unmetPreconditions } from './preconditions.ts';
import { targetOf } from './target.ts';
import type { WayBack } from './way-back.ts';

const image = (name: string) => `registry.test/release@sha256:${Buffer.from(name).toString('hex').padEnd(64, '0')}`;
const entry = (version: string, state = 'Completed', of = version): HistoryEntry => ({
  ...{ state, version, image: image(of) },
  startedTime: '2026-01-01T00:00:00Z',
  verified: true,
});
const release = (version: string) => ({ version, image: image(version) });
const unmet = (world: Partial<PreconditionWorld> & Pick<PreconditionWorld, 'target'>) =>
  unmetPreconditions({ current: release('4.14.3'), history: [], notUpgradeable: [], wayBack: 'upstream', ...world });

test('the mode is read from what is recorded', () => {
  assert.equal(modeOf([], image('a')), 'initializing');
  assert.equal(modeOf([entry('4.14.0', 'Partial')], image('4.14.0')), 'initializing');
  assert.equal(modeOf([entry('4.14.0')], image('4.14.0')), 'reconciling');
  assert.equal(modeOf([entry('4.14.0')], image('4.14.1')), 'updating');
  assert.equal(modeOf([entry('4.14.0', 'Partial'), entry('4.13.0')], image('4.14.0')), 'updating');
});

test('RB-R24 the way back: the release before of the same minor by upstream; any recorded one by what a preflight finds', () => {
  const history = [entry('4.14.3'), entry('4.14.1')];
  assert.deepEqual(unmet({ target: release('4.14.1'), history }), []);
  assert.equal(unmet({ target: release('4.14.0'), history })[0]?.reason, 'LowDesiredVersion');
  const minors = [entry('4.14.3'), entry('4.13.9')];
  assert.equal(unmet({ target: release('4.13.9'), history: minors })[0]?.reason, 'LowDesiredVersion');
  const clean: WayBack = { findings: [] };
  assert.deepEqual(unmet({ target: release('4.13.9'), history: minors, wayBack: clean }), []);
  const finding = { id: 'PRUNE:widgets.example.com:N12:.status', class: 'PRUNE', blocking: true, message: 'lost' };
  const found = unmet({ target: release('4.13.9'), history: minors, wayBack: { findings: [finding] } });
  assert.deepEqual(
    found.map(({ name }) => name),
    [`Rollback/${finding.id}`],
  );
  // Going to and fro works: the first entry that differs is the other one.
  const fro = [entry('4.14.1'), entry('4.14.2'), entry('4.14.1')];
  assert.deepEqual(unmet({ current: release('4.14.1'), target: release('4.14.2'), history: fro }), []);
  assert.deepEqual(
    unmet({ current: release('4.14.2'), target: release('4.14.1'), history: [entry('4.14.2'), ...fro] }),
    [],
  );
});

test('by our policy a way back must be recorded whole, judged, allowed by the server and not declared final', () => {
  const reasons = (wayBack: WayBack, history: readonly HistoryEntry[], target = release('4.12.1')) =>
    unmet({ target, history, wayBack }).map(({ reason }) => reason);
  const finalised = { version: '4.14.3', finalisedTime: '2026-01-01T00:00:00Z' };
  const path = [entry('4.14.3'), entry('4.13.9', 'Partial'), entry('4.12.1')];
  assert.deepEqual(reasons({ findings: [] }, path), []);
  assert.deepEqual(reasons({ findings: [] }, [entry('4.14.3'), entry('4.12.1')]), ['PathNotRecorded']);
  assert.deepEqual(
    reasons({ findings: [] }, [entry('4.14.3'), entry('4.13.9'), entry('4.12.1', 'Completed', 'another')]),
    ['NotInHistory'],
  );
  assert.deepEqual(reasons({ findings: undefined, skew: 'The server is newer.', finalised }, path), [
    'ServerSkew',
    'Finalised',
    'NotJudged',
  ]);
  // Across majors the minors that are recorded count.
  const majors = [entry('5.1.0'), entry('5.0.0'), entry('4.21.0')];
  const to = (history: readonly HistoryEntry[]) =>
    unmet({ current: release('5.1.0'), target: release('4.21.0'), history, wayBack: { findings: [] } }).map(
      ({ reason }) => reason,
    );
  assert.deepEqual(to(majors), []);
  assert.deepEqual(to([entry('5.1.0'), entry('4.21.0')]), ['PathNotRecorded']);
});

test('leaps and what is not upgradeable stop going forward, never going back; a recommendation only warns', () => {
  const names = (of: Parameters<typeof unmet>[0]) =>
    unmet(of).map(({ name, blocking }) => `${name}${blocking ? '' : '?'}`);
  const notUpgradeable = [{ reason: 'ClusterVersionOverrides', message: 'x' }];
  assert.deepEqual(names({ target: release('4.15.0'), notUpgradeable }), ['Upgradeable']);
  assert.deepEqual(names({ target: release('4.14.4'), notUpgradeable }), []);
  assert.deepEqual(names({ target: release('4.16.0') }), ['GiantHop']);
  assert.deepEqual(names({ target: release('5.0.0') }), []);
  assert.deepEqual(names({ target: release('5.1.0') }), ['GiantHop']);
  assert.deepEqual(names({ current: release('5.0.0'), target: release('6.0.0') }), ['GiantHop']);
  assert.deepEqual(names({ target: release('4.12.0'), notUpgradeable, history: [], wayBack: { findings: [] } }), [
    'Rollback',
    'Rollback',
  ]);
  assert.deepEqual(names({ target: release('4.15.0'), notRecommended: { reason: 'Bug', message: 'x' } }), [
    'RecommendedUpdate?',
  ]);
  assert.deepEqual(names({ target: release('4.14.3'), notUpgradeable }), []);
  assert.deepEqual(names({ target: release('4.15.0'), current: { version: 'edited by hand', image: image('x') } }), [
    'Rollback',
  ]);
});

test('RB-R26 a version alone is found in the history; for two images nothing is guessed', () => {
  const history = [entry('4.14.3'), entry('4.13.9')];
  assert.deepEqual(targetOf({ version: '4.13.9' }, { history }), {
    kind: 'release',
    image: image('4.13.9'),
    version: '4.13.9',
  });
  const two = targetOf({ version: '4.13.9' }, { history: [...history, entry('4.13.9', 'Completed', 'other')] });
  assert.equal(two.kind === 'refused' && two.reason, 'AmbiguousVersion');
  assert.match(two.kind === 'refused' ? two.message : '', /Ask for one of them by its image/);
  const none = targetOf({ version: '4.12.0' }, { history });
  assert.equal(none.kind === 'refused' && none.reason, 'UnknownVersion');
  const offered = targetOf({ version: '4.15.0' }, { history, available: [release('4.15.0')] });
  assert.equal(offered.kind === 'release' && offered.image, image('4.15.0'));
});

test('nothing asked for stays with the newest entry; an image without digest is gone to from nowhere', () => {
  assert.deepEqual(targetOf({}, { history: [] }), { kind: 'none' });
  assert.deepEqual(targetOf({}, { history: [entry('4.14.3')] }), {
    kind: 'release',
    image: image('4.14.3'),
    version: '4.14.3',
  });
  const edited = [{ ...entry('4.14.3'), image: 'registry.test/evil:latest' }];
  for (const wish of [{ image: 'registry.test/release:4.14' }, {}, { version: '4.14.3' }]) {
    const target = targetOf(wish, { history: edited });
    assert.equal(target.kind === 'refused' && target.reason, 'NoDigest');
  }
});

const attempt: Attempt = { signature: { verified: true }, version: '4.14.3', unmet: [] };
const nobody = { force: false, risks: [] };
const force = { force: true, risks: [] };

test('RB-R27 force lets an unsigned image pass, with its words, and never another version than was asked for', () => {
  const unsigned = { ...attempt, signature: { verified: false, why: 'no store has one' } };
  const refused = accept(unsigned, {}, nobody);
  assert.equal(!refused.accepted && refused.step, 'RetrievePayload');
  const forced = accept(unsigned, {}, force);
  assert.match(forced.accepted ? forced.acceptedRisks : '', /cannot be verified: no store has one/);
  assert.equal(forced.accepted && forced.verified, false);
  const named = accept(unsigned, {}, { force: false, risks: ['Signature'] });
  assert.ok(named.accepted);
  const mismatch = accept(attempt, { version: '4.14.4' }, force);
  assert.equal(!mismatch.accepted && mismatch.step, 'VerifyPayloadVersion');
  const broken = accept({ ...attempt, load: 'x.yaml:3 is no object' }, {}, force);
  assert.equal(!broken.accepted && broken.step, 'LoadPayload');
  const gone = accept({ ...attempt, retrieval: 'not there' }, {}, force);
  assert.equal(!gone.accepted && gone.step, 'RetrievePayload');
});

test('preconditions are accepted one by one, a finding by its own name or the beginning of it, and what is final by nothing', () => {
  const finding = {
    name: 'Rollback/PRUNE:a.example.com:N12',
    reason: 'PreflightFinding',
    message: 'lost',
    blocking: true,
  };
  const hop = { name: 'GiantHop', reason: 'MinorSkipped', message: 'two minors', blocking: true };
  const with_ = (risks: readonly string[], unmet: Attempt['unmet']) =>
    accept({ ...attempt, unmet }, {}, { force: false, risks });
  assert.equal(with_(['GiantHop'], [finding, hop]).accepted, false);
  assert.equal(with_(['Rollback', 'GiantHop'], [finding, hop]).accepted, false, 'not all findings by one word');
  assert.equal(
    with_(['Rollback/PRUNE:a.example', 'GiantHop'], [finding, hop]).accepted,
    false,
    'a part ends at a colon',
  );
  assert.equal(with_([''], [finding]).accepted, false);
  const both = with_(['Rollback/PRUNE:a.example.com', 'GiantHop'], [finding, hop]);
  assert.match(both.accepted ? both.acceptedRisks : '', /Rollback\/PRUNE.*lost.*GiantHop.*two minors/);
  const final = { ...finding, name: 'Rollback/CRD_REJECTED:a.example.com', final: true as const };
  assert.equal(accept({ ...attempt, unmet: [final] }, {}, { force: true, risks: [final.name] }).accepted, false);
  const warned = with_([], [{ ...hop, blocking: false }]);
  assert.deepEqual(warned.accepted && [warned.acceptedRisks, warned.warnings.length], ['', 1]);
});
