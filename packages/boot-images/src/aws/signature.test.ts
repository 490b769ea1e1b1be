import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { type AwsKeys, signedHeaders, type UnsignedForm } from './signature.ts';

const keys: AwsKeys = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const form: UnsignedForm = {
  ...{ url: 'https://example.amazonaws.com/', body: 'Param1=value1', service: 'service', region: 'us-east-1' },
  at: new Date('2015-08-30T12:36:00Z'),
};

test('a form is signed as the published test suite of Signature Version 4 has it (post-x-www-form-urlencoded)', () => {
  const { authorization, 'x-amz-date': date } = signedHeaders(form, keys);
  assert.equal(date, '20150830T123600Z');
  assert.equal(
    authorization,
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  );
});

/** The signer of Amazon's own library for Python, asked to sign the same at the same time. */
const ORACLE = `
import sys, json, datetime
import botocore.auth, botocore.compat
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
given = json.load(sys.stdin)
at = datetime.datetime.strptime(given['at'], '%Y-%m-%dT%H:%M:%S.%fZ')
for module in [botocore.auth, botocore.compat]:
    if hasattr(module, 'get_current_datetime'): module.get_current_datetime = lambda *_, **__: at
class Clock(datetime.datetime):
    @classmethod
    def utcnow(cls): return at
botocore.auth.datetime = type('m', (), {'datetime': Clock}) if hasattr(botocore.auth.datetime, 'datetime') else Clock
signed = []
for one in given['calls']:
    request = AWSRequest(method='POST', url=one['url'], data=one['body'], headers={'content-type': 'application/x-www-form-urlencoded'})
    credentials = Credentials(one['id'], one['secret'], one.get('token'))
    botocore.auth.SigV4Auth(credentials, one['service'], one['region']).add_auth(request)
    signed.append(request.headers['Authorization'])
print(json.dumps(signed))
`;
const oracle = spawnSync('python3', ['-c', 'import botocore'], { encoding: 'utf8' }).status === 0;

test('the library of Amazon signs the same', { skip: oracle ? false : 'there is no botocore for python3' }, () => {
  const calls = [
    { ...form, ...keys },
    { ...form, ...keys, token: 'session//token+1=', url: 'https://vpce-1.ec2.eu-west-1.vpce.amazonaws.com:8443/a/b' },
    { ...form, ...keys, service: 'sts', region: 'cn-north-1', url: 'https://sts.cn-north-1.amazonaws.com.cn/' },
    { ...form, ...keys, body: new URLSearchParams({ Action: 'a b', 'Filter.1': '*é~&=/' }).toString() },
  ];
  const input = JSON.stringify({ at: form.at.toISOString(), calls });
  const { stdout, stderr } = spawnSync('python3', ['-c', ORACLE], { input, encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  const ours = calls.map((call) => signedHeaders(call, call)['authorization']);
  assert.deepEqual(ours, JSON.parse(stdout));
});
