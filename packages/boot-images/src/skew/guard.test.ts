import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, MachineConfiguration } from '@drydock/api';
import { upgradeBlock } from './guard.ts';
import type { SkewStatus } from './mode.ts';

type Conditions = readonly { readonly type: string; readonly status: string; readonly message?: string }[];

const done: Conditions = [{ type: 'BootImageUpdateProgressing', status: 'False' }];
const at422: ClusterVersion = {
  metadata: { name: 'version' },
  status: { history: [{ state: 'Partial', version: '4.22.0' }] },
};

function block(
  skew: SkewStatus | undefined,
  conditions: Conditions = done,
  version: ClusterVersion | undefined = at422,
  warnings: string[] = [],
): string | undefined {
  const status: NonNullable<MachineConfiguration['status']> = {
    conditions,
    ...(skew === undefined ? {} : { bootImageSkewEnforcementStatus: skew }),
  };
  return upgradeBlock({ metadata: { name: 'cluster' }, status }, version, (text) => warnings.push(text));
}

const automatic = (ocpVersion: string): SkewStatus => ({ mode: 'Automatic', automatic: { ocpVersion } });
const byRelease = (ocpVersion: string): SkewStatus => ({ mode: 'Manual', manual: { mode: 'OCPVersion', ocpVersion } });
const byRhcos = (rhcosVersion: string): SkewStatus => ({
  mode: 'Manual',
  manual: { mode: 'RHCOSVersion', rhcosVersion },
});

test('BI-V196 nobody keeps the skew, nobody blocks', () => {
  assert.equal(upgradeBlock(undefined, at422), undefined);
  for (const skew of [undefined, { mode: 'None' }, { mode: '' }, {}]) assert.equal(block(skew), undefined);
});

test('BI-V197 updates that fail block, and say why', () => {
  const failed = [
    ...done,
    { type: 'BootImageUpdateDegraded', status: 'True', message: 'failed to update boot images' },
  ];
  assert.equal(
    block(automatic('4.12.0'), failed),
    'Upgrades have been disabled due to boot image update failures: boot image controller is degraded: failed to update boot images',
  );
});

test('BI-V198 while a pass runs, or before the first one, nothing is said', () => {
  assert.equal(block(automatic('4.12.0'), [{ type: 'BootImageUpdateProgressing', status: 'True' }]), undefined);
  assert.equal(block(automatic('4.12.0'), []), undefined);
});

test('BI-V199 a record below the minimum blocks, with the page of the release that the cluster goes to', () => {
  assert.equal(block(automatic('4.17.0')), undefined);
  assert.equal(block(automatic('4.13.0')), undefined);
  assert.equal(
    block(automatic('4.12.0')),
    'Upgrades have been disabled because the cluster is using OCP boot image version 4.12.0, which is below the minimum required version 4.13.0. To enable upgrades, please update your boot images or disable boot image skew enforcement by following the documentation at https://docs.redhat.com/en/documentation/openshift_container_platform/4.22/html/machine_configuration/mco-update-boot-skew-mgmt',
  );
  const text = upgradeBlock(
    {
      metadata: { name: 'cluster' },
      status: { conditions: done, bootImageSkewEnforcementStatus: automatic('4.12.0') },
    },
    undefined,
  );
  assert.match(text ?? '', /openshift_container_platform\/latest\/html/);
});

test('BI-V201 a record that a person keeps is compared whatever the passes do', () => {
  const running = [
    { type: 'BootImageUpdateProgressing', status: 'True' },
    { type: 'BootImageUpdateDegraded', status: 'True' },
  ];
  for (const fine of [byRelease('4.16.0'), byRhcos('9.6.20251023-0'), byRhcos('413.92.202307260246-0')]) {
    assert.equal(block(fine, running), undefined);
  }
  assert.match(block(byRelease('4.10.0'), running) ?? '', /OCP boot image version 4\.10\.0/);
  assert.match(
    block(byRhcos('9.1.20251023-0'), running) ?? '',
    /RHCOS boot image version 9\.1\.20251023-0\(RHEL version: 9\.1\), which is below the minimum required RHEL version 9\.2/,
  );
  assert.match(block(byRhcos('411.86.202301010000-0'), running) ?? '', /RHEL version: 8\.6/);
});

test('BI-V202 what cannot be read blocks nothing and is told; 8.10 is below 9.2', () => {
  const warnings: string[] = [];
  assert.equal(block(byRhcos('48.84.x-0'), done, at422, warnings), undefined);
  assert.equal(block(byRhcos('garbage'), done, at422, warnings), undefined);
  assert.equal(block(byRelease('four'), done, at422, warnings), undefined);
  assert.equal(warnings.length, 3);
  assert.match(block(byRhcos('412.810.202301010000-0')) ?? '', /RHEL version: 8\.10/);
});
