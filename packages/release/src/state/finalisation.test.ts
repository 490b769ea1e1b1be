import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finalAt, finalBefore, withFinalised } from './finalisation.ts';
import { type HistoryEntry, mergeHistory } from './history.ts';

const HOUR = 3_600_000;
const at = (hours: number): Date => new Date(Date.UTC(2026, 0, 1) + hours * HOUR);
const release = (version: string) => ({ version, image: `r@${version}` });

/** Releases that were complete at these hours, one after the other. */
function historyOf(...releases: readonly (readonly [version: string, hour: number])[]): readonly HistoryEntry[] {
  return releases.reduce<readonly HistoryEntry[]>(
    (history, [version, hour]) =>
      mergeHistory(history, { ...release(version), completed: true, verified: true }, at(hour).toISOString()),
    [],
  );
}

test('a release is final once it has been complete for its window, and stays so, whatever the window becomes', () => {
  const history = historyOf(['1.0.0', 0], ['1.1.0', 10]);
  assert.deepEqual(finalAt(history, 5 * HOUR), at(15));
  assert.equal(withFinalised(history, 5 * HOUR, at(14.9)), history);
  const final = withFinalised(history, 5 * HOUR, at(15));
  assert.deepEqual(
    final.map(({ finalisedTime }) => finalisedTime),
    [at(15).toISOString(), undefined],
  );
  assert.equal(withFinalised(final, 500 * HOUR, at(16)), final);
  const merged = mergeHistory(final, { ...release('1.1.0'), completed: true, verified: true }, at(17).toISOString());
  assert.equal(merged[0]?.finalisedTime, at(15).toISOString());
});

test('nothing is final without a window, before it is complete, or where nobody knows since when it is', () => {
  const history = historyOf(['1.0.0', 0]);
  const [head] = history;
  if (head === undefined) assert.fail('there is a release');
  const { completionTime: _time, ...timeless } = head;
  assert.equal(withFinalised(history, undefined, at(1e6)), history);
  for (const odd of [{ ...head, state: 'Partial' }, timeless, { ...head, completionTime: 'yesterday' }])
    assert.equal(withFinalised([odd], 1, at(1e6))[0]?.finalisedTime, undefined);
});

test('a way back goes past a final release, not onto one', () => {
  const history = withFinalised(historyOf(['1.0.0', 0], ['1.1.0', 1]), HOUR, at(5));
  assert.equal(finalBefore(history, release('1.0.0'))?.version, '1.1.0');
  assert.equal(finalBefore(history, release('1.1.0')), undefined);
  const later = mergeHistory(history, { ...release('1.2.0'), completed: true, verified: true }, at(6).toISOString());
  assert.equal(finalBefore(later, release('1.1.0')), undefined);
  assert.equal(finalBefore(later, release('1.0.0'))?.version, '1.1.0');
  assert.equal(finalBefore(later, release('0.9.0'))?.version, '1.1.0');
  // Once somebody went back all the same, that release was here after the final one.
  const back = mergeHistory(later, { ...release('1.0.0'), completed: true, verified: true }, at(7).toISOString());
  assert.equal(finalBefore(back, release('1.0.0')), undefined);
});
