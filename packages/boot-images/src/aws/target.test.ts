import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImageError } from '../errors.ts';
import { parseStream } from '../observe/stream.ts';
import { armImage, awsImage, awsSet, awsStream, ocp, oldAwsImage, westImage } from '../testing/fake-aws.ts';
import { endpointOf, isRegion } from './endpoints.ts';
import { marketplaceOwner, redHatOwner } from './marketplace.ts';
import {
  type AwsDecision,
  type CurrentAmi,
  currentAmi,
  decideByOrigin,
  needsOf,
  originOf,
  streamAmi,
} from './target.ts';

const inputOf = (ami: unknown, value: Readonly<Record<string, unknown>> = {}, architecture: string = 'x86_64') => {
  const set = awsSet('wk-a', ami, value);
  return {
    set,
    spec: set.spec?.template?.spec?.providerSpec?.value ?? {},
    architecture,
    stream: parseStream(awsStream),
  };
};

function decide(
  owner: string,
  name: string = 'rhcos',
  region: string = 'us-east-1',
  stream: string = awsStream,
): AwsDecision {
  const current: CurrentAmi = { kind: 'ami', ami: { id: oldAwsImage }, id: oldAwsImage, region };
  return decideByOrigin(
    { ...inputOf({ id: oldAwsImage }), stream: parseStream(stream) },
    current,
    originOf({ owner, name }),
  );
}

/** Reason of a skip, or what it becomes. */
const shown = (decision: AwsDecision): string =>
  decision.kind === 'skip' ? `skip ${decision.counted} ${decision.reason}` : JSON.stringify(decision);

test('BI-V86 an image of Red Hat becomes the stream’s of its region and architecture', () => {
  assert.deepEqual(decide(redHatOwner), { kind: 'stream', target: awsImage });
  assert.deepEqual(decide(redHatOwner, '', 'us-west-2'), { kind: 'stream', target: westImage });
  assert.equal(streamAmi(inputOf({}, {}, 'aarch64'), 'us-east-1'), armImage);
});

test('BI-V88 a region that is not in the stream is skipped, and said', () => {
  const decision = decide(redHatOwner, '', 'us-iso-east-1');
  assert.equal(shown(decision), 'skip true NotInStream');
  assert.ok(decision.kind === 'skip');
  assert.equal(decision.message, 'machineset wk-a: rhcos-4.22 has no x86_64 image in us-iso-east-1');
  for (const region of ['constructor', '__proto__', 'image']) assert.equal(streamAmi(inputOf({}), region), undefined);
});

test('BI-V89 BI-V102 an image of any other account is somebody’s own, whatever its name', () => {
  for (const [owner, name] of [
    ['123456789012', `rhcos-x86_64-9-6-20260210-0-${ocp}`],
    ['123456789012', 'rhcos'],
    [marketplaceOwner, 'rhcos-419-94-202504151514-0-x86_64'],
    ['', ''],
  ] as const)
    assert.equal(shown(decide(owner, name)), 'skip true CustomImage', `${owner} ${name}`);
});

test('BI-V92 an image of the marketplace goes by the release of the stream, which must have a version', () => {
  const name = `rhcos-x86_64-9-6-20260210-0-${ocp}`;
  assert.deepEqual(decide(marketplaceOwner, name), { kind: 'product', product: ocp, newest: [9, 8] });
  for (const release of ['""', '"9"', 'null']) {
    const stream = awsStream.replaceAll('"aws":{"release":"9.8.20260802-0"', `"aws":{"release":${release}`);
    assert.throws(
      () => decide(marketplaceOwner, name, 'us-east-1', stream),
      (error) =>
        error instanceof BootImageError && error.code === 'StreamInvalid' && /no major and minor/.test(error.message),
    );
  }
});

test('a set without an id, with one that is none, or without a region, is skipped before anybody is asked', () => {
  for (const [ami, value, reason] of [
    [{ arn: 'arn:aws:ec2:us-east-1::image/x' }, {}, 'CustomImage'],
    [{ filters: [{ name: 'tag:a', values: ['b'] }] }, {}, 'CustomImage'],
    [{}, {}, 'CustomImage'],
    [null, {}, 'CustomImage'],
    [{ id: 'ami-fake' }, {}, 'CustomImage'],
    [{ id: 'AMI-0123456789abcdef0' }, {}, 'CustomImage'],
    [{ id: oldAwsImage }, { placement: {} }, 'RegionUnknown'],
    [{ id: oldAwsImage }, { placement: null }, 'RegionUnknown'],
    [{ id: oldAwsImage }, { placement: { region: 'evil.example/' } }, 'RegionUnknown'],
  ] as const) {
    const current = currentAmi(inputOf(ami, value));
    assert.ok(current.kind === 'skip', JSON.stringify(ami));
    assert.deepEqual([current.reason, current.counted], [reason, true]);
    assert.notEqual(current.nextStep, undefined);
  }
});

test('a spec that machine-api could not read either is an error; a text that can name nothing is not shown', () => {
  for (const [ami, value, code] of [
    ['ami-1', {}, 'ProviderSpecInvalid'],
    [[], {}, 'ProviderSpecInvalid'],
    [{ id: 7 }, {}, 'ProviderSpecInvalid'],
    [{ id: oldAwsImage }, { placement: 'here' }, 'ProviderSpecInvalid'],
    [{ id: oldAwsImage }, { placement: { region: [] } }, 'ProviderSpecInvalid'],
    [{ id: 'x'.repeat(2 << 20) }, {}, 'NameUnusable'],
    [{ id: 'ami-\u0000' }, {}, 'NameUnusable'],
  ] as const)
    assert.throws(
      () => currentAmi(inputOf(ami, value)),
      (error) => error instanceof BootImageError && error.code === code && error.message.length < 300,
    );
});

test('a stream whose image is no id is an error', () => {
  for (const image of ['"latest"', '7', '{}', '""']) {
    const stream = parseStream(awsStream.replaceAll(`"${awsImage}"`, image));
    assert.throws(
      () => streamAmi({ stream, architecture: 'x86_64' }, 'us-east-1'),
      /image 'aws' of us-east-1 is no id/,
    );
  }
});

test('needs: architecture, a type that can be asked about, and what asks for UEFI', () => {
  const confidentialCompute = 'AMDEncryptedVirtualizationNestedPaging';
  assert.deepEqual(needsOf(inputOf({}, { cpuOptions: { confidentialCompute } }, 'aarch64')), {
    ...{
      architecture: 'aarch64',
      instanceType: 'm6i.xlarge',
      uefi: `cpuOptions.confidentialCompute: ${confidentialCompute}`,
    },
  });
  for (const instanceType of [undefined, '', 7, 'a b', '*.*', 'x'.repeat(100)])
    assert.deepEqual(needsOf(inputOf({}, { instanceType })), {
      ...{ architecture: 'x86_64', instanceType: undefined, uefi: undefined },
    });
});

test('a service is where AWS has it in the partition of the region, unless Infrastructure says otherwise', () => {
  for (const [region, url] of [
    ['us-east-1', 'https://ec2.us-east-1.amazonaws.com/'],
    ['us-gov-west-1', 'https://ec2.us-gov-west-1.amazonaws.com/'],
    ['cn-north-1', 'https://ec2.cn-north-1.amazonaws.com.cn/'],
    ['us-iso-east-1', 'https://ec2.us-iso-east-1.c2s.ic.gov/'],
    ['us-isob-east-1', 'https://ec2.us-isob-east-1.sc2s.sgov.gov/'],
    ['eusc-de-east-1', 'https://ec2.eusc-de-east-1.amazonaws.eu/'],
  ] as const) {
    assert.ok(isRegion(region));
    assert.equal(endpointOf('ec2', region, {}), url);
  }
  const serviceEndpoints = [{ name: 'ec2', url: 'https://vpce-1.example' }];
  const own = { status: { platformStatus: { type: 'AWS', aws: { serviceEndpoints } } } };
  assert.equal(endpointOf('ec2', 'us-east-1', own), 'https://vpce-1.example/');
  assert.equal(endpointOf('sts', 'us-east-1', own), 'https://sts.us-east-1.amazonaws.com/');
  for (const none of ['', 'us-east-1.evil.example', 'us_east_1', '127.0.0.1', 'US-EAST-1'])
    assert.equal(isRegion(none), false, none);
});
