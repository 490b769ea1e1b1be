import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stub22 } from '../testing/fake-cluster.ts';
import { convertStub } from './ignition.ts';

/** A stub of spec 2.2 with more in it. */
const with22 = (more: object): string => JSON.stringify({ ...(JSON.parse(stub22) as object), ...more });
const converted = (more: object): Record<string, unknown> => {
  const result = convertStub(with22(more), 'n');
  return result.kind === 'converted' ? (JSON.parse(result.text) as Record<string, unknown>) : {};
};

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

test('FIND-9 groups, raids and all members that both specs know are carried over', () => {
  const groups = [{ name: 'ops', gid: 900, passwordHash: 'x', system: true }, { name: 'more' }];
  const raid = [{ name: 'data', level: 'raid1', devices: ['/dev/a', '/dev/b'], spares: 0, options: ['--x'] }];
  const user = { name: 'core', uid: 1000, groups: ['ops'], homeDir: '/h', noCreateHome: true, shell: '/bin/sh' };
  const out = converted({ passwd: { groups, users: [user, { name: 'core', groups: ['wheel'] }] }, storage: { raid } });
  assert.deepEqual(out['passwd'], { groups, users: [{ ...user, groups: ['ops', 'wheel'] }] });
  assert.deepEqual(out['storage'], { raid });
  assert.deepEqual(converted({ passwd: { groups } })['passwd'], { groups });
});

for (const [member, more] of Object.entries({
  kernelArguments: { kernelArguments: { shouldExist: ['x'] } },
  'storage.luks': { storage: { luks: [] } },
  'storage.files\\[0\\].wipe': { storage: { files: [{ path: '/a', wipe: true }] } },
  'passwd.shadow': { passwd: { shadow: {} } },
  'passwd.groups\\[0\\].shouldExist': { passwd: { groups: [{ name: 'a', shouldExist: false }] } },
  'systemd.units\\[0\\].dropins\\[0\\].mode': {
    systemd: { units: [{ name: 'a', dropins: [{ name: 'b', mode: 1 }] }] },
  },
  'ignition.proxy': { ignition: { version: '2.2.0', proxy: { httpProxy: 'x' } } },
  'ignition.config.append\\[0\\].httpHeaders': {
    ignition: { version: '2.2.0', config: { append: [{ source: 'https://a', httpHeaders: [] }] } },
  },
}))
  test(`FIND-9 a member that Ignition 2.2 has not is refused by its name: ${member}`, () => {
    assert.throws(
      () => convertStub(with22(more), 'n'),
      (error: { readonly code?: string; readonly nextStep?: string; readonly message: string }) =>
        error.code === 'StubNotConvertible' &&
        new RegExp(`Ignition 2\\.2 has no ${member}`).test(error.message) &&
        error.nextStep?.includes('openshift-machine-api/n') === true,
    );
  });

test('FIND-9 what has another kind of value than belongs there is refused, and not taken for nothing', () => {
  for (const [place, more] of [
    ['storage.files', { storage: { files: { '/a': {} } } }],
    ['storage', { storage: [] }],
    ['passwd.groups[0]', { passwd: { groups: ['ops'] } }],
    ['passwd.groups[1]', { passwd: { groups: [{ name: 'ops' }, null] } }],
    ['passwd.users[0].sshAuthorizedKeys', { passwd: { users: [{ name: 'core', sshAuthorizedKeys: 'k' }] } }],
  ] as const)
    assert.throws(
      () => convertStub(with22(more), 'n'),
      ({ message }: Error) => message.includes(`failed: ${place}: another kind of value`),
      place,
    );
  assert.throws(() => converted({ systemd: { units: [{ enabled: true }] } }), /a unit without name/);
  assert.throws(() => converted({ passwd: { groups: [{ name: 'a' }, { name: 'a' }] } }), /passwd\.groups has a twice/);
  assert.throws(() => converted({ storage: { filesystems: [{}] } }), /storage\.filesystems of spec 2/);
  // Absent is what null means, and nothing is lost by it.
  assert.equal(converted({ storage: null, kernelArguments: null, passwd: { groups: null } })['storage'], undefined);
});

test('FIND-9 a stub that is nested deeply is converted or refused, and stops no process', () => {
  const deep = (open: string, close: string): string => `${open.repeat(200_000)}1${close.repeat(200_000)}`;
  assert.throws(() => convertStub(deep('[', ']'), 'n'), { code: 'StubInvalid' });
  const around = (member: string): string => `{"ignition":{"version":"2.2.0"},${member}}`;
  assert.throws(() => convertStub(around(`"x":${deep('{"a":', '}')}`), 'n'), { code: 'StubNotConvertible' });
  assert.equal(
    convertStub(around(`"storage":{"files":[{"path":"/a","mode":${deep('[', ']')}}]}`), 'n').kind,
    'converted',
  );
});

test('FIND-9 names of members are shown in part where there are many, or where they are long', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`m${at}\nnext: evil`, 1]));
  assert.throws(
    () => convertStub(with22({ ...many, ['x'.repeat(100_000)]: 1 }), 'n'),
    ({ message }: Error) => message.length < 800 && message.includes('and others') && !message.includes('\n'),
  );
});
