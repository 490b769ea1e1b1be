import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion } from '@drydock/api';
import { type PassResult, recorded } from './record.ts';

const automatic = (ocpVersion: string) => ({ mode: 'Automatic', automatic: { ocpVersion } }) as const;

function history(...completed: readonly string[]): ClusterVersion {
  return {
    metadata: { name: 'version' },
    status: { history: completed.map((version) => ({ state: 'Completed', version })) },
  };
}

const clean: PassResult = {
  ...{ errors: 0, skipped: 0, waiting: 0, marketplaceVersions: [], releaseVersion: '4.21.3' },
  clusterVersion: history('4.19.0', '4.18.0'),
};

test('BI-V69 sets that are left out take the record back to the release of the installation', () => {
  assert.deepEqual(recorded(automatic('4.19.0'), { ...clean, skipped: 1 }), automatic('4.18.0'));
});

test('a set that waits boots from what was recorded before: the record stays, unless others are left out', () => {
  const status = automatic('4.19.0');
  assert.equal(recorded(status, { ...clean, waiting: 1 }), status);
  assert.deepEqual(recorded(status, { ...clean, waiting: 1, skipped: 1 }), automatic('4.18.0'));
});

test('BI-V71 a record that says so already is not written', () => {
  const status = automatic('4.18.0');
  assert.equal(recorded(status, { ...clean, skipped: 1 }), status);
});

test('BI-V72 without a history the record says 0.0.0', () => {
  for (const clusterVersion of [undefined, history()]) {
    assert.deepEqual(recorded(automatic('4.19.0'), { ...clean, skipped: 2, clusterVersion }), automatic('0.0.0'));
  }
});

test('BI-V74 a clean pass records the release, without what comes after its numbers', () => {
  assert.deepEqual(recorded(automatic('4.18.0'), clean), automatic('4.21.3'));
  const releaseVersion = '4.21.0-0.ci-2026-01-01-000000';
  assert.deepEqual(recorded(automatic('4.18.0'), { ...clean, releaseVersion }), automatic('4.21.0'));
  const status = automatic('4.18.0');
  for (const unread of [undefined, '', 'latest']) {
    assert.equal(recorded(status, { ...clean, releaseVersion: unread }), status);
  }
});

test('BI-V76 the record of a person stays what it is, and an error changes none', () => {
  const manual = { mode: 'Manual', manual: { mode: 'OCPVersion', ocpVersion: '4.16.0' } } as const;
  assert.equal(recorded(manual, clean), manual);
  assert.equal(recorded({ mode: 'None' }, clean)?.mode, 'None');
  const status = automatic('4.18.0');
  assert.equal(recorded(status, { ...clean, errors: 1 }), status);
});

test('BI-V98 images of a marketplace are recorded by the lowest of their own versions', () => {
  const marketplaceVersions = ['9.10.20260210-0', '9.6.20260210-0', '9.8.20260110-0'];
  assert.deepEqual(recorded(automatic('4.18.0'), { ...clean, marketplaceVersions }), {
    mode: 'Automatic',
    automatic: { rhcosVersion: '9.6.20260210-0' },
  });
});
