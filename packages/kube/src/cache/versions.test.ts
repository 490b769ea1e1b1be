import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareVersions } from './versions.ts';

test('property: versions compare as numbers of any length', () => {
  const version = fc.bigInt({ min: 0n, max: 2n ** 80n });
  fc.assert(
    fc.property(version, version, (a, b) => {
      assert.equal(Math.sign(compareVersions(`${a}`, `${b}`) ?? Number.NaN), a < b ? -1 : a > b ? 1 : 0);
    }),
  );
});

test('nothing is said about what is no number', () => {
  for (const odd of [undefined, '', 'abc', '-1', '1.5', ' 1']) {
    assert.equal(compareVersions(odd, '1'), undefined, String(odd));
    assert.equal(compareVersions('1', odd), undefined, String(odd));
  }
});
