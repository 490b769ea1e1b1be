import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, ConfigMap, MachineConfiguration } from '@drydock/api';
import { bootImageStatus } from '../status/boot-image.ts';
import { computed, fakeCluster, machineSet, stream } from '../testing/index.ts';
import { optOutAnnotation, optOutReasonAnnotation } from './request.ts';

const annotations = (asked: string, why?: string) => ({
  annotations: { [optOutAnnotation]: asked, ...(why === undefined ? {} : { [optOutReasonAnnotation]: why }) },
});

test('a set that somebody opted out is a row of its own with the reason, and the record falls back to the installed release', async () => {
  const c = fakeCluster({
    sets: [machineSet('wk-a', {}, annotations('Disabled', 'image of team storage')), machineSet('wk-b')],
  });
  const golden = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
  c.client.put(ConfigMap, { metadata: golden, data: { stream, releaseVersion: '4.22.1' } });
  const automatic = { mode: 'Automatic', automatic: { ocpVersion: '4.22.0' } } as const;
  c.edit.mc((mc) => ({ ...mc, status: { ...mc.status, bootImageSkewEnforcementStatus: automatic } }));
  const history = ['4.22.1', '4.16.2'].map((version) => ({ state: 'Completed', version }));
  c.client.put(ClusterVersion, { metadata: { name: 'version' }, status: { history } });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.notEqual(c.template('wk-b'), computed);
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.reason === 'OptedOut');
  const facts = { reference: computed, target: undefined };
  const subject = { set: 'ms/wk-a', platform: 'vsphere', generation: 1, now: new Date(0), facts };
  const status = bootImageStatus(undefined, outcome, subject);
  assert.deepEqual([status.phase, status.progress], ['Skipped', 'skipped: by request: image of team storage']);
  assert.match(
    status.message ?? '',
    /left alone by request, by annotation drydock\.dev\/boot-image: image of team storage$/,
  );
  assert.match(status.nextStep ?? '', /take annotation drydock\.dev\/boot-image off machineset wk-a$/);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 2 MAPI MachineSets \(1 skipped\)/);
  const record = c.client.peek(MachineConfiguration, { name: 'cluster' })?.status?.bootImageSkewEnforcementStatus;
  assert.deepEqual(record?.automatic, { ocpVersion: '4.16.2' });
});

test('what is asked in other words is not acted against, and a reason of megabytes is cut', async () => {
  const sets = [machineSet('wk-a', {}, annotations('disabled please', 'x'.repeat(100_000)))];
  const c = fakeCluster({ sets });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip');
  assert.match(outcome.message, /has the value disabled please, and Disabled is expected/);
  assert.ok(outcome.brief.length <= 90, outcome.brief);
});

test('a set whose request is taken back is kept again', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a', {}, annotations('Disabled'))] });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  c.edit.set('wk-a', () => machineSet('wk-a'));
  await c.pass();
  assert.equal(c.last('wk-a')?.kind, 'current');
});
