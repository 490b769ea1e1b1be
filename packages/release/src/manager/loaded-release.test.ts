import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestText, payloadFiles } from '../testing/payload-files.ts';
import type { ReleaseWish } from './face.ts';
import { loadRelease } from './loaded-release.ts';

const INCLUDED = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const files = payloadFiles({
  'release-manifests/0000_10_a_1.yaml': manifestText('ConfigMap', 'a'),
  'release-manifests/0000_10_a_2.yaml': manifestText('ConfigMap', 'b', {
    ...INCLUDED,
    'capability.openshift.io/name': 'Console',
  }),
  'release-manifests/0000_10_a_3.yaml': manifestText('ConfigMap', 'others', {}),
});
const wish = (baseline: string, overrides: ReleaseWish['overrides'] = []): ReleaseWish =>
  ({
    ...{ profile: 'self-managed-high-availability', featureSet: 'Default', overrides },
    capabilities: { baseline },
  }) as unknown as ReleaseWish;
const loaded = (of: ReleaseWish) =>
  loadRelease(files, 'registry.test/tools@sha256:0', of, { enabled: [], running: undefined });

test('the version hash is that of the release for this cluster: neither a capability nor an override makes another release of it, while what is applied is told apart', () => {
  const unmanaged = { group: '', kind: 'ConfigMap', namespace: '', name: 'a', unmanaged: true };
  const all = loaded(wish('vCurrent'));
  const some = [loaded(wish('None')), loaded(wish('vCurrent', [unmanaged]))];
  assert.deepEqual(
    [all, ...some].map(({ included }) => included.map(({ id }) => id.name).join()),
    ['a,b', 'a', 'b'],
  );
  assert.match(all.versionHash, /^[\w-]{11}=$/);
  assert.deepEqual(new Set([all, ...some].map(({ versionHash }) => versionHash)).size, 1);
  assert.deepEqual(new Set([all, ...some].map(({ hash }) => hash)).size, 3);
});
