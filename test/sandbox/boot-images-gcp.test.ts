import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  ClusterOperator,
  ControlPlaneMachineSet,
  FeatureGate,
  MachineConfiguration,
  MachineSet,
  Secret,
} from '@drydock/api';
import { type FakeCompute, googleError, publish, rhcosCloud, startCompute } from '@drydock/boot-images/testing';
import { type CloudVoyage, startCloudVoyage, verifiedIn } from './support/cloud-voyage.ts';
import { createPlane, manageBoth, planeKey, planeStubText } from './support/control-plane.ts';
import { gcpGolden, gcpImageOf, gcpMachineSet, gcpSpec } from './support/gcp-voyage.ts';
import { eventually } from './support/voyage.ts';
import { machineApi, userData } from './support/voyage-cluster.ts';

const custom = 'projects/my-proj/global/images/custom';

let compute: FakeCompute;
let voyage: CloudVoyage;

before(async () => {
  compute = await startCompute();
  for (const release of [1, 2]) publish(compute, gcpImageOf(release));
  voyage = await startCloudVoyage({
    platformSpec: { type: 'GCP' },
    platformStatus: { gcp: { projectID: 'own-project', region: 'us-central1' } },
    ...{ golden: gcpGolden(2), cloud: compute, credentials: { 'service_account.json': compute.keyFile } },
    rights: ['control-plane', 'managed-stub'],
    flags: ['--stub-secret', 'Managed'],
  });
  await voyage.createSet(gcpMachineSet('wk-a', rhcosCloud(gcpImageOf(1))));
  await voyage.createSet(gcpMachineSet('wk-custom', custom));
});
after(async () => {
  await voyage?.[Symbol.asyncDispose]();
  await compute?.[Symbol.asyncDispose]();
});

/** The image of the boot disk. */
async function bootImage(set: string): Promise<unknown> {
  const { disks } = await voyage.spec(set);
  return (disks as readonly { readonly image: unknown }[])[0]?.image;
}

const at =
  (release: number) =>
  ({ phase, current }: { readonly phase?: string; readonly current?: string }) =>
    phase === 'Current' && current === gcpImageOf(release);

test('BI-V77 BI-V84 the operator moves a set to the image of the release, which it has looked at; nothing else in the set changes', async () => {
  const status = await voyage.status('wk-a', 'current', at(2));
  assert.match(verifiedIn(status), /^True Verified: image projects\/rhcos-cloud\/global\/images\/rhcos-9-8-20260802-0/);
  assert.deepEqual([status.platform, status.target, status.revertTo], ['gcp', gcpImageOf(2), gcpImageOf(1)]);
  const value = gcpSpec(rhcosCloud(gcpImageOf(2)));
  assert.deepEqual(await voyage.spec('wk-a'), value);
  assert.ok(compute.asked.includes(`rhcos-cloud/${gcpImageOf(2)}`));
});

test('who takes the image back is named, by the list of disks that it owns then', async () => {
  const path = '/spec/template/spec/providerSpec/value/disks/0/image';
  const key = { namespace: machineApi, name: 'wk-a' };
  await voyage.as('argocd-controller', (client) =>
    client.patch(MachineSet, key, [{ op: 'replace', path, value: rhcosCloud(gcpImageOf(1)) }]),
  );
  await voyage.logged(/"manager":"argocd-controller".*somebody else changed the image/);
  await eventually('back again', async () => (await bootImage('wk-a')) === rhcosCloud(gcpImageOf(2)) || undefined);
});

test('BI-V79 a set with an image of somebody’s own is skipped with the reason and what to do', async () => {
  const { reason, message, nextStep } = await voyage.status('wk-custom', 'skipped', ({ phase }) => phase === 'Skipped');
  assert.equal(reason, 'CustomImage');
  assert.match(message ?? '', /boot disk 0 has image projects\/my-proj\/global\/images\/custom/);
  assert.match(nextStep ?? '', /set disks\[0\]\.image to projects\/rhcos-cloud/);
  assert.equal(await bootImage('wk-custom'), custom);
});

/** Whether machine sets are kept. */
function managedSets(mode: 'All' | 'None'): object {
  const machineManagers = [{ resource: 'machinesets', apiGroup: 'machine.openshift.io', selection: { mode } }];
  return { managedBootImages: { machineManagers } };
}

async function configured(spec: object): Promise<void> {
  await voyage.client.mergePatch(MachineConfiguration, { name: 'cluster' }, { spec } as object);
}

test('--stub-secret Managed: with the rights of its component alone a set with a stub of Ignition 2 is switched to the managed Secret, and no Secret is written', async () => {
  const { client } = voyage;
  const key = { namespace: machineApi, name: 'worker-user-data' };
  const old = userData(key.name, '2.2.0');
  await client.mergePatch(Secret, key, { data: old.data } as object);
  await client.create(Secret, userData(`${key.name}-managed`, '3.4.0'));
  const before = gcpMachineSet('wk-stub', rhcosCloud(gcpImageOf(1)));
  // Only once nobody keeps a record of the oldest image may sets be left to themselves.
  await configured({ bootImageSkewEnforcement: { mode: 'None' } });
  await eventually('no record', async () => {
    const { status } = await client.get(MachineConfiguration, { name: 'cluster' });
    return status?.bootImageSkewEnforcementStatus?.mode === 'None' || undefined;
  });
  await configured(managedSets('None'));
  await voyage.status('wk-a', 'opted out', ({ reason }) => reason === 'NotSelected');
  await voyage.createSet(before);
  const explained = await voyage.drydock('explain', 'wk-stub', '--stub-secret', 'Managed');
  assert.match(explained.out, /the set is switched to Secret worker-user-data-managed, which does the same/);
  await configured({ ...managedSets('All'), bootImageSkewEnforcement: null });
  await voyage.status('wk-stub', 'moved', at(2));
  const value = gcpSpec(rhcosCloud(gcpImageOf(2)));
  assert.deepEqual(await voyage.spec('wk-stub'), { ...value, userDataSecret: { name: `${key.name}-managed` } });
  assert.deepEqual((await client.get(Secret, key)).data, old.data);
  assert.doesNotMatch(voyage.log(), /"code":"Forbidden"[^\n]*worker-user-data/);
});

test('a target that is not published blocks the set, unpatched; it moves by itself once it is', async () => {
  await voyage.release(gcpGolden(3));
  const status = await voyage.status('wk-a', 'blocked', ({ phase }) => phase === 'Blocked');
  assert.match(verifiedIn(status), /^False ImageNotPublished: there is no image /);
  assert.deepEqual([status.reason, status.current, status.target], ['ImageNotPublished', gcpImageOf(2), gcpImageOf(3)]);
  await voyage.degraded('True', `there is no image ${rhcosCloud(gcpImageOf(3))} in Compute Engine`);
  assert.equal(await bootImage('wk-a'), rhcosCloud(gcpImageOf(2)));
  publish(compute, gcpImageOf(3));
  await voyage.status('wk-a', 'moved', at(3));
  await voyage.degraded('False');
});

test('BI-V68 [N] a cloud that answers 503 degrades, is asked again, and heals without an event', async () => {
  publish(compute, gcpImageOf(4));
  compute.fault = ({ host }) => (host.startsWith('compute.') ? googleError(503, 'Backend', 'backendError') : undefined);
  await voyage.release(gcpGolden(4));
  await voyage.degraded('True', 'ask again later');
  assert.equal(await bootImage('wk-a'), rhcosCloud(gcpImageOf(3)));
  compute.fault = undefined;
  await voyage.status('wk-a', 'moved', at(4));
  await voyage.degraded('False');
});

test('BI-V119 the control plane is moved once its feature gate is on, with the rights of its component alone, its stub is converted, and who takes the image back is named', async () => {
  const { client } = voyage;
  const value = gcpSpec(rhcosCloud(gcpImageOf(1)));
  const plane = await createPlane(client, { platform: 'GCP', gcp: [{ zone: 'us-central1-a' }] }, value);
  const none = await voyage.status('cpms/cluster', 'told', ({ phase }) => phase === 'Skipped');
  assert.equal(none.reason, 'NotSelected');

  // The gate of the cluster's own object: as long as it is off, what the spec asks for is neither reflected nor done.
  const gate = await client.create(FeatureGate, { metadata: { name: 'cluster' }, spec: {} } as FeatureGate);
  const gates = (off: readonly string[]) => ({
    featureGates: [{ version: '4.21.0', enabled: [], disabled: off.map((name) => ({ name })) }],
  });
  const gated = await client.replaceStatus(FeatureGate, { ...gate, status: gates(['ManagedBootImagesCPMS']) });
  await manageBoth(client);
  const off = await voyage.status('cpms/cluster', 'gated', ({ message }) =>
    /ManagedBootImagesCPMS/.test(message ?? ''),
  );
  assert.match(off.message ?? '', /feature gate ManagedBootImagesCPMS is off/);
  const { status } = await client.get(MachineConfiguration, { name: 'cluster' });
  const modes = status?.managedBootImagesStatus?.machineManagers?.map(({ selection }) => selection.mode);
  assert.deepEqual(modes, ['All', 'None'], 'as it was before the gate was off');
  assert.deepEqual(await plane.template(), plane.with(value));
  await client.replaceStatus(FeatureGate, { ...gated, status: gates([]) });
  // Nothing that is watched tells of gates.
  await voyage.release({ ...gcpGolden(4), looked: 'again' });
  await voyage.status('cpms/cluster', 'moved', at(4));
  const disks = [{ ...value.disks[0], image: rhcosCloud(gcpImageOf(4)) }, value.disks[1]];
  assert.deepEqual(await plane.template(), plane.with({ ...value, disks }));
  assert.match(await planeStubText(client), /"version":"3\.5\.0"/);

  const path = '/spec/template/machines_v1beta1_machine_openshift_io/spec/providerSpec/value/disks/0/image';
  await voyage.as('hive-controllers', (other) =>
    other.patch(ControlPlaneMachineSet, planeKey, [{ op: 'replace', path, value: rhcosCloud(gcpImageOf(1)) }]),
  );
  const back = await voyage.status('cpms/cluster', 'back again', ({ attempts }) => attempts?.count === 2);
  assert.deepEqual(back.attempts, { target: rhcosCloud(gcpImageOf(4)), count: 2, by: 'hive-controllers' });
  await voyage.degraded('False');
  const { conditions } = (await client.get(MachineConfiguration, { name: 'cluster' })).status ?? {};
  const progressing = conditions?.find(({ type }) => type === 'BootImageUpdateProgressing');
  assert.match(progressing?.message ?? '', /Reconciled 1 of 1 ControlPlaneMachineSets/);
  const explained = await voyage.drydock('explain', 'cpms/cluster');
  assert.match(explained.out, /controlplanemachineset cluster: x86_64 machines on GCP/);
});

test('without the right to look the set is patched, and its BootImage names the right', async () => {
  compute.denied.add('rhcos-cloud');
  await voyage.release(gcpGolden(5));
  const status = await voyage.status('wk-a', 'moved', at(5));
  assert.match(
    verifiedIn(status),
    /^Unknown Unverified: .*missing: permission compute\.images\.get on project rhcos-cloud$/,
  );
  assert.equal(status.progress, 'unverified');
  await voyage.degraded('False');
});

test('BI-V203 status and doctor say who holds minor upgrades up; status, explain and doctor speak of the cloud', async () => {
  const manual = { mode: 'OCPVersion', ocpVersion: '4.10.0' };
  await configured({ bootImageSkewEnforcement: { mode: 'Manual', manual } });
  await eventually('the verdict', async () => {
    const { conditions } = (await voyage.client.get(ClusterOperator, { name: 'drydock' })).status ?? {};
    return conditions?.some(({ type, status }) => type === 'Upgradeable' && status === 'False') || undefined;
  });
  const held =
    /ClusterOperator drydock \(Drydock\) holds minor upgrades up since \d+s: Upgrades have been disabled because the cluster is using OCP boot image version 4\.10\.0/;
  const status = await voyage.drydock('status');
  assert.match(status.out, new RegExp(`ms/wk-a +${gcpImageOf(5)} +Current +\\d+[smh] +unverified\\n`));
  assert.match(status.out, held);
  const explained = await voyage.drydock('explain', 'wk-a', 'wk-custom');
  assert.match(explained.out, /x86_64 machines on GCP/);
  assert.match(explained.out, /missing: permission compute\.images\.get on project rhcos-cloud/);
  assert.match(explained.out, /boot disk 0 has image projects\/my-proj/);
  assert.equal(explained.code, 0, explained.out);
  const own = '--as=system:serviceaccount:drydock:drydock-boot-images';
  const asOperator = await voyage.drydock('explain', 'wk-a', own);
  assert.match(
    asOperator.out,
    /missing: permission compute\.images\.get on project rhcos-cloud/,
    'with its rights alone',
  );
  const doctor = await voyage.drydock('doctor', '--roles', 'boot-images');
  assert.match(doctor.out, /ok +openshift +4\.21\.0 on GCP/);
  assert.match(doctor.out, held);
  assert.match(doctor.out, /warn +ms\/wk-a +new machines start .*; nobody could look .*missing: permission compute/);
  assert.doesNotMatch(doctor.out, /vcenter|mark key/i);
});

test('no credential is in the log, and what may not be read is told once', (t) => {
  const log = voyage.log();
  assert.doesNotMatch(log, /PRIVATE KEY|ya29|subject\.token/);
  const told = log.split('\n').filter((line) => line.includes('gcp-cloud-credentials'));
  assert.equal(told.length, 1, told.join('\n'));
  const [, kB] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${voyage.pid}/status`, 'utf8')) ?? [];
  t.diagnostic(`${kB} kB resident`);
});
