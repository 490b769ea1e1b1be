import assert from 'node:assert/strict';
import { test } from 'node:test';
import { platformWith as aws } from '../aws/platform.ts';
import { platformWith as azure } from '../azure/platform.ts';
import { platformWith } from '../gcp/platform.ts';
import { isObject } from '../observe/json.ts';
import { parseStream } from '../observe/stream.ts';
import type { Platform, PlatformInput } from '../platform.ts';
import { awsInfrastructure, awsSet, awsStream } from '../testing/fake-aws.ts';
import { azureInfrastructure, azureSet, azureStream } from '../testing/fake-azure.ts';
import { gcpImage, gcpInfrastructure, gcpSet, gcpStream, oldGcpImage, rhcosCloud } from '../testing/fake-gcp.ts';
import type { Availability } from './availability.ts';

const there: Availability = { kind: 'available' };
const gone: Availability = {
  kind: 'unusable',
  reason: 'ImageWithdrawn',
  message: 'it is gone',
  nextStep: 'another one',
};

const awsWith = (found: Availability): Platform => aws({ look: async () => found } as never);
const azureWith = (found: Availability): Platform => azure({ look: async () => found });

const input = (pin: NonNullable<PlatformInput['pin']>): PlatformInput => {
  const set = gcpSet('wk-a');
  const spec: unknown = set.spec?.template?.spec?.providerSpec?.value;
  assert.ok(isObject(spec));
  const stream = parseStream(gcpStream);
  const rest = { infrastructure: gcpInfrastructure, cluster: 'c', secret: () => undefined, installConfig: undefined };
  return { set, spec, architecture: 'x86_64', stream, pin, ...rest };
};

test('a pinned set of a cloud is pointed at the image if it is still there, whatever the release has', async () => {
  const platform = platformWith({ look: async () => there });
  const image = rhcosCloud('rhcos-earlier');
  const plan = await platform.plan(input({ image }));
  assert.ok(plan.kind === 'switch');
  assert.deepEqual([plan.image.reference, plan.target, plan.verified?.status], [image, 'rhcos-earlier', 'True']);
  assert.ok(plan.image.edits.every(({ to, from }) => to === image && from === rhcosCloud(oldGcpImage)));
  const stays = await platform.plan(input({ image: rhcosCloud(oldGcpImage) }));
  assert.deepEqual([stays.kind, stays.target], ['current', oldGcpImage], `not ${gcpImage}, which the release has`);
});

test('OWN-18 pins on AWS and Azure: the earlier image where it is still there, blocked with what to do where it is not, refused where it is none', async () => {
  const earlierAmi = 'ami-0aaaaaaaaaaaaaaa1';
  const earlierUrn = 'azureopenshift:aro4:aro_417:417.94.20240101';
  const clouds = [
    {
      platform: awsWith,
      set: awsSet('wk-a'),
      stream: awsStream,
      infrastructure: awsInfrastructure,
      earlier: earlierAmi,
    },
    {
      platform: azureWith,
      set: azureSet('wk-a'),
      stream: azureStream,
      infrastructure: azureInfrastructure(),
      earlier: earlierUrn,
    },
  ];
  for (const { platform, set, stream: text, infrastructure, earlier } of clouds) {
    const spec: unknown = set.spec?.template?.spec?.providerSpec?.value;
    assert.ok(isObject(spec));
    const rest = { infrastructure, cluster: 'c', secret: () => undefined, installConfig: undefined };
    const asked = (pin: NonNullable<PlatformInput['pin']>): PlatformInput => ({
      ...{ set, spec, architecture: 'x86_64', stream: parseStream(text), pin, ...rest },
    });
    const plan = await platform(there).plan(asked({ image: earlier }));
    assert.ok(plan.kind === 'switch', `${plan.kind} for ${earlier}`);
    assert.deepEqual([plan.image.reference, plan.verified?.status, plan.image.edits.length], [earlier, 'True', 1]);
    await assert.rejects(platform(gone).plan(asked({ image: earlier })), {
      ...{ code: 'ImageWithdrawn', retriable: false, message: 'machineset wk-a is pinned to it: it is gone' },
      nextStep: undefined,
    });
    await assert.rejects(platform(there).plan(asked({ release: '9.6' })), { code: 'PinInvalid', retriable: false });
  }
});

test('a pin to an image that is gone blocks the set, and to what is none is refused', async () => {
  const platform = platformWith({ look: async () => gone });
  await assert.rejects(platform.plan(input({ image: rhcosCloud('rhcos-earlier') })), {
    ...{ code: 'ImageWithdrawn', retriable: false, message: 'machineset wk-a is pinned to it: it is gone' },
    nextStep: undefined,
  });
  await assert.rejects(platform.plan(input({ release: '9.6' })), { code: 'PinInvalid', retriable: false });
});
