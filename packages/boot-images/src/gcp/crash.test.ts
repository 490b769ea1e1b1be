import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Availability } from '../cloud/availability.ts';
import { type CloudCrash, exploreCloudCrashes } from '../testing/cloud-crash.ts';
import { gcpImage, gcpInfrastructure, gcpSet, gcpStream, rhcosCloud } from '../testing/fake-gcp.ts';
import { platformWith } from './platform.ts';

const available: Availability = { kind: 'available' };
const unverified: Availability = { kind: 'unverified', missing: 'permission compute.images.get', message: 'forbidden' };
const unusable: Availability = { kind: 'unusable', reason: 'ImageNotPublished', message: 'no image', nextStep: 'wait' };

const crash = (...answers: CloudCrash['answers']): CloudCrash => ({
  platform: (answer) => platformWith({ look: async () => answer() }),
  ...{
    infrastructure: gcpInfrastructure,
    stream: gcpStream,
    set: gcpSet('wk-a'),
    wanted: rhcosCloud(gcpImage),
    answers,
  },
});

for (const plane of [false, true])
  for (const [what, answers] of [
    ['an image that is there', [available]],
    ['an image that nobody may look at', [unverified]],
    ['an image that is not there', [unusable]],
    ['an image that is published later', [unusable, available]],
    ['a right that is granted later', [unverified, available]],
    ['an image that is withdrawn before it was used', [unusable, unusable, unverified]],
  ] as const) {
    const whose = plane ? 'of a control plane' : 'of a set';
    test(`a process dies before and after each of its writes, alone and in pairs: ${what} ${whose}`, async () => {
      const { places, scenarios } = await exploreCloudCrashes({
        ...crash(...(answers as CloudCrash['answers'])),
        plane,
      });
      // What waits has its BootImage and the conditions alone.
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

test('negative control: a set that is patched before its BootImage says what is known of the image is found', async () => {
  for (const plane of [false, true])
    await assert.rejects(
      exploreCloudCrashes({
        ...crash(unverified),
        plane,
        mistake: (ports) => ({
          ...ports,
          report: async (set, outcome) => (outcome.kind === 'step' ? undefined : ports.report(set, outcome)),
        }),
      }),
      /the set has projects\/rhcos-cloud\/.*, of which its BootImage says undefined/,
    );
});

test('negative control: a set that is pointed at an image that is known not to be there is found', async () => {
  const blind = crash(unusable);
  const platform: CloudCrash['platform'] = (answer) => {
    const seeing = blind.platform(answer);
    return { ...seeing, plan: platformWith(undefined).plan };
  };
  await assert.rejects(exploreCloudCrashes({ ...blind, platform }), /of which its BootImage says undefined/);
});
