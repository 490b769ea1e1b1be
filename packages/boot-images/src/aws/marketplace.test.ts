import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseImage,
  compareTokens,
  isLegacy,
  type MarketplaceImage,
  productOf,
  tokenOf,
  versionIn,
} from './marketplace.ts';

test('BI-V91 the product is the end of the name of an image, where that is a UUID', () => {
  const arm = 'abc249f8-7440-45f7-a4b1-c026baff64c1';
  for (const [name, product] of [
    ['', undefined],
    ['short', undefined],
    ['rhcos-x86_64-9-6-20260210-0-59ead7de-2540-4653-a8b0-notauuidnota', undefined],
    ['rhcos-419-94-202504151514-0-x86_64', undefined],
    [`rhcos-aarch64-9-6-20260210-0-${arm}`, arm],
    [`x${arm}`, undefined],
    [arm, arm],
  ] as const)
    assert.equal(productOf(name), product, name);
});

test('BI-V92 the version of a release is its first two parts', () => {
  assert.deepEqual(tokenOf('9.6.20260210-0'), [9, 6]);
  assert.deepEqual(tokenOf('9.10.20260210-0'), [9, 10]);
  assert.deepEqual(tokenOf('9.6'), [9, 6]);
  for (const none of ['', '9', '9.', '.6', 'a.b', '9.x.1']) assert.equal(tokenOf(none), undefined, none);
});

test('BI-V93 the version is found in the description of an image', () => {
  for (const [description, version, token] of [
    ['RHEL CoreOS 9.6 9.6.20260210-0 x86_64', '9.6.20260210-0', [9, 6]],
    ['rhcos-9.6.20250701-0-x86_64', '9.6.20250701-0', [9, 6]],
    ['OpenShift 4.18 418.94.202511191518-0 x86_64', '418.94.202511191518-0', [418, 94]],
  ] as const) {
    assert.equal(versionIn(description), version);
    assert.deepEqual(tokenOf(version), token);
  }
  for (const none of ['', 'RHEL CoreOS', 'RHEL CoreOS 9.6']) assert.equal(versionIn(none), undefined, none);
});

test('BI-V94 versions compare by numbers, without their dates; those of before 4.19 are told apart', () => {
  const sign = (a: string, b: string): number => Math.sign(compareTokens(tokenOf(a) ?? [0, 0], tokenOf(b) ?? [0, 0]));
  for (const [low, high] of [
    ['9.5', '9.6'],
    ['9.6', '9.7'],
    ['9.7', '10.0'],
    ['9.9', '9.10'],
    ['9.6', '418.94'],
  ] as const)
    assert.deepEqual([sign(low, high), sign(high, low)], [-1, 1], `${low} ${high}`);
  assert.equal(sign('9.6.20260210-0', '9.6.20260110-0'), 0);
  const legacy = ['101.0', '400.0', '418.94', '100.0', '99.9', '10.0', '9.6'].map((text) =>
    isLegacy(tokenOf(text) ?? [0, 0]),
  );
  assert.deepEqual(legacy, [true, true, true, false, false, false, false]);
});

const image = (id: string, version: string, created: string): MarketplaceImage => ({
  ...{
    id,
    created: `${created}T00:00:00.000Z`,
    description: version === '' ? 'no version' : `RHEL CoreOS ${version} x86_64`,
  },
});

test('BI-V96 the newest version that is not newer than the release is chosen, and of one version the image that was made last', () => {
  const a = image('a', '9.6.20260110-0', '2026-01-10');
  const b = image('b', '9.6.20260210-0', '2026-02-10');
  for (const images of [
    [a, b],
    [b, a],
  ])
    assert.deepEqual(chooseImage(images, [9, 6]), { kind: 'image', id: 'b', version: '9.6.20260210-0' });
  const older = image('c', '9.5.20260101-0', '2026-01-01');
  const newer = image('d', '9.6.20251201-0', '2025-12-01');
  assert.deepEqual(chooseImage([older, newer], [9, 6]), { kind: 'image', id: 'd', version: '9.6.20251201-0' });
  assert.deepEqual(chooseImage([older, newer], [9, 5]), { kind: 'image', id: 'c', version: '9.5.20260101-0' });
});

test('BI-V97 no image, or only one of before 4.19, is none; one without a version stands in nobody’s way', () => {
  assert.deepEqual(chooseImage([], [9, 6]), { kind: 'none', legacyOnly: false });
  const legacy = image('a', '418.94.202511191518-0', '2025-11-19');
  assert.deepEqual(chooseImage([legacy], [9, 6]), { kind: 'none', legacyOnly: true });
  const good = image('b', '9.6.20260210-0', '2026-02-10');
  assert.deepEqual(chooseImage([image('c', '', '2027-01-01'), good, legacy], [9, 6]), {
    ...{ kind: 'image', id: 'b', version: '9.6.20260210-0' },
  });
  assert.deepEqual(chooseImage([image('d', '9.8.20260210-0', '2026-02-10')], [9, 6]), {
    kind: 'none',
    legacyOnly: false,
  });
});
