import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SliceResult, testsIn } from './slice.ts';
import { add, rowOf, table } from './table.ts';

const part = (name: string) => ({ name, files: [], weight: 1 });

function slice(outcome: SliceResult['outcome'], output: string, tallies: SliceResult['tallies'] = []): SliceResult {
  return { outcome, seconds: 90, tallies, output, tests: testsIn(output) };
}

test('a soak tells what it did, and never calls green what could not be played', () => {
  const rows = ['kills', 'stopped', 'part', 'uncounted', 'absent', 'hung', 'wrong', 'waiting'].map((name) =>
    rowOf(part(name)),
  );
  const [kills, stopped, some, uncounted, absent, hung, wrong] = rows;
  assert.ok(kills && stopped && some && uncounted && absent && hung && wrong);
  const ended = '✔ one (3ms)\n  ✔ in a suite (1ms)\n';
  add(kills, slice('green', ended, [{ what: 'kills', did: 10, of: 1000 }]));
  add(kills, slice('green', ended, [{ what: 'kills', did: 30, of: 1000 }]));
  add(stopped, slice('late', ended, [{ what: 'kills', did: 7 }]));
  // One loop came to its end, and the other one did not.
  add(
    some,
    slice('green', ended, [
      { what: 'histories', did: 9, of: 9 },
      { what: 'histories', did: 5 },
    ]),
  );
  add(uncounted, slice('late', `${ended}﹣ three (0ms) # no such program\n`));
  add(absent, slice('green', '﹣ one (0.4ms) # there is no emulator\nℹ skipped 1\n'));
  add(hung, slice('late', ''));
  add(wrong, slice('red', '✖ one (3ms)\n'));
  const cells = table(rows)
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()));
  assert.deepEqual(
    cells.map(([, name, minutes, did, result]) => [name, minutes, did, result]),
    [
      ['kills', '3.0', '40 kills (4.0 %)', 'green'],
      ['stopped', '1.5', '7 kills', 'green, its last slice was stopped late'],
      ['part', '1.5', '14 histories', 'green'],
      ['uncounted', '1.5', '2 tests, 1 tests skipped', 'green, its last slice was stopped late'],
      ['absent', '1.5', '1 tests skipped', 'SKIPPED: this machine lacks what it needs'],
      ['hung', '1.5', '–', 'nothing ended'],
      ['wrong', '1.5', '–', 'RED'],
      ['waiting', '0.0', '–', 'not begun'],
    ],
  );
});
