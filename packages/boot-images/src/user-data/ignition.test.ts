import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stub22 } from '../testing/fake-cluster.ts';
import { convertStub } from './ignition.ts';

test('BI-V166 BI-V167 user data of a wrong shape is an error with a text, never a crash', () => {
  const said = (text: string): string => {
    try {
      return convertStub(text, 'n').kind;
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const text of ['{"ignition":{"version":3}}', '[]', '"x"', 'null', '{"ignition":[]}']) {
    assert.match(said(text), /^failed to find version field in ignition \(user data secret n\): /);
  }
  assert.match(said(''), /^failed to unmarshal decoded user-data to json \(secret n\): unexpected end of JSON inputt$/);
  assert.match(said('{'), /^failed to unmarshal decoded user-data to json \(secret n\): .*t$/s);
  assert.match(said('{}'), /parsing Ignition config failed: invalid version\. Supported spec versions: 2\.2,3\.0/);
  assert.equal(said('{"ignition":{"version":"3.0.0"}}'), 'current');
});

test('what cannot be read is told without a word of it: user data holds keys and passwords', () => {
  for (const text of [
    'hunter2',
    '{"passwd": hunter2}',
    '{"ignition":{"version":{"hunter2":"hunter2"}}}',
    '{} hunter2',
  ]) {
    assert.throws(
      () => convertStub(text, 'n'),
      (error: Error) => !error.message.includes('hunter') && error.cause === undefined,
    );
  }
});

test('a hand-made spec 2 config is carried over, and what spec 3 cannot say is refused by name', () => {
  const convert = (more: object): Record<string, unknown> => {
    const result = convertStub(JSON.stringify({ ...(JSON.parse(stub22) as object), ...more }), 'n');
    return result.kind === 'converted' ? (JSON.parse(result.text) as Record<string, unknown>) : {};
  };
  const files = [
    { filesystem: 'root', path: '/a', contents: { source: 'data:,1' } },
    { filesystem: 'root', path: '/a', contents: { source: 'data:,2' } },
  ];
  assert.deepEqual(convert({ storage: { files } })['storage'], {
    files: [{ path: '/a', overwrite: true, contents: { source: 'data:,2' } }],
  });
  assert.deepEqual(convert({ passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['k'] }] } })['passwd'], {
    users: [{ name: 'core', sshAuthorizedKeys: ['k'] }],
  });
  assert.throws(() => convert({ networkd: { units: [{}] } }), /converting ignition stub failed: networkd/);
  assert.throws(() => convert({ passwd: { users: [{ name: 'joe' }] } }), /only core is supported/);
  assert.equal(convert({})['networkd'], undefined);
});
