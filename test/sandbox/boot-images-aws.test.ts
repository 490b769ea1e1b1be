import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ConfigMap, ControlPlaneMachineSet, MachineSet } from '@drydock/api';
import {
  ec2Error,
  type FakeEc2,
  publishAmi,
  publishProduct,
  rosa,
  startEc2,
  staticKeys,
} from '@drydock/boot-images/testing';
import { type CloudVoyage, startCloudVoyage, verifiedIn } from './support/cloud-voyage.ts';
import { createPlane, manageBoth, planeKey, planeStubText } from './support/control-plane.ts';
import { eventually } from './support/voyage.ts';
import { machineApi } from './support/voyage-cluster.ts';

const ami = (release: number): string => `ami-0000000000000000${release}`;
const custom = 'ami-00000000000000abc';
const sold = (n: number): string => `ami-000000000000005a${n}`;

/** The golden ConfigMap of a release. */
function golden(release: number): Readonly<Record<string, string>> {
  const images = { aws: { regions: { 'us-east-1': { release: `9.8.2026080${release}-0`, image: ami(release) } } } };
  const architectures = { x86_64: { artifacts: { aws: { release: `9.8.2026080${release}-0` } }, images } };
  return { releaseVersion: '4.21.0', stream: JSON.stringify({ stream: 'rhcos-voyage', architectures }) };
}

/** A machine set as the installer makes it, with a field that nobody knows. */
function machineSet(name: string, id: string, region: string = 'us-east-1') {
  const labels = { 'machine.openshift.io/cluster-api-machineset': name };
  const value = {
    ...{ apiVersion: 'machine.openshift.io/v1beta1', kind: 'AWSMachineProviderConfig', ami: { id }, foo: { bar: 1 } },
    ...{ instanceType: 'm6i.xlarge', placement: { availabilityZone: `${region}a`, region } },
    ...{
      blockDevices: [{ ebs: { volumeSize: 120, volumeType: 'gp3' } }],
      userDataSecret: { name: 'worker-user-data' },
    },
  };
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' };
  return {
    metadata: { namespace: machineApi, name, annotations },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { providerSpec: { value } } },
    },
  };
}

let ec2: FakeEc2;
let voyage: CloudVoyage;

before(async () => {
  ec2 = await startEc2();
  for (const release of [1, 2]) publishAmi(ec2, { id: ami(release) });
  publishAmi(ec2, { id: custom, owner: '123456789012' });
  publishAmi(ec2, { id: ami(1) }, 'eu-central-1');
  publishProduct(ec2, sold(1), '9.6.20260110-0', { product: rosa });
  publishProduct(ec2, sold(2), '9.8.20260110-0', { product: rosa });
  voyage = await startCloudVoyage({
    platformSpec: { type: 'AWS' },
    platformStatus: { aws: { region: 'us-east-1' } },
    ...{ golden: golden(2), cloud: ec2, credentials: staticKeys(ec2), rights: ['control-plane'], distrusted: true },
  });
  await voyage.createSet(machineSet('wk-a', ami(1)));
  await voyage.createSet(machineSet('wk-custom', custom));
  await voyage.createSet(machineSet('wk-far', ami(1), 'eu-central-1'));
  await voyage.createSet(machineSet('wk-sold', sold(1)));
});
after(async () => {
  await voyage?.[Symbol.asyncDispose]();
  await ec2?.[Symbol.asyncDispose]();
});

const image = async (set: string): Promise<unknown> => (await voyage.spec(set))['ami'];

const at =
  (id: string) =>
  ({ phase, current }: { readonly phase?: string; readonly current?: string }) =>
    phase === 'Current' && current === id;

test('EC2 behind an authority that nobody knows is an error of each set; once the cluster has it, nothing is restarted', async () => {
  const { message = '' } = await voyage.status('wk-a', 'failed', ({ reason }) => reason === 'CloudUnavailable');
  assert.match(message, /failed to .* at ec2\.us-east-1\.amazonaws\.com: no complete answer/);
  const metadata = { namespace: 'openshift-config-managed', name: 'kube-cloud-config' };
  await voyage.client.create(ConfigMap, { metadata, data: { 'ca-bundle.pem': ec2.ca } });
  await voyage.status('wk-a', 'current', at(ami(2)));
});

test('BI-V86 the operator moves a set to the image of the release, which it has looked at; nothing else in the set changes', async () => {
  const status = await voyage.status('wk-a', 'current', at(ami(2)));
  assert.match(verifiedIn(status), /^True Verified: image ami-00000000000000002 in us-east-1 is there/);
  assert.deepEqual([status.platform, status.target, status.revertTo], ['aws', ami(2), ami(1)]);
  assert.deepEqual(await voyage.spec('wk-a'), machineSet('wk-a', ami(2)).spec.template.spec.providerSpec.value);
});

test('BI-V98 a set of a product of the marketplace is moved within it, which its BootImage says', async () => {
  const status = await voyage.status('wk-sold', 'current', at(sold(2)));
  assert.match(verifiedIn(status), /^True Marketplace: .*\(ROSA\) of the marketplace, RHCOS 9\.8\.20260110-0/);
  assert.deepEqual(await image('wk-sold'), { id: sold(2) });
});

test('BI-V88 BI-V102 somebody’s own image, and a region that the stream lacks, are skipped with the reason and what to do', async () => {
  const own = await voyage.status('wk-custom', 'skipped', ({ phase }) => phase === 'Skipped');
  assert.equal(own.reason, 'CustomImage');
  assert.match(own.message ?? '', /belongs to account 123456789012, not to Red Hat/);
  assert.match(own.nextStep ?? '', /set ami\.id to ami-00000000000000002/);
  const far = await voyage.status('wk-far', 'skipped', ({ phase }) => phase === 'Skipped');
  assert.equal(far.reason, 'NotInStream');
  assert.deepEqual([await image('wk-custom'), await image('wk-far')], [{ id: custom }, { id: ami(1) }]);
});

test('who takes the image back is named, by the member that it owns then', async () => {
  const path = '/spec/template/spec/providerSpec/value/ami';
  const key = { namespace: machineApi, name: 'wk-a' };
  await voyage.as('argocd-controller', (client) =>
    client.patch(MachineSet, key, [{ op: 'replace', path, value: { id: ami(1) } }]),
  );
  await voyage.logged(/"manager":"argocd-controller".*somebody else changed the image/);
  await eventually('back again', async () => JSON.stringify(await image('wk-a')).includes(ami(2)) || undefined);
});

test('a target that is not shared with the account blocks the set, unpatched; it moves by itself once it is', async () => {
  publishAmi(ec2, { id: ami(3), sharedWith: ['1'], hidden: 'left out' });
  await voyage.release(golden(3));
  const status = await voyage.status('wk-a', 'blocked', ({ phase }) => phase === 'Blocked');
  assert.match(verifiedIn(status), /^False ImageNotPublished: there is no image .*not shared with the account/);
  assert.deepEqual([status.reason, status.current, status.target], ['ImageNotPublished', ami(2), ami(3)]);
  await voyage.degraded('True', `there is no image ${ami(3)} in us-east-1`);
  assert.deepEqual(await image('wk-a'), { id: ami(2) });
  publishAmi(ec2, { id: ami(3) });
  await voyage.status('wk-a', 'moved', at(ami(3)));
  await voyage.degraded('False');
});

test('BI-V68 [N] EC2’s 503 degrades, is asked again, and heals without an event', async () => {
  publishAmi(ec2, { id: ami(4) });
  ec2.fault = () => ec2Error(503, 'RequestLimitExceeded', 'Request limit exceeded.');
  await voyage.release(golden(4));
  await voyage.degraded('True', 'ask again later');
  assert.deepEqual(await image('wk-a'), { id: ami(3) });
  ec2.fault = undefined;
  await voyage.status('wk-a', 'moved', at(ami(4)));
  await voyage.degraded('False');
});

test('BI-V124 the control plane is moved by one patch of its image; with an image of somebody’s own it is left alone, which degrades nothing', async () => {
  const { client } = voyage;
  const { value } = machineSet('x', custom).spec.template.spec.providerSpec;
  const failureDomains = { platform: 'AWS', aws: [{ placement: { availabilityZone: 'us-east-1a' } }] };
  const plane = await createPlane(client, failureDomains, value);
  await manageBoth(client);
  const own = await voyage.status('cpms/cluster', 'skipped', ({ reason }) => reason === 'CustomImage');
  assert.match(own.message ?? '', /controlplanemachineset cluster: image .* belongs to account 123456789012/);
  await voyage.degraded('False');
  assert.match(await planeStubText(client), /"version":"2\.2\.0"/, 'a stub that nobody needs is left as it is');
  const path = '/spec/template/machines_v1beta1_machine_openshift_io/spec/providerSpec/value/ami';
  await client.patch(ControlPlaneMachineSet, planeKey, [{ op: 'replace', path, value: { id: ami(1) } }]);
  await voyage.status('cpms/cluster', 'moved', at(ami(4)));
  assert.deepEqual(await plane.template(), plane.with({ ...value, ami: { id: ami(4) } }));
  assert.match(await planeStubText(client), /"version":"3\.5\.0"/);
});

test('without the right to look, a set whose image was seen to be Red Hat’s is patched, and its BootImage names the right', async () => {
  ec2.denied.add('DescribeImages');
  await voyage.release(golden(5));
  const status = await voyage.status('wk-a', 'moved', at(ami(5)));
  assert.match(verifiedIn(status), /^Unknown Unverified: .*missing: permission ec2:DescribeImages$/);
  assert.equal(status.progress, 'unverified');
  await voyage.createSet(machineSet('wk-unseen', 'ami-00000000000000dad'));
  const unseen = await voyage.status('wk-unseen', 'skipped', ({ phase }) => phase === 'Skipped');
  assert.deepEqual([unseen.reason, await image('wk-unseen')], ['OwnerUnknown', { id: 'ami-00000000000000dad' }]);
  await voyage.degraded('False');
});

test('status, explain and doctor speak of AWS', async () => {
  const status = await voyage.drydock('status');
  assert.match(status.out, new RegExp(`ms/wk-a +${ami(5)} +Current +\\d+[smh] +unverified\\n`));
  assert.match(status.out, new RegExp(`ms/wk-custom +${custom} +Skipped .* custom image`));
  assert.match(status.out, new RegExp(`ms/wk-sold +${sold(2)} `));
  const explained = await voyage.drydock('explain', 'wk-a', 'wk-unseen');
  assert.match(explained.out, /x86_64 machines on AWS/);
  assert.match(explained.out, /missing: permission ec2:DescribeImages/);
  assert.equal(explained.code, 0, explained.out);
  const doctor = await voyage.drydock('doctor', '--roles', 'boot-images');
  assert.match(doctor.out, /ok +openshift +4\.21\.0 on AWS/);
  assert.doesNotMatch(doctor.out, /vcenter|mark key/i);
});

test('no credential is in the log', (t) => {
  const log = voyage.log();
  assert.doesNotMatch(log, /sEcReT|session\/secret|Signature=/);
  const [, kB] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${voyage.pid}/status`, 'utf8')) ?? [];
  t.diagnostic(`${kB} kB resident`);
});
