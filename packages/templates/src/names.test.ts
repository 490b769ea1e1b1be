import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { attemptsOf, NAME_LIMIT, uniqueName, upstreamNames } from './names.ts';
import { cleanInventoryPath } from './paths.ts';
import { testPlacement, testWish } from './testing/wishes.ts';

test('BI-V129 resource pools are compared by their cleaned paths', () => {
  assert.equal(cleanInventoryPath('/dc1/host/c/Resources/'), cleanInventoryPath('/dc1/host//c/Resources'));
  assert.equal(cleanInventoryPath(''), '');
});

test('BI-V159 names that upstream leaves behind', () => {
  assert.deepEqual(upstreamNames('c1-abcde-rhcos-fd1'), { temp: 'mco-tmp-88443e3a', old: 'mco-old-88443e3a' });
  fc.assert(fc.property(fc.string(), (name) => upstreamNames(name).temp.length === 16));
});

test('a unique name keeps within the limit, ends in release and hash, and follows from its parts alone', () => {
  const part = fc.string({ minLength: 1, maxLength: 120 });
  fc.assert(
    fc.property(part, part, part, part, (base, release, digest, operation) => {
      const name = uniqueName(base, release, digest, operation);
      assert.ok(name.length <= NAME_LIMIT);
      assert.match(name, /-[0-9a-f]{8}$/);
      assert.equal(name, uniqueName(base, release, digest, operation));
      assert.notEqual(name, uniqueName(base, release, digest, `${operation}x`));
    }),
  );
  assert.match(uniqueName('b'.repeat(100), '9.6.20251015-1', 'd', 'o'), /^b+-9\.6\.20251015-1-[0-9a-f]{8}$/);
});

test('VS-T2 two clusters, folders or images never share a name; tags and the holder do not matter', () => {
  const first = (wish: ReturnType<typeof testWish>): string => attemptsOf(wish)[0]?.name ?? '';
  const own = first(testWish());
  const image = testWish().image;
  for (const other of [
    testWish({ cluster: 'other' }),
    testWish({ placement: testPlacement({ folder: '/DC0/vm/other' }) }),
    testWish({ placement: testPlacement({ server: 'other' }) }),
    testWish({ image: { ...image, sha256: 'e'.repeat(64) } }),
  ]) {
    assert.notEqual(first(other), own);
  }
  assert.equal(first(testWish({ tagIds: ['x'], holder: 'y', tagName: 'z' })), own);
  assert.equal(new Set(attemptsOf(testWish()).map(({ name }) => name)).size, 8);
});

test('SAFE-11 a release that an OVA names makes no name with line ends or controls of a terminal', () => {
  const name = uniqueName('rhcos', '9.6\n\u001b]0;owned\u0007\u202e', 'a'.repeat(64), '1');
  assert.match(name, /^rhcos-9\.6 \]0;owned-[0-9a-f]{8}$/);
});
