import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, MachineConfiguration } from '@drydock/api';
import { skewReleases } from './releases.ts';

type Record = NonNullable<NonNullable<MachineConfiguration['status']>['bootImageSkewEnforcementStatus']>;

const at = (version: string): ClusterVersion => ({
  metadata: { name: 'version' },
  status: { history: [{ state: 'Completed', version }] },
});
const mc = (bootImageSkewEnforcementStatus: Record): MachineConfiguration => ({
  metadata: { name: 'cluster' },
  status: { bootImageSkewEnforcementStatus },
});

for (const [what, record, version, wanted] of [
  ['a record of this release', { mode: 'Automatic', automatic: { ocpVersion: '4.21.3' } }, '4.21.9', 0],
  ['one of the installation', { mode: 'Automatic', automatic: { ocpVersion: '4.12.0' } }, '4.21.0', 9],
  ['what a person says', { mode: 'Manual', manual: { mode: 'OCPVersion', ocpVersion: '4.19.0' } }, '4.21.0', 2],
  [
    'an image that is numbered as releases were',
    { mode: 'Automatic', automatic: { rhcosVersion: '418.94.202511191518-0' } },
    '4.21.0',
    3,
  ],
  ['an image of a release to come', { mode: 'Automatic', automatic: { ocpVersion: '4.22.0' } }, '4.21.0', 0],
  [
    'an image that is numbered as RHEL is',
    { mode: 'Automatic', automatic: { rhcosVersion: '9.6.20260210-0' } },
    '4.21.0',
    undefined,
  ],
  ['a release that nobody knows', { mode: 'Automatic', automatic: { ocpVersion: '0.0.0' } }, '4.21.0', undefined],
  ['nobody who keeps a record', { mode: 'None' }, '4.21.0', undefined],
  [
    'a cluster whose release cannot be read',
    { mode: 'Automatic', automatic: { ocpVersion: '4.21.0' } },
    'x',
    undefined,
  ],
] as const)
  test(`minor releases between the cluster and its oldest image: ${what}`, () => {
    assert.equal(skewReleases(mc(record as Record), at(version)), wanted);
  });

test('without a MachineConfiguration nothing is known', () => {
  assert.equal(skewReleases(undefined, at('4.21.0')), undefined);
});
