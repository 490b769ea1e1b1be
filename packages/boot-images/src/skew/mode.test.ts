import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, Infrastructure } from '@drydock/api';
import { managed } from '../testing/fake-cluster.ts';
import { type SkewFacts, skewStatus, unreadProvisioning } from './mode.ts';
import { installVersion } from './releases.ts';

function cluster(...history: readonly (readonly ['Completed' | 'Partial', string])[]): ClusterVersion {
  return {
    metadata: { name: 'version' },
    status: { history: history.map(([state, version]) => ({ state, version })) },
  };
}

function on(type: string, status: Infrastructure['status'] = {}): Infrastructure {
  return { metadata: { name: 'cluster' }, status: { platformStatus: { type }, ...status } };
}

const upgraded = cluster(['Completed', '4.19.0'], ['Completed', '4.18.0'], ['Completed', '4.17.0']);
const facts: SkewFacts = {
  ...{ spec: undefined, status: undefined, provisioningUrl: undefined },
  ...{ managers: managed('All'), infrastructure: on('AWS'), clusterVersion: upgraded },
};

test('BI-V191 what a person says is the status', () => {
  const manual = { mode: 'OCPVersion', ocpVersion: '4.16.0' } as const;
  assert.deepEqual(skewStatus({ ...facts, spec: { mode: 'Manual', manual } }), { mode: 'Manual', manual });
  assert.deepEqual(skewStatus({ ...facts, spec: { mode: 'None' } }), { mode: 'None' });
});

test('BI-V192 a new record begins with the release of the installation; one that is there stays', () => {
  assert.deepEqual(skewStatus(facts), { mode: 'Automatic', automatic: { ocpVersion: '4.17.0' } });
  assert.equal(installVersion(cluster(['Completed', '4.18.0-0.ci-2024-01-01-000000'])), '4.18.0');
  const status = { mode: 'Automatic', automatic: { ocpVersion: '4.19.0' } } as const;
  assert.deepEqual(skewStatus({ ...facts, status }), status);
  assert.deepEqual(skewStatus({ ...facts, status: { mode: 'Manual' } }).automatic, { ocpVersion: '4.17.0' });
});

test('BI-V193 a single node has no skew to keep, unless a person says so', () => {
  const infrastructure = on('AWS', { platformStatus: { type: 'AWS' }, controlPlaneTopology: 'SingleReplica' });
  assert.deepEqual(skewStatus({ ...facts, infrastructure }), { mode: 'None' });
  const manual = { mode: 'OCPVersion', ocpVersion: '4.17.0' } as const;
  assert.deepEqual(skewStatus({ ...facts, infrastructure, spec: { mode: 'Manual', manual } }).manual, manual);
});

test('BI-V194 BI-V178 bare metal: none on the current way of provisioning, by hand on the old one', () => {
  const bare = { ...facts, managers: undefined, infrastructure: on('BareMetal') };
  for (const provisioningUrl of [undefined, '']) {
    assert.deepEqual(skewStatus({ ...bare, provisioningUrl }), { mode: 'None' });
  }
  const clusterVersion = cluster(['Completed', '4.9.0']);
  for (const provisioningUrl of ['http://example.test/rhcos.qcow2', unreadProvisioning]) {
    assert.deepEqual(skewStatus({ ...bare, clusterVersion, provisioningUrl }), {
      mode: 'Manual',
      manual: { mode: 'OCPVersion', ocpVersion: '4.9.0' },
    });
  }
});

test('BI-V176 BI-V177 BI-V182 where not all sets are managed, and on other platforms, a person keeps the record', () => {
  const byHand = { mode: 'Manual', manual: { mode: 'OCPVersion', ocpVersion: '4.17.0' } };
  for (const managers of [undefined, [], managed('None'), managed('Partial')]) {
    assert.deepEqual(skewStatus({ ...facts, managers }), byHand);
  }
  assert.deepEqual(skewStatus({ ...facts, infrastructure: on('OpenStack') }), byHand);
  const platformStatus = { type: 'Azure', azure: { cloudName: 'AzureStackCloud' } };
  assert.deepEqual(skewStatus({ ...facts, infrastructure: on('Azure', { platformStatus }) }), byHand);
});

test('BI-V72 BI-V73 the release of the installation, where the history says little', () => {
  assert.equal(installVersion(undefined), '0.0.0');
  assert.equal(installVersion(cluster()), '0.0.0');
  assert.equal(installVersion(cluster(['Partial', '4.18.0'])), '4.18.0');
  assert.equal(
    installVersion(cluster(['Partial', '4.19.0'], ['Completed', '4.18.0'], ['Partial', '4.17.0'])),
    '4.18.0',
  );
  assert.equal(installVersion(cluster(['Completed', 'nightly'])), '0.0.0');
});
