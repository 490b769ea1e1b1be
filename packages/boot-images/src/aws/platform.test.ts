import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  type BootImage,
  type BootImageStatus,
  ControlPlaneMachineSet,
  Deployment,
  MachineConfiguration,
  MachineSet,
  Secret,
} from '@drydock/api';
import { upstreamController } from '../decide/coexistence.ts';
import { explainSet } from '../explain.ts';
import { setFacts } from '../pass/set-facts.ts';
import type { Platform } from '../platform.ts';
import { standings } from '../standing.ts';
import { bootImageStatus } from '../status/boot-image.ts';
import { imageOf } from '../status/boot-image-store.ts';
import { ec2Error, type FakeEc2, startEc2 } from '../testing/clouds/ec2.ts';
import {
  awsImage,
  awsInfrastructure,
  awsSecret,
  awsSet,
  awsStream,
  furnishAws,
  oldAwsImage,
  publishAmi,
  publishProduct,
  rosa,
  staticKeys,
  westImage,
} from '../testing/fake-aws.ts';
import { type FakeCluster, type FakeClusterOptions, fakeCluster, stub22 } from '../testing/fake-cluster.ts';
import { bothManaged, controlPlane, planeSpec } from '../testing/fake-control-plane.ts';
import { awsPlatform } from './platform.ts';

let ec2: FakeEc2;
const opened: Platform[] = [];

before(async () => {
  ec2 = await startEc2();
});
after(async () => {
  for (const platform of opened) await platform[Symbol.asyncDispose]?.();
  await ec2?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  ec2.regions.clear();
  ec2.types.clear();
  ec2.denied.clear();
  ec2.fault = undefined;
});

/** A cluster on AWS, whose clock is also the one of what is remembered of images. */
function cluster(options: FakeClusterOptions = {}): FakeCluster {
  const platform = awsPlatform({
    ...ec2.options,
    bounds: { attempts: 1, exchangeMs: 20_000 },
    clock: { now: () => c.clock, date: () => new Date(), sleep: async () => undefined },
  });
  opened.push(platform);
  const c: FakeCluster = fakeCluster({
    ...{ sets: [awsSet('wk-a')], stream: awsStream, infrastructure: awsInfrastructure, ...options },
    platform,
  });
  furnishAws(c.client, ec2);
  return c;
}

const spec = (c: FakeCluster, set: string = 'wk-a'): Readonly<Record<string, unknown>> =>
  c.client.peek(MachineSet, { namespace: 'openshift-machine-api', name: set })?.spec?.template?.spec?.providerSpec
    ?.value ?? assert.fail('no set');
const ami = (c: FakeCluster, set?: string): unknown => spec(c, set)['ami'];

/** The status after all that was told of the set, as the one writer makes it. */
function statusOf(c: FakeCluster, name: string = 'wk-a'): BootImageStatus {
  let status: BootImageStatus | undefined;
  for (const outcome of c.outcomes.get(name) ?? []) {
    const set = c.ports.world.machineSets().find(({ metadata }) => metadata.name === name) ?? assert.fail('no set');
    const facts = setFacts(set, c.ports);
    const subject = { set: `ms/${name}`, platform: 'aws', generation: 1, now: new Date(c.clock), facts };
    status = bootImageStatus(status, outcome, subject);
  }
  return status ?? assert.fail('nothing was told');
}

function verified(status: BootImageStatus): string {
  const { status: is, reason, message } = status.conditions?.find(({ type }) => type === 'Verified') ?? {};
  return `${is} ${reason}: ${message}`;
}

const stubOf = (c: FakeCluster): string => {
  const secret = c.client.peek(Secret, { namespace: 'openshift-machine-api', name: 'worker-user-data' });
  return Buffer.from(secret?.data?.['userData'] ?? '', 'base64').toString();
};

test('BI-V86 a set with an older image of Red Hat is moved to the stream’s of its region; ami has the id alone, and nothing else changes', async () => {
  const old = { id: oldAwsImage, arn: 'arn:aws:x', filters: [{ name: 'a' }] };
  const c = cluster({ sets: [awsSet('wk-a', old)] });
  const before = spec(c);
  await c.pass();
  assert.deepEqual(spec(c), { ...before, ami: { id: awsImage } });
  assert.deepEqual(c.client.writes, ['patch machinesets openshift-machine-api/wk-a']);
  const status = statusOf(c);
  assert.deepEqual(
    [status.phase, status.current, status.target, status.revertTo],
    ['Current', awsImage, awsImage, oldAwsImage],
  );
  assert.equal(
    verified(status),
    `True Verified: image ${awsImage} in us-east-1 is there, and machines can start from it`,
  );
});

test('BI-V87 a set that has the image of the stream is reconciled without a write, also while EC2 does not answer, or it is gone', async () => {
  const c = cluster({ sets: [awsSet('wk-a', { id: awsImage })] });
  await c.pass();
  assert.match(verified(statusOf(c)), /^True Verified/);
  c.clock += 600_000;
  ec2.fault = () => ec2Error(503, 'Unavailable', 'The server is overloaded');
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.match(verified(statusOf(c)), /^Unknown CloudUnavailable: /);
  ec2.fault = undefined;
  c.clock += 300_000;
  ec2.regions.get('us-east-1')?.delete(awsImage);
  await c.timer();
  assert.match(verified(statusOf(c)), /^False ImageNotPublished: there is no image/);
  assert.match(statusOf(c).message ?? '', /^new machines of ms\/wk-a start from ami-.*; there is no image/);
});

test('BI-V88 a region that is not in the stream is skipped', async () => {
  const placement = { availabilityZone: 'eu-central-1a', region: 'eu-central-1' };
  const c = cluster({ sets: [awsSet('wk-a', { id: oldAwsImage }, { placement })] });
  publishAmi(ec2, { id: oldAwsImage }, 'eu-central-1');
  await c.pass();
  const status = statusOf(c);
  assert.deepEqual([c.client.writes, status.phase, status.reason], [[], 'Skipped', 'NotInStream']);
  assert.match(status.message ?? '', /has no x86_64 image in eu-central-1/);
  assert.match(verified(status), /^True Verified/);
});

test('BI-V89 BI-V102 an image of somebody’s own is skipped with a reason, its stub stays of 2.2.0; that it was withdrawn is said', async () => {
  const own = 'ami-00000000000000abc';
  const c = cluster({ sets: [awsSet('wk-a', { id: own }), awsSet('wk-fake', { id: 'ami-fake' })], userData: stub22 });
  publishAmi(ec2, { id: own, owner: '123456789012', state: 'disabled' });
  await c.pass();
  assert.deepEqual([c.client.writes, ami(c), stubOf(c)], [[], { id: own }, stub22]);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 0 of 2 MAPI MachineSets \(2 skipped\) \|/);
  const status = statusOf(c);
  assert.deepEqual([status.phase, status.reason, status.target], ['Skipped', 'CustomImage', awsImage]);
  assert.match(status.message ?? '', /belongs to account 123456789012, not to Red Hat; image .* is disabled/);
  assert.equal(status.nextStep, `to have it kept current, set ami.id to ${awsImage}`);
  assert.equal(statusOf(c, 'wk-fake').reason, 'CustomImage');
});

test('BI-V98 an image of the marketplace is moved within its product; one that is current feeds the record', async () => {
  const [old, new_] = ['ami-0000000000000000a', 'ami-0000000000000000b'];
  const c = cluster({ sets: [awsSet('wk-a', { id: old })] });
  publishProduct(ec2, old, '9.6.20260110-0');
  publishProduct(ec2, new_, '9.6.20260210-0', { created: '2026-09-01T00:00:00.000Z' });
  publishProduct(ec2, 'ami-0000000000000000c', '10.0.20270101-0');
  const mc = c.client.peek(MachineConfiguration, { name: 'cluster' }) ?? assert.fail('none');
  const bootImageSkewEnforcementStatus = { mode: 'Automatic', automatic: { ocpVersion: '4.18.0' } };
  c.client.put(MachineConfiguration, { ...mc, status: { ...mc.status, bootImageSkewEnforcementStatus } });
  await c.pass();
  assert.deepEqual(ami(c), { id: new_ });
  assert.match(
    verified(statusOf(c)),
    /^True Marketplace: .*product 59ead7de.* \(OCP\) of the marketplace, RHCOS 9\.6\.20260210-0/,
  );
  const record = (): unknown =>
    c.client.peek(MachineConfiguration, { name: 'cluster' })?.status?.bootImageSkewEnforcementStatus;
  assert.deepEqual(record(), { mode: 'Automatic', automatic: { rhcosVersion: '9.6.20260210-0' } });
  const writes = c.client.writes.length;
  c.client.put(MachineConfiguration, { ...mc, status: { ...mc.status, bootImageSkewEnforcementStatus } });
  await c.pass();
  assert.equal(c.client.writes.length, writes);
  assert.deepEqual(record(), { mode: 'Automatic', automatic: { rhcosVersion: '9.6.20260210-0' } });
  assert.deepEqual([statusOf(c).phase, statusOf(c).target], ['Current', new_]);
});

test('BI-V97 a product without an image that suits is skipped, and that all of them are of before 4.19 is said', async () => {
  const old = 'ami-0000000000000000a';
  const c = cluster({ sets: [awsSet('wk-a', { id: old })] });
  publishProduct(ec2, old, '418.94.202511191518-0');
  await c.pass();
  const status = statusOf(c);
  assert.deepEqual([c.client.writes, status.phase, status.reason], [[], 'Skipped', 'NotInMarketplace']);
  assert.match(
    status.message ?? '',
    /has no x86_64 image for a release up to 9\.8: all that it has are of before 4\.19/,
  );
});

test('BI-V101 [N] an arm64 set of ROSA gets an arm64 image, though the newest is for x86', async () => {
  const old = 'ami-0000000000000000a';
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=arm64' };
  const c = cluster({ sets: [awsSet('wk-a', { id: old }, {}, { annotations })] });
  publishProduct(ec2, old, '9.4.20260110-0', { product: rosa, architecture: 'arm64' });
  publishProduct(ec2, 'ami-0000000000000000b', '9.8.20260701-0', { product: rosa });
  publishProduct(ec2, 'ami-0000000000000000c', '9.8.20260601-0', { product: rosa, architecture: 'arm64' });
  await c.pass();
  assert.deepEqual(ami(c), { id: 'ami-0000000000000000c' });
  assert.match(verified(statusOf(c)), /\(ROSA\)/);
});

test('BI-V99 a current image that is gone is an error of its set in EC2’s words, or in ours; the others go on', async () => {
  const gone = 'ami-00000000000000dad';
  const hidden = 'ami-00000000000000bad';
  const c = cluster({ sets: [awsSet('wk-a', { id: gone }), awsSet('wk-b'), awsSet('wk-c', { id: hidden })] });
  publishAmi(ec2, { id: hidden, owner: '1', sharedWith: [], hidden: 'left out' });
  await c.pass();
  const { status, message = '' } = c.condition('Degraded') ?? {};
  assert.equal(status, 'True');
  assert.match(
    message,
    /error syncing MAPI MachineSet wk-a: failed to reconcile machineset wk-a, err: DescribeImages failed for ami-00000000000000dad: InvalidAMIID\.NotFound: “The image id '\[ami-00000000000000dad\]' does not exist/,
  );
  assert.match(message, /failed to reconcile machineset wk-c, err: AMI ami-00000000000000bad not found/);
  assert.deepEqual([ami(c), ami(c, 'wk-b')], [{ id: gone }, { id: awsImage }]);
  assert.match(verified(statusOf(c)), /^False CurrentWithdrawn: image ami-00000000000000dad in us-east-1 is gone/);
  assert.match(statusOf(c).nextStep ?? '', new RegExp(`set ami\\.id to ${awsImage}`));
});

test('a target that is not shared blocks the set, unpatched, and is looked at again by itself until it is', async () => {
  const c = cluster();
  publishAmi(ec2, { id: awsImage, sharedWith: ['1'], hidden: 'left out' });
  const outcome = await c.pass();
  assert.deepEqual([ami(c), c.client.writes], [{ id: oldAwsImage }, []]);
  const status = statusOf(c);
  assert.deepEqual([status.phase, status.reason, status.target], ['Blocked', 'ImageNotPublished', awsImage]);
  assert.match(verified(status), /^False ImageNotPublished: .*not shared with the account/);
  assert.deepEqual([c.condition('Degraded')?.status, outcome], ['True', { after: 10_000 }]);
  publishAmi(ec2, { id: awsImage });
  c.clock += 10_000;
  await c.timer();
  assert.deepEqual([ami(c), c.condition('Degraded')?.status], [{ id: awsImage }, 'False']);
});

test('without the right to look a set whose image is known to be Red Hat’s is patched, and its BootImage said so before', async () => {
  const c = cluster();
  publishAmi(ec2, { id: awsImage, state: 'pending' });
  await c.pass();
  assert.equal(statusOf(c).reason, 'ImageNotReady');
  ec2.denied.add('DescribeImages');
  c.clock += 600_000;
  c.outcomes.clear();
  await c.pass();
  assert.deepEqual(ami(c), { id: awsImage });
  const told = (c.outcomes.get('wk-a') ?? []).map(
    ({ kind, verified: seen }) => `${kind} ${seen?.status} ${seen?.reason}`,
  );
  assert.deepEqual(told, ['step Unknown Unverified', 'current Unknown Unverified']);
  assert.match(verified(statusOf(c)), /missing: permission ec2:DescribeImages$/);
  assert.equal(c.condition('Degraded')?.status, 'False');
});

test('without the right to look, or credentials, a set whose image may be anybody’s is left alone, and what is missing is said', async () => {
  const c = cluster();
  c.client.objects.delete('secrets drydock/drydock-cloud-credentials');
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  const status = statusOf(c);
  assert.deepEqual([status.phase, status.reason, status.target], ['Skipped', 'OwnerUnknown', awsImage]);
  assert.match(
    verified(status),
    /^Unknown Unverified: .*missing: Secret drydock\/drydock-cloud-credentials or openshift-/,
  );
  c.client.put(Secret, awsSecret(staticKeys(ec2)));
  ec2.denied.add('DescribeImages');
  await c.pass();
  assert.match(statusOf(c).nextStep ?? '', /permission ec2:DescribeImages/);
  ec2.denied.clear();
  c.clock += 60_000;
  await c.timer();
  assert.deepEqual(ami(c), { id: awsImage }, 'a right that was granted needs no event');
});

test('BI-V68 [N] EC2’s 503 degrades, is tried again with growing pauses, and clears without an event', async () => {
  const c = cluster();
  ec2.fault = () => ec2Error(503, 'RequestLimitExceeded', 'Request limit exceeded.');
  assert.deepEqual(await c.pass(), { after: 5_000 });
  assert.deepEqual([c.condition('Degraded')?.status, ami(c)], ['True', { id: oldAwsImage }]);
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /failed to DescribeImages in us-east-1 at ec2\.us-east-1\.amazonaws\.com: .*503/,
  );
  c.clock += 5_000;
  assert.deepEqual(await c.timer(), { after: 10_000 });
  ec2.fault = undefined;
  c.clock += 10_000;
  await c.timer();
  assert.deepEqual([c.condition('Degraded')?.status, ami(c)], ['False', { id: awsImage }]);
});

test('a fleet costs one call for a hundred images and region; a region that never answers holds only its own sets', async () => {
  const id = (n: number): string => `ami-${n.toString(16).padStart(17, '0')}`;
  const west = { placement: { availabilityZone: 'us-west-2a', region: 'us-west-2' } };
  const sets = Array.from({ length: 200 }, (_, n) => awsSet(`wk-${n}`, { id: id(n % 120) }, n % 2 === 0 ? {} : west));
  const c = cluster({ sets });
  for (let n = 0; n < 120; n += 1) publishAmi(ec2, { id: id(n) }, n % 2 === 0 ? 'us-east-1' : 'us-west-2');
  const before = ec2.asked.length;
  await c.pass();
  assert.deepEqual(
    ec2.asked
      .slice(before)
      .map((call) => `${call.split(':')[0]} ${call.split(' ').length - 2}`)
      .toSorted(),
    ['us-east-1 61', 'us-west-2 61'],
  );
  const wanted = sets.map((_, n) => (n % 2 === 0 ? awsImage : westImage));
  assert.deepEqual(
    sets.map(({ metadata: { name } }) => (ami(c, name) as { readonly id: string }).id),
    wanted,
  );

  const half = cluster({ sets });
  ec2.fault = ({ host }) => (host.includes('us-west-2') ? 'hang' : undefined);
  const calls = ec2.calls.length;
  await half.pass();
  assert.equal(ec2.calls.length - calls, 2);
  assert.match(half.condition('Degraded')?.message ?? '', /^100 Degraded MAPI MachineSets/);
  assert.deepEqual(ami(half, 'wk-0'), { id: awsImage });
});

test('beside upstream nothing is written, and what is seen is said all the same', async () => {
  const c = cluster();
  c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  ec2.regions.get('us-east-1')?.delete(awsImage);
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  const status = statusOf(c);
  assert.deepEqual([status.reason, status.current, status.target], ['LeftToUpstream', oldAwsImage, awsImage]);
  assert.match(verified(status), /^False ImageNotPublished/);
});

test('a control plane is moved as a set of workers is, and told by its name', async () => {
  const c = cluster({ sets: [], managers: bothManaged('All') });
  c.client.put(ControlPlaneMachineSet, controlPlane(awsSet('like')));
  await c.pass();
  assert.deepEqual(planeSpec(c.client)['ami'], { id: awsImage });
  const own = cluster({ sets: [], managers: bothManaged('All') });
  publishAmi(ec2, { id: oldAwsImage, owner: '123456789012' });
  own.client.put(ControlPlaneMachineSet, controlPlane(awsSet('like')));
  await own.pass();
  assert.deepEqual(planeSpec(own.client)['ami'], { id: oldAwsImage });
  const { kind, message } = own.last('cluster') as { readonly kind: string; readonly message: string };
  assert.equal(kind, 'skip');
  assert.match(message, /^controlplanemachineset cluster: image ami-.* belongs to account 123456789012/);
});

test('explain says what is seen and what would be changed; status asks nobody, and lets the operator’s word stand where only EC2 tells', async () => {
  const own = 'ami-00000000000000abc';
  const [old, sold] = ['ami-0000000000000000a', 'ami-0000000000000000b'];
  const sets = [awsSet('wk-a'), awsSet('wk-custom', { id: own }), awsSet('wk-sold', { id: old })];
  const c = cluster({ sets });
  publishAmi(ec2, { id: own, owner: '123456789012' });
  publishProduct(ec2, old, '9.6.20260110-0');
  publishProduct(ec2, sold, '9.6.20260210-0', { created: '2026-09-01T00:00:00.000Z' });
  const [set] = c.ports.world.machineSets();
  assert.ok(set !== undefined);
  const said = await explainSet(set, c.ports);
  assert.deepEqual([said.step, said.edits?.length, said.verified?.status], ['switch', 1, 'True']);

  const stand = async (images: readonly BootImage[]): Promise<readonly string[]> => {
    const { images: all } = await standings({
      ...{ world: c.ports.world, images, led: true, now: new Date(c.clock), architecture: 'x86_64' },
    });
    return all.map(
      ({ status }) => `${status?.set} ${status?.phase} ${status?.current} ${status?.target}: ${status?.progress}`,
    );
  };
  const calls = ec2.calls.length;
  assert.deepEqual(await stand([]), [
    `ms/wk-a Pending ${oldAwsImage} ${awsImage}: not looked at yet`,
    `ms/wk-custom Pending ${own} ${awsImage}: not looked at yet`,
    `ms/wk-sold Pending ${old} ${awsImage}: not looked at yet`,
  ]);
  assert.equal(ec2.calls.length, calls);
  await c.pass();
  const told = c.ports.world.machineSets().map((one) => ({ ...imageOf(one), status: statusOf(c, one.metadata.name) }));
  assert.deepEqual(await stand(told), [
    `ms/wk-a Current ${awsImage} ${awsImage}: -`,
    `ms/wk-custom Skipped ${own} ${awsImage}: skipped: custom image`,
    `ms/wk-sold Current ${sold} ${sold}: -`,
  ]);
  // Somebody else changed the image since: what was said is of another one.
  c.edit.set('wk-custom', () => awsSet('wk-custom'));
  assert.match((await stand(told))[1] ?? '', /^ms\/wk-custom Pending ami-0123456789abcdef0 .*: not looked at yet$/);
});
