import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { Availability } from '../cloud/availability.ts';
import { type AskedOfAws, awsLookRig, awsSecrets, tokenFile } from '../testing/aws-look.ts';
import type { CloudFault } from '../testing/clouds/cloud-server.ts';
import { ec2Error, type FakeAmi } from '../testing/clouds/ec2.ts';
import {
  armImage,
  awsImage,
  awsInfrastructure,
  awsSecret,
  ocp,
  oldAwsImage,
  publishAmi,
  publishProduct,
  rosa,
  staticKeys,
} from '../testing/fake-aws.ts';

const CUSTOM = 'vpce-0a1.ec2.us-east-1.vpce.amazonaws.com';
const { ec2, newLook, inputOf, look, missing } = awsLookRig([CUSTOM]);
const available: Availability = { kind: 'available' };
const file = (credentials: string, more: Readonly<Record<string, string>> = {}): AskedOfAws => ({
  secrets: [awsSecret({ credentials, ...more })],
});
const web = (): string =>
  `[default]\nsts_regional_endpoints = regional\nrole_arn = ${ec2().role}\nweb_identity_token_file = ${tokenFile}\n`;

test('endpoints of Infrastructure are asked in place of AWS’s, in every region', async () => {
  const serviceEndpoints = [{ name: 'ec2', url: `https://${CUSTOM}` }];
  const aws = { region: 'us-east-1', serviceEndpoints };
  const infrastructure = { ...awsInfrastructure, status: { platformStatus: { type: 'AWS', aws } } };
  ec2().fault = ({ host }) => (host === CUSTOM ? undefined : 'reset');
  const refused = await look({ infrastructure }).catch((error: unknown) => error);
  assert.ok(ec2().hosts.has(CUSTOM));
  // The double has no images there: it was asked, and signed for the region of the set.
  assert.match(JSON.stringify(refused), /there is no image/);
});

const unusable: readonly (readonly [
  what: string,
  more: Partial<FakeAmi>,
  asked: AskedOfAws,
  reason: string,
  message: RegExp,
])[] = [
  [
    'not published',
    { id: oldAwsImage },
    {},
    'ImageNotPublished',
    /there is no image ami-0fbc8be8796dc1df5 in us-east-1/,
  ],
  ['not shared', { sharedWith: ['1'] }, {}, 'ImageNotPublished', /not shared with the account/],
  [
    'left out of the answer',
    { sharedWith: ['1'], hidden: 'left out' },
    {},
    'ImageNotPublished',
    /not shared with the account/,
  ],
  ['being made', { state: 'pending' }, {}, 'ImageNotReady', /is pending/],
  ['being copied', { state: 'transient' }, {}, 'ImageNotReady', /is transient/],
  [
    'failed',
    { state: 'failed', stateReason: { code: 'Client.X', message: 'no snap' } },
    {},
    'ImageWithdrawn',
    /is failed \(no snap\)/,
  ],
  ['deregistered', { state: 'deregistered' }, {}, 'ImageWithdrawn', /is deregistered/],
  ['disabled', { state: 'disabled' }, {}, 'ImageWithdrawn', /is disabled/],
  ['in a state that nobody knows', { state: 'odd\u001b[2J' }, {}, 'ImageWithdrawn', /is odd \[2J, and no machine/],
  [
    'of another architecture',
    { architecture: 'arm64' },
    {},
    'ImageIncompatible',
    /is for arm64, the machines are x86_64/,
  ],
  [
    'of this architecture for arm',
    {},
    { architecture: 'aarch64' },
    'ImageIncompatible',
    /is for x86_64, the machines are arm64/,
  ],
  [
    'for UEFI alone on another type',
    { bootMode: 'uefi' },
    { value: { instanceType: 'm4.large' } },
    'ImageIncompatible',
    /uefi alone, and machines of type m4\.large with legacy-bios/,
  ],
  [
    'for BIOS alone on another type',
    { bootMode: 'legacy-bios' },
    { value: { instanceType: 'u7i.metal' } },
    'ImageIncompatible',
    /legacy-bios alone/,
  ],
  [
    'without UEFI where confidential machines ask for it',
    { bootMode: 'legacy-bios' },
    { value: { cpuOptions: { confidentialCompute: 'AMDEncryptedVirtualizationNestedPaging' } } },
    'ImageIncompatible',
    /does not start with UEFI/,
  ],
];

for (const [what, more, asked, reason, message] of unusable) {
  test(`an image that is ${what} is known not to start`, async () => {
    ec2().regions.clear();
    publishAmi(ec2(), { id: awsImage, ...more });
    ec2().types.set('m4.large', { name: 'm4.large', bootModes: ['legacy-bios'] });
    ec2().types.set('u7i.metal', { name: 'u7i.metal', bootModes: ['uefi'] });
    // EC2 decides itself who sees a state.
    const found = await look(asked);
    assert.ok(found.kind === 'unusable', JSON.stringify(found));
    assert.equal(found.reason, reason);
    assert.match(found.message, message);
    assert.notEqual(found.nextStep, '');
  });
}

test('a deprecated image starts, and is named with its date; a type of which nothing is known stands in nobody’s way', async () => {
  publishAmi(ec2(), { id: awsImage, deprecated: '2026-01-02T03:04:00.000Z' });
  assert.deepEqual(await look(), {
    ...{ kind: 'available', note: 'is deprecated since 2026-01-02T03:04:00.000Z: its owner may withdraw it' },
  });
  for (const bootMode of ['uefi', 'legacy-bios', 'uefi-preferred']) {
    publishAmi(ec2(), { id: awsImage, bootMode });
    assert.deepEqual(await look({ value: { instanceType: 'x1.unknown' } }), available, bootMode);
    ec2().denied.add('DescribeInstanceTypes');
    assert.deepEqual(await look({ value: { instanceType: 'm4.large' } }), available, bootMode);
    ec2().denied.clear();
  }
});

test('a hundred ids cost one call, and one that is not there takes nothing from the others', async () => {
  const looking = newLook();
  const ids = Array.from({ length: 100 }, (_, n) => `ami-${n.toString(16).padStart(17, '0')}`);
  const gone = new Set([ids[7], ids[42], ids[99]]);
  for (const id of ids) if (!gone.has(id)) publishAmi(ec2(), { id });
  const calls = ec2().asked.length;
  const found = await Promise.all(ids.map((ami) => look({ ami }, looking)));
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ids.map((id) => (gone.has(id) ? 'unusable' : 'available')),
  );
  assert.equal(ec2().asked.length - calls, 2, 'the call that was refused, and the one without the three');
});

test('where EC2 does not say which ids it refuses, they are found by halves', async () => {
  const looking = newLook();
  const ids = Array.from({ length: 8 }, (_, n) => `ami-${n.toString(16).padStart(17, '0')}`);
  for (const id of ids.slice(1)) publishAmi(ec2(), { id });
  ec2().fault = ({ body }) =>
    body.includes(ids[0] ?? '') ? ec2Error(400, 'InvalidAMIID.Unavailable', 'Some image is not available') : undefined;
  const found = await Promise.all(ids.map((ami) => look({ ami }, looking)));
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ['unusable', ...Array.from({ length: 7 }, () => 'available')],
  );
});

test('no right: the permission is named', async () => {
  ec2().denied.add('DescribeImages');
  assert.match(await missing({}), /^permission ec2:DescribeImages: “You are not authorized/);
  ec2().fault = () => ec2Error(401, 'OptInRequired', 'You are not subscribed to this service');
  assert.match(await missing({}), /^an account that has enabled region us-east-1: /);
});

const later: readonly (readonly [what: string, fault: CloudFault])[] = [
  ['503', ec2Error(503, 'RequestLimitExceeded', 'Request limit exceeded.')],
  ['a limit that comes as 400', ec2Error(400, 'RequestLimitExceeded', 'Request limit exceeded.')],
  ['a truncated answer', 'truncated'],
  ['a reset', 'reset'],
  ['silence', 'hang'],
];
for (const [what, fault] of later) {
  test(`${what} is none of the answers: it is thrown, to be asked again, and tells no secret`, async () => {
    ec2().fault = () => fault;
    for (const asked of fault === 'hang' ? [{}] : [{}, file(web())])
      await assert.rejects(look(asked), (error: Error & { readonly code?: string; readonly retriable?: boolean }) => {
        assert.doesNotMatch(inspect(error, { depth: 8, showHidden: true }), awsSecrets);
        return error.code === 'CloudUnavailable' && error.retriable === true;
      });
  });
}

test('an answer that is none of the API, and one without an end, are no answer', async () => {
  for (const [body, why] of [
    ['', /no XML/],
    ['<html>', /no XML/],
    ['<a/>', /none to DescribeImages/],
    ['{}', /no XML/],
  ] as const) {
    ec2().fault = () => ({ status: 200, body });
    await assert.rejects(look(), ({ message }: Error) => why.test(message));
  }
  ec2().fault = () => 'endless';
  await assert.rejects(look(), ({ message }: Error) => /larger than/.test(message));
  ec2().fault = () => ({ status: 403, body: '<html>a proxy' });
  await assert.rejects(look(), ({ message }: Error) => /HTTP 403: HTTP 403/.test(message));
  ec2().fault = () => ec2Error(400, 'InvalidParameterValue', 'no');
  await assert.rejects(look(), ({ message }: Error) => /InvalidParameterValue: “no”/.test(message));
  const empty = {
    status: 200,
    body: '<DescribeImagesResponse><imagesSet/><nextToken>x</nextToken></DescribeImagesResponse>',
  };
  ec2().fault = () => empty;
  await assert.rejects(look(), ({ message }: Error) => /more than 20 pages/.test(message));
});

const product = { id: ocp, newest: [9, 8], region: 'us-east-1' } as const;

test('BI-V96 BI-V97 the images of a product are read over all pages, available ones of their owner alone', async () => {
  ec2().how.pageSize = 2;
  for (const [n, version] of [
    '9.4.20260101-0',
    '9.6.20260101-0',
    '9.8.20260101-0',
    '9.6.20260301-0',
    '10.0.20260101-0',
  ].entries())
    publishProduct(ec2(), `ami-0000000${n}`, version);
  publishProduct(ec2(), 'ami-000000a1', '9.8.20270101-0', { state: 'pending' });
  publishProduct(ec2(), 'ami-000000a2', '9.8.20270102-0', { owner: '123456789012' });
  publishProduct(ec2(), 'ami-000000a3', '9.8.20270103-0', { product: rosa });
  const chosen = await newLook().newest(inputOf({}), product, {});
  assert.ok(chosen.kind === 'image');
  assert.deepEqual([chosen.id, chosen.version], ['ami-00000002', '9.8.20260101-0']);
  ec2().regions.clear();
  assert.deepEqual(await newLook().newest(inputOf({}), product, {}), { kind: 'none', legacyOnly: false });
  ec2().denied.add('DescribeImages');
  assert.equal((await newLook().newest(inputOf({}), product, {})).kind, 'unverified');
});

test('BI-V101 [N] of a product with images for both architectures the one of the set is chosen', async () => {
  publishProduct(ec2(), 'ami-00000001', '9.8.20260801-0', { product: rosa });
  publishProduct(ec2(), armImage, '9.6.20260101-0', { product: rosa, architecture: 'arm64' });
  const found = await newLook().newest(inputOf({ architecture: 'aarch64' }), { ...product, id: rosa }, {});
  assert.ok(found.kind === 'image');
  assert.deepEqual([found.id, found.version], [armImage, '9.6.20260101-0']);
});

test('who published an image is known as long as the process lives, also when it is gone or may not be looked at', async () => {
  const looking = newLook();
  const current = { kind: 'ami', ami: {}, id: awsImage, region: 'us-east-1' } as const;
  const secret = (version: string): AskedOfAws => ({ secrets: [awsSecret(staticKeys(ec2()), version)] });
  const known = await looking.origin(inputOf(secret('1')), current, {});
  assert.equal(known.kind, 'known');
  ec2().denied.add('DescribeImages');
  assert.deepEqual(await looking.origin(inputOf(secret('2')), current, {}), known);
  assert.deepEqual(await looking.origin(inputOf({ secrets: [] }), current, {}), known);
  ec2().denied.clear();
  ec2().regions.clear();
  assert.deepEqual(await looking.origin(inputOf(secret('3')), current, {}), known);
  assert.equal((await newLook().origin(inputOf({}), current, {})).kind, 'absent');
});
