import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, type BootImageStatus, ConfigMap, MachineSet } from '@drydock/api';
import { runPass } from '../pass/pass.ts';
import { createPassState } from '../pass/pass-state.ts';
import { awsOn, writeBootImages } from '../testing/aws-on.ts';
import { fakeEc2 } from '../testing/clouds/ec2.ts';
import type { Ec2State } from '../testing/clouds/ec2-state.ts';
import {
  awsImage,
  awsInfrastructure,
  awsSet,
  awsStream,
  furnishAws,
  oldAwsImage,
  publishAmi,
  publishProduct,
  rosa,
} from '../testing/fake-aws.ts';
import { type FakeCluster, fakeCluster } from '../testing/fake-cluster.ts';
import { redHatOwner } from './marketplace.ts';
import { platformWith } from './platform.ts';

const next = 'ami-0aaaaaaaaaaaaaaa1';
const own = 'ami-0aaaaaaaaaaaaaaa2';
const [sold, soldNext] = ['ami-0aaaaaaaaaaaaaaa3', 'ami-0aaaaaaaaaaaaaaa4'];
const key = { namespace: 'openshift-machine-api', name: 'wk-a' };

interface Rig {
  readonly cluster: FakeCluster;
  readonly ec2: Ec2State;
  /** A pass of a process that remembers nothing of those before. */
  readonly fresh: () => Promise<BootImageStatus>;
}

/** Each process asks EC2 by a platform of its own. */
function rig(ami: string): Rig {
  const { state, answer } = fakeEc2();
  const set = awsSet('wk-a', { id: ami }, {}, { uid: 'set-uid' });
  let aws = awsOn(answer);
  const platform = {
    ...platformWith(undefined),
    plan: (...asked) => aws.platform.plan(...asked),
  } as typeof aws.platform;
  const cluster = fakeCluster({ sets: [set], stream: awsStream, infrastructure: awsInfrastructure, platform });
  furnishAws(cluster.client, state);
  return {
    cluster,
    ec2: state,
    fresh: async () => {
      aws = awsOn(answer);
      const passes = createPassState(new Date(0));
      await runPass(writeBootImages(cluster), passes, { reason: 'Started', touched: 'all' });
      return cluster.client.peek(BootImage, { ...key, name: 'ms-wk-a' })?.status ?? assert.fail('no BootImage');
    },
  };
}

const amiOf = ({ cluster }: Rig): unknown =>
  cluster.client.peek(MachineSet, key)?.spec?.template?.spec?.providerSpec?.value?.['ami'];

function release(made: Rig, image: string, text: string = awsStream): void {
  const metadata = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
  made.cluster.client.put(ConfigMap, { metadata, data: { stream: text.replaceAll(awsImage, image) } });
}

test('what the operator has pointed a set at it knows to be Red Hat’s after a restart, without any right to look: the next release is followed', async () => {
  const made = rig(oldAwsImage);
  const moved = await made.fresh();
  assert.deepEqual([moved.phase, moved.current], ['Current', awsImage]);
  assert.deepEqual(moved.origins, [
    { image: oldAwsImage, owner: redHatOwner },
    { image: awsImage, owner: redHatOwner },
  ]);
  made.ec2.denied.add('DescribeImages');
  release(made, next);
  const status = await made.fresh();
  assert.deepEqual([status.phase, amiOf(made)], ['Current', { id: next }]);
  assert.match(status.conditions?.find(({ type }) => type === 'Verified')?.message ?? '', /missing: permission ec2/);
});

test('a set that has the image of its release is followed as well, although nobody ever might look: the release names that image', async () => {
  const made = rig(awsImage);
  made.ec2.denied.add('DescribeImages');
  assert.equal((await made.fresh()).phase, 'Current');
  release(made, next);
  assert.equal((await made.fresh()).phase, 'Current');
  assert.deepEqual(amiOf(made), { id: next });
});

test('a process that dies between the patch and the status has told before who published the new image', async () => {
  const made = rig(oldAwsImage);
  let before: BootImageStatus | undefined;
  made.cluster.client.refuse = (write) => {
    if (!write.startsWith('patch machinesets')) return undefined;
    before = made.cluster.client.peek(BootImage, { ...key, name: 'ms-wk-a' })?.status;
    return undefined;
  };
  await made.fresh();
  assert.ok(before?.origins?.some(({ image, owner }) => image === awsImage && owner === redHatOwner));
});

test('somebody’s own image stays so, also for a process that may not look any more; one that nobody has seen is left alone', async () => {
  const made = rig(own);
  publishAmi(made.ec2, { id: own, owner: '123456789012' });
  const seen = await made.fresh();
  assert.deepEqual([seen.reason, seen.origins], ['CustomImage', [{ image: own, owner: '123456789012' }]]);
  made.ec2.denied.add('DescribeImages');
  const later = await made.fresh();
  assert.equal(later.reason, 'CustomImage');
  made.cluster.edit.set('wk-a', () => awsSet('wk-a', { id: oldAwsImage }, {}, { uid: 'set-uid' }));
  const other = await made.fresh();
  assert.equal(other.reason, 'OwnerUnknown', 'what was known is of another image');
  assert.deepEqual(
    made.cluster.client.writes.filter((write) => write.startsWith('patch machinesets')),
    [],
  );
});

test('an image of a product is known as such when it is gone', async () => {
  const made = rig(sold);
  publishProduct(made.ec2, sold, '9.8.20260101-0', { product: rosa });
  const seen = await made.fresh();
  assert.deepEqual(seen.origins, [{ image: sold, owner: '679593333241', product: rosa }]);
  made.ec2.regions.get('us-east-1')?.delete(sold);
  publishProduct(made.ec2, soldNext, '9.8.20260110-0', { product: rosa });
  await made.fresh();
  assert.deepEqual(amiOf(made), { id: soldNext });
});

test('the BootImage of an earlier set of the same name proves nothing', async () => {
  const made = rig(oldAwsImage);
  await made.fresh();
  made.ec2.denied.add('DescribeImages');
  release(made, next);
  made.cluster.edit.set('wk-a', () => awsSet('wk-a', { id: awsImage }, {}, { uid: 'another-uid' }));
  assert.equal((await made.fresh()).reason, 'OwnerUnknown');
  assert.deepEqual(amiOf(made), { id: awsImage });
});
