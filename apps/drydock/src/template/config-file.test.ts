import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { configLayer, readConfig } from './config-file.ts';
import { trustOf } from './trust.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drydock-config-'));
});
after(() => rm(folder, { recursive: true }));

test('a config file is a layer; files that it names are relative to it', () => {
  const layer = readConfig(
    'url: vc.example\nfolder: /DC0/vm/x\nca: ca.pem\npasswordFile: ../secret\ninsecure: false\nstateDir: state\n',
    '/etc/drydock/template.yaml',
  );
  assert.deepEqual(layer, {
    origin: 'config file',
    url: 'vc.example',
    folder: '/DC0/vm/x',
    passwordFile: '/etc/secret',
    stateDir: '/etc/drydock/state',
    trust: { ca: ['/etc/drydock/ca.pem'], insecure: false },
  });
  assert.deepEqual(readConfig('', '/x.yaml'), { origin: 'config file', trust: {} });
});

test('what is wrong with a config file is said in words, without its content', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['password: hunter2', /it has a password; put that into a file/],
    ['url: u:hunter2@vc', /its url has a password/],
    ['datstore: x', /unknown key datstore; there are url, username/],
    ['insecure: 1', /insecure must be true or false/],
    ['folder: [a]', /folder must be a text/],
    ['folder: ""', /folder is empty/],
    ['- a', /it is not a list of "key: value" lines/],
    ['a: b: hunter2', /it is no YAML \(bad indentation of a mapping entry in line 1\)/],
  ];
  for (const [text, said] of cases) {
    assert.throws(
      () => readConfig(text, '/x.yaml'),
      (error: Error) => said.test(error.message) && !error.message.includes('hunter2'),
      text,
    );
  }
});

test('FIND-6 a map or a list where a text belongs is refused in words, whatever is in it', () => {
  const maps = ['{a: b}', '{}', '[{a: b}]', '{constructor: {name: {a: b}}}', '{toString: 1}', '{__proto__: null}'];
  for (const key of ['url', 'username', 'tag', 'insecure'])
    for (const map of maps)
      assert.throws(() => readConfig(`${key}: ${map}`, '/x.yaml'), {
        name: 'TemplateProblem',
        message: `the config file /x.yaml cannot be used: ${key} must be ${key === 'insecure' ? 'true or false' : 'a text'}`,
      });
});

test('a config file that is named must exist, the default one need not', async () => {
  const absent = join(folder, 'absent.yaml');
  assert.deepEqual(await configLayer(undefined, absent), { origin: 'config file' });
  await assert.rejects(configLayer(absent, absent), /absent\.yaml cannot be read/);
});

test('the strictest trust of a layer wins, and a SHA-1 fingerprint is refused', async () => {
  const pin = Array.from({ length: 32 }, () => 'AB').join(':');
  const known = join(folder, 'known_hosts');
  const ca = join(folder, 'ca.pem');
  await writeFile(known, `other.example ${pin.replaceAll('AB', 'CD')}\nVC.example:443 ${pin}\n`);
  await writeFile(ca, '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n');
  const url = 'https://vc.example/sdk';
  assert.deepEqual(await trustOf({ knownHosts: [join(folder, 'none'), known], ca: [ca], insecure: true }, url), {
    sha256Pin: pin,
  });
  assert.match((await trustOf({ ca: [ca], insecure: true }, url)).ca ?? '', /BEGIN CERTIFICATE/);
  assert.deepEqual(await trustOf({ knownHosts: [known], insecure: true }, 'https://new.example/sdk'), {
    insecure: true,
  });
  assert.deepEqual(await trustOf({}, url), {});
  await assert.rejects(trustOf({ thumbprint: pin.slice(0, 59) }, url), /SHA-1/);
  await assert.rejects(trustOf({ thumbprint: 'nonsense' }, url), /64 hex digits/);
  await assert.rejects(trustOf({ ca: [known] }, url), /holds no PEM certificate/);
});
