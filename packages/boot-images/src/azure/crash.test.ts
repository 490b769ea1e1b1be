import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Availability } from '../cloud/availability.ts';
import { type CloudCrash, exploreCloudCrashes } from '../testing/cloud-crash.ts';
import { aro, azureInfrastructure, azureSet, azureStream, urnOf } from '../testing/fake-azure.ts';
import { platformWith } from './platform.ts';

const available: Availability = { kind: 'available' };
const unverified: Availability = { kind: 'unverified', missing: 'permission Microsoft.Compute', message: 'forbidden' };
const unusable: Availability = { kind: 'unusable', reason: 'ImageNotPublished', message: 'no image', nextStep: 'wait' };
const terms: Availability = { ...unusable, reason: 'ImageTermsNotAccepted', message: 'not accepted' };

const crash = (...answers: CloudCrash['answers']): CloudCrash => ({
  platform: (answer) => platformWith({ look: async () => answer() }),
  ...{ infrastructure: azureInfrastructure(), stream: azureStream, set: azureSet('wk-a') },
  ...{ wanted: urnOf(aro('419-v2')), answers },
});

for (const [what, answers, plane] of [
  ['an image that is there', [available], false],
  ['an image that nobody may look at', [unverified], false],
  ['an image that is not there', [unusable], false],
  ['terms that are accepted later', [terms, available], false],
  ['a right that is granted later', [unverified, available], false],
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

test('negative control: a set that is pointed at an image that is known not to start is found', async () => {
  const blind = crash(terms);
  const platform: CloudCrash['platform'] = (answer) => ({
    ...blind.platform(answer),
    plan: platformWith(undefined).plan,
  });
  await assert.rejects(exploreCloudCrashes({ ...blind, platform }), /of which its BootImage says undefined/);
});
