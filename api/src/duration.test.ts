import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationMs, goDuration } from './duration.ts';

test('FIND-14: durations are read as Go reads them (time.ParseDuration)', () => {
  for (const [text, nanos] of [
    ['0', 0n],
    ['5s', 5_000_000_000n],
    ['.5s', 500_000_000n],
    ['1.s', 1_000_000_000n],
    ['1h15m30.918s', 4_530_918_000_000n],
    ['11us', 11_000n],
    ['11µs', 11_000n],
    ['52763797000ns', 52_763_797_000n],
    ['-2m3.4s', -123_400_000_000n],
    ['+1.5h', 5_400_000_000_000n],
    ['9223372036854775807ns', 9_223_372_036_854_775_807n],
    ['0.3333333333333333333h', 1_200_000_000_000n],
  ] as const)
    assert.equal(goDuration(text), nanos, text);
  for (const text of [
    '',
    '3',
    '-',
    's',
    '.',
    '-.',
    '.s',
    '1d',
    ' 1s',
    '1s ',
    '1m30',
    '9223372036854775808ns',
    '3000000h',
  ])
    assert.equal(goDuration(text), undefined, text);
  assert.deepEqual(['100us', '.5s', '-1s', '1d'].map(durationMs), [0.1, 500, undefined, undefined]);
});
