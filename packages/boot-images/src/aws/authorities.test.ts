import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BootImage, type BootImageStatus, ConfigMap, Secret } from '@drydock/api';
import { createAuthority } from '@drydock/sandbox';
import { cloudConfigKey } from '../observe/cloud-config.ts';
import { runPass } from '../pass/pass.ts';
import type { Platform } from '../platform.ts';
import { writeBootImages } from '../testing/aws-on.ts';
import { type FakeEc2, startEc2 } from '../testing/clouds/ec2.ts';
import { awsImage, awsInfrastructure, awsSecret, awsSet, awsStream, furnishAws } from '../testing/fake-aws.ts';
import { type FakeCluster, fakeCluster } from '../testing/fake-cluster.ts';
import { authoritiesReader } from './authorities.ts';
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

/** A cluster whose EC2 is signed by an authority that this process does not know. */
function cluster(): FakeCluster {
  const platform = awsPlatform({ env: ec2.options.env, bounds: { attempts: 1, exchangeMs: 20_000 } });
  opened.push(platform);
  const c = fakeCluster({ sets: [awsSet('wk-a')], stream: awsStream, infrastructure: awsInfrastructure, platform });
  furnishAws(c.client, ec2);
  return c;
}

async function passed(c: FakeCluster): Promise<BootImageStatus> {
  c.clock += 600_000;
  await runPass(writeBootImages(c), c.state, { reason: 'Test', touched: 'all' });
  const key = { namespace: 'openshift-machine-api', name: 'ms-wk-a' };
  return c.client.peek(BootImage, key)?.status ?? assert.fail('no BootImage');
}

const trust = (c: FakeCluster, pem: string): void =>
  c.client.put(ConfigMap, { metadata: cloudConfigKey, data: { 'ca-bundle.pem': pem } });

test('the authorities in kube-cloud-config are trusted as soon as they are there, by the same process, also where the security token service is asked first', async () => {
  for (const assumed of [false, true]) {
    const c = cluster();
    const reader = `role_arn = ${ec2.readerRole}\nexternal_id = ${ec2.externalId}\nsource_profile = base\n`;
    const { id, secret } = ec2.keys;
    const base = `aws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`;
    if (assumed) c.client.put(Secret, awsSecret({ credentials: `[default]\n${reader}[base]\n${base}` }));
    const failed = await passed(c);
    assert.deepEqual([failed.phase, failed.reason], ['Failed', 'CloudUnavailable']);
    assert.match(failed.message ?? '', /no complete answer \((?:SELF_SIGNED|UNABLE_TO|DEPTH_ZERO)\w+\)/);
    assert.match(failed.nextStep ?? '', /authorities/);
    trust(c, `# ours\n${createAuthority('another').certificate}\n${ec2.ca}`);
    const moved = await passed(c);
    assert.deepEqual([moved.phase, moved.current], ['Current', awsImage], String(moved.message));
  }
});

test('authorities that are taken away are trusted no more', async () => {
  const c = cluster();
  trust(c, ec2.ca);
  assert.equal((await passed(c)).phase, 'Current');
  trust(c, createAuthority('another').certificate);
  const status = await passed(c);
  assert.match(status.conditions?.find(({ type }) => type === 'Verified')?.message ?? '', /no complete answer/);
});

test('a bundle that cannot be read is named, and nothing is asked', async () => {
  for (const [pem, why] of [
    ['not PEM', 'has no certificate'],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'has a certificate that cannot be read'],
  ] as const) {
    const c = cluster();
    trust(c, pem);
    const { phase, reason, message = '' } = await passed(c);
    assert.deepEqual([phase, reason], ['Skipped', 'OwnerUnknown']);
    assert.match(
      message,
      /missing: a readable ca-bundle\.pem of ConfigMap openshift-config-managed\/kube-cloud-config/,
    );
    const found = authoritiesReader()(pem);
    assert.ok(found.kind === 'unverified' && found.message.endsWith(why), JSON.stringify(found));
  }
});

test('a bundle is read once, and another one is another version', () => {
  const read = authoritiesReader();
  const [one = '', two = ''] = ['one', 'two'].map((name) => createAuthority(name).certificate);
  const first = read(one);
  assert.equal(read(one), first);
  const second = read(two);
  assert.ok(first.kind === 'authorities' && second.kind === 'authorities' && first.version !== second.version);
  assert.deepEqual(read(undefined), { kind: 'authorities', pem: undefined, version: '' });
});
