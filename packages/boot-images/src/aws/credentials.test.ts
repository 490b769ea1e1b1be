import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Availability } from '../cloud/availability.ts';
import { type AskedOfAws, awsLookRig, tokenFile } from '../testing/aws-look.ts';
import { ec2Error } from '../testing/clouds/ec2.ts';
import { awsSecret, oldAwsImage, publishAmi, staticKeys } from '../testing/fake-aws.ts';

const { ec2, newLook, look, missing } = awsLookRig();
const available: Availability = { kind: 'available' };
const file = (credentials: string, more: Readonly<Record<string, string>> = {}): AskedOfAws => ({
  secrets: [awsSecret({ credentials, ...more })],
});
const web = (): string =>
  `[default]\nsts_regional_endpoints = regional\nrole_arn = ${ec2().role}\nweb_identity_token_file = ${tokenFile}\n`;
const keys = (): string => `aws_access_key_id = ${ec2().keys.id}\naws_secret_access_key = ${ec2().keys.secret}\n`;
const reader = (source: string): string =>
  `role_arn = ${ec2().readerRole}\nexternal_id = ${ec2().externalId}\nsource_profile = ${source}\n`;

test('an image is looked at by static keys, by web identity, and by roles that assume one another', async () => {
  for (const [what, asked] of Object.entries<AskedOfAws>({
    'static keys': {},
    'static keys in the file alone': file(`[default]\n${keys()}`),
    'web identity in the file': file(web()),
    'web identity in keys of the Secret': {
      secrets: [awsSecret({ role_arn: ec2().role, web_identity_token_file: tokenFile })],
    },
    'a role by static keys': file(`[default]\n${reader('base')}[base]\n${keys()}`, { aws_access_key_id: 'x' }),
    'a role by its own keys': file(`[default]\n${reader('default')}${keys()}`),
    'a role by web identity': file(`${web().replace('default', 'profile base')}\n[default]\n${reader('base')}`),
  }))
    assert.deepEqual(await look(asked), available, what);
  assert.ok(ec2().hosts.has('sts.us-east-1.amazonaws.com'));
});

test('a session and an answer are asked for once, by all who ask; a Secret that changed is taken up', async () => {
  const looking = newLook();
  const calls = ec2().calls.length;
  const asked = file(web());
  await Promise.all([look(asked, looking), look(asked, looking), look(asked, looking)]);
  assert.equal(ec2().calls.length - calls, 2);
  await look({ secrets: [awsSecret({ credentials: web() }, '2')] }, looking);
  assert.equal(ec2().calls.length - calls, 4);
});

test('Secrets that are missing, half-filled, of another form, or no longer accepted: what is missing is named', async () => {
  const { aws_access_key_id: id = '', aws_secret_access_key: secret = '' } = staticKeys(ec2());
  const data = (of: Readonly<Record<string, string>>): AskedOfAws => ({ secrets: [awsSecret(of)] });
  assert.match(
    await missing({ secrets: [] }),
    /^Secret drydock\/drydock-cloud-credentials or openshift-machine-api\/aws-/,
  );
  for (const [asked, why] of [
    [data({}), /contains neither static credentials \(aws_access_key_id\/aws_secret_access_key\) nor STS credentials/],
    [data({ aws_access_key_id: id }), /lacks aws_secret_access_key/],
    [data({ aws_secret_access_key: secret }), /lacks aws_access_key_id/],
    [data({ aws_access_key_id: `${id}\r\nx: y`, aws_secret_access_key: secret }), /an aws_access_key_id that is none/],
    [data({ role_arn: ec2().role }), /neither static credentials/],
    [data({ role_arn: 'reader', web_identity_token_file: tokenFile }), /a role_arn that names no role/],
    [file('[other]\nrole_arn = x'), /neither static credentials/],
    [file('[default]\n'), /lacks aws_access_key_id/],
    [
      file(`[default]\nrole_arn = ${ec2().role}\ncredential_process = /bin/keys\n`),
      /programs and metadata services are not asked/,
    ],
    [file(`[default]\n${reader('none')}`), /a source_profile that is not in key credentials/],
    [file(`[default]\n${reader('a')}[a]\n${reader('default')}`), /in a circle/],
    [file(web().replace(tokenFile, '/var/run/secrets/none')), /no token is projected at/],
    [
      file(web().replace('role/drydock', 'role/other')),
      /^permission sts:AssumeRoleWithWebIdentity on arn:aws:iam::210987654321:role\/other: /,
    ],
    [
      file(`[default]\n${reader('base').replace(ec2().externalId, 'no')}[base]\n${keys()}`),
      /^permission sts:AssumeRole on/,
    ],
  ] as const)
    assert.match(await missing(asked), why);
  ec2().how.keysAccepted = false;
  assert.match(await missing({}), /^valid credentials: EC2 refused them: “AWS was not able to validate/);
  assert.match(
    await missing(file(`[default]\n${reader('base')}[base]\n${keys()}`)),
    /^valid credentials: .*InvalidClientTokenId/,
  );
});

test('machine-api’s static keys are used, its tokens never', async () => {
  const named = (data: Readonly<Record<string, string>>): AskedOfAws => ({
    secrets: [
      {
        ...awsSecret(data),
        metadata: {
          namespace: 'openshift-machine-api',
          name: 'aws-cloud-credentials',
          uid: 'other',
          resourceVersion: '1',
        },
      },
    ],
  });
  assert.deepEqual(await look(named(staticKeys(ec2()))), available);
  const calls = ec2().calls.length;
  for (const data of [
    { credentials: web() },
    { role_arn: ec2().role, web_identity_token_file: tokenFile },
    { credentials: `${web().replace('default', 'base')}[default]\n${reader('base')}` },
  ])
    assert.match(await missing(named(data)), /has no static keys, and its tokens are machine-api's own/);
  assert.equal(ec2().calls.length, calls);
});

test('a session that was ended is replaced once', async () => {
  const looking = newLook();
  await look(file(web()), looking);
  ec2().revoke();
  publishAmi(ec2(), { id: oldAwsImage });
  assert.deepEqual(await look({ ...file(web()), ami: oldAwsImage }, looking), available);
  ec2().fault = ({ host }) => (host.startsWith('ec2.') ? ec2Error(400, 'ExpiredToken', 'expired') : undefined);
  assert.match(await missing(file(web())), /^valid credentials: EC2 refused them: “expired/);
});
