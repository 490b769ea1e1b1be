import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '@drydock/api';
import { computed, fakeCluster, machineSet, managed, newRelease, published, stub22 } from '../testing/fake-cluster.ts';

const userDataKey = { namespace: 'openshift-machine-api', name: 'worker-user-data' };

test('BI-V161 a missing user-data secret stops the update before anything is imported', async () => {
  const c = fakeCluster();
  c.client.objects.delete('secrets openshift-machine-api/worker-user-data');
  await c.pass();
  assert.ok(
    c
      .condition('Degraded')
      ?.message?.includes(
        'error grabbing user data secret referenced in machineset: secrets "worker-user-data" not found',
      ),
  );
  assert.equal(c.store.uploads, 0);
  assert.equal(c.template('wk-a'), computed);
});

test('BI-V162 a stub that cannot be converted stops the update', async () => {
  for (const version of ['1.2.0', '2.3.0']) {
    const c = fakeCluster({ userData: JSON.stringify({ ignition: { version } }) });
    await c.pass();
    assert.match(
      c.condition('Degraded')?.message ?? '',
      /converting ignition stub failed: failed to parse Ignition config: parsing Ignition config failed: unknown version\. Supported spec versions: 2\.2,3\.0,3\.1,3\.2,3\.3,3\.4,3\.5$/,
    );
    assert.deepEqual([c.store.uploads, c.template('wk-a')], [0, computed]);
  }
});

test('BI-V163 BI-V172 a spec 2 stub is converted in its own secret, before the set is patched', async () => {
  const c = fakeCluster({ userData: stub22 });
  await c.pass();
  const writes = c.client.writes.filter((w) => !w.startsWith('status'));
  assert.deepEqual(writes, [
    'replace secrets openshift-machine-api/worker-user-data-ignition-2',
    'replace secrets openshift-machine-api/worker-user-data',
    'replace secrets openshift-machine-api/worker-user-data-ignition-2',
    'patch machinesets openshift-machine-api/wk-a',
  ]);
  const secret = c.client.peek(Secret, userDataKey);
  const stub = JSON.parse(Buffer.from(secret?.data?.['userData'] ?? '', 'base64').toString()) as {
    ignition: { version: string; config: { merge: { source: string }[] } };
  };
  assert.equal(stub.ignition.version, '3.5.0');
  assert.equal(stub.ignition.config.merge[0]?.source, 'https://api-int.c1:22623/config/worker');
  const prefix = 'machineconfiguration.openshift.io/stub-ignition-upgraded-';
  assert.equal(secret?.metadata.annotations?.[`${prefix}to`], '3.5.0');
  assert.match(secret?.metadata.annotations?.[`${prefix}at`] ?? '', /^2026-08-02T00:00:00Z$/);
});

test('BI-V164 a spec 3 stub is not written', async () => {
  for (const minor of [0, 1, 2, 3, 4]) {
    const c = fakeCluster({ userData: JSON.stringify({ ignition: { version: `3.${minor}.0` } }) });
    await c.pass();
    assert.deepEqual(c.client.writes, ['patch machinesets openshift-machine-api/wk-a']);
  }
});

test('BI-V168 the stub of a set whose image is current stays as it is', async () => {
  const c = fakeCluster({ userData: stub22, templates: { [computed]: { version: newRelease } } });
  await c.pass();
  assert.deepEqual(c.client.writes, []);
});

test('BI-V169 the stub of a set with an image that is not managed stays as it is', async () => {
  const uuid = '420f0fd1-7a8f-4b8e-9a3e-1c2d3e4f5a6b';
  const c = fakeCluster({ userData: stub22, sets: [machineSet('wk-a', { template: uuid })] });
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.reason === 'TemplateByUuid');
});

test('BI-V58 a stub error stays reported until its check passes; deselecting the set clears it at the next pass', async () => {
  for (const managers of [managed('None'), managed('Partial', { matchLabels: { other: 'set' } })]) {
    const c = fakeCluster({ userData: '{"ignition":{"version":"1.2.0"}}' });
    await c.pass();
    await c.timer();
    assert.equal(c.condition('Degraded')?.status, 'True');
    c.edit.mc((mc) => ({ ...mc, status: { ...mc.status, managedBootImagesStatus: { machineManagers: managers } } }));
    assert.equal(await c.pass(), undefined);
    assert.equal(c.condition('Degraded')?.status, 'False');
    assert.equal(c.template('wk-a'), computed);
    const left = c.last('wk-a');
    assert.ok(left?.kind === 'skip' && left.reason === 'NotSelected');
  }
});

test('BI-V171 a conflict on the secret is reported, the set is not patched, and the next pass succeeds', async () => {
  const c = fakeCluster({ userData: stub22 });
  c.client.refuse = (write) => (write.startsWith('replace secrets') ? new Error('conflict') : undefined);
  await c.pass();
  assert.ok(c.condition('Degraded')?.message?.includes('could not update secret worker-user-data: conflict'));
  assert.equal(c.template('wk-a'), computed);
  c.client.refuse = undefined;
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.equal(c.store.uploads, 1);
});
