import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAddress } from './address.ts';
import { type CommonFlags, flagLayer } from './flags.ts';
import { environmentLayer } from './govc-environment.ts';
import { TemplateProblem } from './problem.ts';
import { type Layer, type Settings, settle } from './settings.ts';

const noFile: Layer = { origin: 'config file' };
const noFiles = (): string => {
  throw Object.assign(new Error('absent'), { code: 'ENOENT' });
};
function merged(flags: CommonFlags, env: Record<string, string> = {}, file: Layer = noFile): Settings {
  return settle([flagLayer(flags), environmentLayer(env, noFiles), file]);
}
const problem = (code: string) => (error: unknown) => error instanceof TemplateProblem && error.code === code;

test('addresses are read as govc does, and what is in them is told apart', () => {
  const cases: readonly (readonly [string, ReturnType<typeof readAddress>])[] = [
    ['vc.example', { url: 'https://vc.example/sdk' }],
    ['https://vc.example:8443/sdk/', { url: 'https://vc.example:8443/sdk' }],
    ['user:pass@vc.example', { url: 'https://vc.example/sdk', username: 'user', password: 'pass' }],
    ['https://CORP\\svc:p%40ss%3A@vc', { url: 'https://vc/sdk', username: 'CORP\\svc', password: 'p@ss:' }],
    ['https://a@corp.example:100%@vc', { url: 'https://vc/sdk', username: 'a@corp.example', password: '100%' }],
    ['[::1]:443', { url: 'https://[::1]/sdk' }],
  ];
  for (const [text, expected] of cases) assert.deepEqual(readAddress(text, 'GOVC_URL'), expected, text);
});

test('an address that cannot be read is refused without repeating it', () => {
  for (const text of ['http://vc', 'https://user:hunter2/x@vc', 'https://', 'user:hunter2@', 'user:hun ter2@v c']) {
    assert.throws(
      () => readAddress(text, 'GOVC_URL'),
      (error) => problem('ADDRESS_INVALID')(error) && !String(error).includes('hunter2'),
      text,
    );
  }
});

test('flags win over the environment, that over the file, each setting for itself', () => {
  const file: Layer = {
    origin: 'config file',
    url: 'file.example',
    username: 'f',
    passwordFile: '/f',
    folder: 'ff',
    owner: 'fo',
  };
  const env = { GOVC_USERNAME: 'e', GOVC_PASSWORD: 'ep', GOVC_FOLDER: 'ef', GOVC_DATASTORE: 'ds' };
  const settings = merged({ username: 'flag' }, env, file);
  const { url, username, password, folder, datastore, owner, origins } = settings;
  assert.deepEqual(
    { url, username, password, folder, datastore, owner },
    {
      url: 'https://file.example/sdk',
      username: 'flag',
      password: { value: 'ep' },
      folder: 'ef',
      datastore: 'ds',
      owner: 'fo',
    },
  );
  assert.deepEqual(origins, {
    url: 'config file',
    username: 'flags',
    password: 'environment',
    markKey: 'default',
    trust: 'default',
  });
});

test('the state folder is the one of the strongest layer, else one of this user', () => {
  const told = { url: 'u@vc', passwordFile: '/p' };
  const file: Layer = { origin: 'config file', stateDir: '/file' };
  assert.equal(merged({ ...told, stateDir: '/flag' }, {}, file).stateDir, '/flag');
  assert.equal(merged(told, {}, file).stateDir, '/file');
  assert.match(merged(told).stateDir, /^\/.*\/drydock$/);
});

test('a password in an address goes only to that address', () => {
  const env = { GOVC_URL: 'env-user:secret@env.example' };
  assert.deepEqual(merged({}, env).password, { value: 'secret' });
  assert.deepEqual(
    merged({}, { ...env, GOVC_USERNAME: 'other' }).username,
    'other',
    'GOVC_USERNAME wins, as with govc',
  );
  assert.throws(() => merged({ url: 'flag.example' }, env), problem('NO_CREDENTIALS'));
});

test('a password is never taken from the command line, and its absence is told', () => {
  assert.throws(() => merged({ url: 'a:b@vc' }), problem('PASSWORD_IN_FLAG'));
  assert.throws(() => merged({ url: 'vc', username: 'u' }), /there is no password/);
  assert.throws(() => merged({ url: 'vc', passwordFile: '/p' }), /there is no user name/);
  assert.throws(() => merged({}), problem('NO_VCENTER'));
  assert.deepEqual(merged({ url: 'u@vc', passwordFile: '/p' }).password, { file: '/p' });
});

test('trust is taken whole from the first layer that says anything about it', () => {
  const env = { GOVC_URL: 'u:p@vc', GOVC_INSECURE: '1', GOVC_TLS_CA_CERTS: '/a.pem:/b.pem' };
  assert.deepEqual(merged({}, env).trust, { ca: ['/a.pem', '/b.pem'], insecure: true });
  assert.deepEqual(
    merged({ thumbprint: 'ab' }, env).trust,
    { thumbprint: 'ab' },
    'the environment cannot loosen a pin',
  );
  assert.deepEqual(merged({}, { GOVC_URL: 'u:p@vc', GOVC_INSECURE: 'false' }).trust, {});
});

test('user and password may be files, as containers mount secrets', () => {
  const read = (path: string): string => (path === '/run/secrets/password' ? 'from file\n' : noFiles());
  const env = { GOVC_URL: 'vc', GOVC_USERNAME: '/not/there', GOVC_PASSWORD: '/run/secrets/password' };
  const { username, password } = environmentLayer(env, read);
  assert.deepEqual([username, password], ['/not/there', 'from file']);
});
