import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Availability } from '../cloud/availability.ts';
import { type CloudCrash, exploreCloudCrashes } from '../testing/cloud-crash.ts';
import { awsImage, awsInfrastructure, awsSet, awsStream, oldAwsImage } from '../testing/fake-aws.ts';
import type { Ec2Look } from './lookup.ts';
import { redHatOwner } from './marketplace.ts';
import { platformWith } from './platform.ts';

const available: Availability = { kind: 'available' };
const unverified: Availability = { kind: 'unverified', missing: 'permission ec2:DescribeImages', message: 'forbidden' };
const unusable: Availability = { kind: 'unusable', reason: 'ImageNotPublished', message: 'no image', nextStep: 'wait' };

/** The set has an image of Red Hat, as was seen once. */
const looking = (answer: () => Availability): Ec2Look => ({
  origin: async () => ({ kind: 'known', owner: redHatOwner }),
  look: async () => answer(),
  newest: () => assert.fail('no product is asked for'),
  foresee: () => undefined,
});

const crash = (...answers: CloudCrash['answers']): CloudCrash => ({
  platform: (answer) => platformWith(looking(answer)),
  ...{ infrastructure: awsInfrastructure, stream: awsStream, set: awsSet('wk-a'), wanted: awsImage, answers },
});

for (const [what, answers, plane] of [
  ['an image that is there', [available], false],
  ['an image that nobody may look at', [unverified], false],
  ['an image that is not there', [unusable], false],
  ['an image that is published later', [unusable, available], false],
  ['a right that is granted later', [unverified, available], false],
  ['an image that is withdrawn before it was used', [unusable, unusable, unverified], false],
  ['an image of a control plane that is there', [available], true],
  ['an image of a control plane that nobody may look at', [unverified], true],
  ['an image of a control plane that is not there', [unusable], true],
] as const) {
  test(`a process dies before and after each of its writes, alone and in pairs: ${what}`, async () => {
    const explored = { ...crash(...(answers as CloudCrash['answers'])), plane };
    const { places, scenarios } = await exploreCloudCrashes(explored);
    // The set that waits has its BootImage and the conditions alone.
    const few = answers[0].kind === 'unusable';
    const sets = plane ? 'controlplanemachinesets' : 'machinesets';
    for (const write of few ? ['bootimages', 'machineconfigurations'] : [sets, 'secrets', 'bootimages'])
      assert.ok(
        places.some((place) => place.split(' ').some((word) => word.startsWith(write))),
        `${write} in ${places.join()}`,
      );
    assert.ok(scenarios > places.length * places.length * 0.5, `${scenarios} histories`);
  });
}

test('negative control: a set that is pointed at an image that is known not to be there is found', async () => {
  const blind = crash(unusable);
  const platform: CloudCrash['platform'] = (answer) => {
    const seeing = blind.platform(answer);
    return {
      ...seeing,
      plan: async () => ({
        ...{ kind: 'switch', current: oldAwsImage, target: awsImage, hotLoopValue: awsImage },
        image: { edits: [{ path: ['ami'], from: { id: oldAwsImage }, to: { id: awsImage } }], reference: awsImage },
      }),
    };
  };
  await assert.rejects(exploreCloudCrashes({ ...blind, platform }), /of which its BootImage says undefined/);
});
