import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupedMoves } from './grouped-moves.ts';
import type { Happening } from './happenings.ts';

const time = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 9, 0, 0) + seconds * 1000).toISOString();
const about = { subject: 'ms/a', namespace: 'machines' };

function step(seconds: number, reason: string, note: string, subject = about.subject): Happening {
  return { ...about, subject, when: time(seconds), who: 'drydock', from: 'event', reason, what: `${reason}: ${note}` };
}

function move(seconds: number, version: string, who = 'release'): Happening {
  const said = { imageVersion: version, image: `t-${version}`, what: `was moved to ${version}` };
  return { ...about, when: time(seconds), who, from: 'history', ...said };
}

/** What is left, the oldest first. */
function left(...rows: readonly Happening[]): readonly string[] {
  const newest = rows.toSorted((a, b) => Date.parse(b.when) - Date.parse(a.when));
  return groupedMoves(newest)
    .map(({ what }) => what)
    .toReversed();
}

const steps = (from: number, version: string, before: string, subject?: string): readonly Happening[] => [
  step(from, 'Planned', `machineset a: ${before} → ${version} (2 times)`, subject),
  step(from + 1, 'DownloadVerified', `the image has the expected digest (operation op${version})`, subject),
  step(from + 2, 'UploadStarted', `template t-${version} (operation op${version})`, subject),
  step(from + 300, 'Imported', `template t-${version} imported (operation op${version})`, subject),
];
const switched = (at: number, before: string, version: string): readonly Happening[] => [
  step(at, 'Switched', `machineset a: t-${before} → t-${version}`),
  step(at + 0.2, 'Retained', `template t-${before} stays until nothing needs it`),
];

test('FIND-17: the rows of one move are one row, also after a restart in the middle', () => {
  const restarted = [...steps(0, '9.8', '9.6'), step(200, 'Planned', 'machineset a: 9.6 → 9.8')];
  assert.deepEqual(left(move(-100, '9.6', 'found'), ...restarted, ...switched(301.7, '9.6', '9.8'), move(301, '9.8')), [
    'was moved to 9.6',
    'was moved to 9.8',
  ]);
});

test('FIND-17: an attempt that failed keeps its last step and its failure; a later move hides no step of it', () => {
  const failed = step(301, 'Failed', 'the canary of t-9.9 failed');
  assert.deepEqual(left(...steps(0, '9.9', '9.8'), failed, ...switched(400, '9.8', '9.6'), move(400, '9.6', 'alice')), [
    'Imported: template t-9.9 imported (operation op9.9)',
    'Failed: the canary of t-9.9 failed',
    'was moved to 9.6',
  ]);
});

test('FIND-17: steps of a move that goes on, and those of another machine set, stay', () => {
  const other = steps(0, '9.8', '9.6', 'ms/b');
  assert.deepEqual(left(...other, ...switched(301, '9.6', '9.8'), move(301, '9.8')), [
    'Imported: template t-9.8 imported (operation op9.8)',
    'was moved to 9.8',
  ]);
  const goesOn = steps(600, '9.9', '9.8').slice(0, 3);
  assert.deepEqual(left(...switched(301, '9.6', '9.8'), move(301, '9.8'), ...goesOn), [
    'was moved to 9.8',
    'UploadStarted: template t-9.9 (operation op9.9)',
  ]);
  const again = [move(301, '9.8'), move(400, '9.6', 'alice'), ...steps(600, '9.8', '9.6').slice(0, 1)];
  assert.deepEqual(left(...again).at(-1), 'Planned: machineset a: 9.6 → 9.8 (2 times)');
});
