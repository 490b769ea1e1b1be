import assert from 'node:assert/strict';
import { readYamlDocument } from '@drydock/api/yaml';
import { BootImageError } from '@drydock/boot-images';
import { parseStream, type Stream } from '../../../packages/boot-images/src/observe/stream.ts';
import { convertStub, type StubResult, stubVersion } from '../../../packages/boot-images/src/user-data/ignition.ts';
import { diskTypeFor } from '../../../packages/boot-images/src/vsphere/install-config.ts';
import { type Format, growing, type Hostile, pieces, SECRET } from '../format.ts';

const refuses = (error: unknown): boolean => error instanceof BootImageError;
const JSON_PIECES = ['{', '}', '[', ']', ':', ',', '"', '\\', 'null', 'true', '0', '""', '[]', '{}'];
const ARTIFACT = '{"release":"9.8","formats":{"ova":{"disk":{"location":"https://a/b.ova","sha256":"ABCD"}}}}';

/** Metadata of CoreOS in the golden ConfigMap. */
export const stream: Format<Stream> = {
  name: 'stream metadata',
  examples: [
    `{"stream":"rhcos","architectures":{"x86_64":{"artifacts":{"vmware":${ARTIFACT},"aws":{"release":"1"}}}}}`,
    `{"architectures":{"x86_64":{"artifacts":{"vmware":${ARTIFACT}}},"aarch64":{}},"metadata":{"x":[1,2]}}`,
  ],
  pieces: [
    ...JSON_PIECES,
    '"x86_64":',
    '"artifacts":',
    '"vmware":',
    '"formats":',
    '"disk":',
    '"location":',
    '"sha256":',
  ],
  nest: ['{"x86_64":', '}'],
  read: (bytes) => parseStream(bytes.toString()),
  refuses,
  check: (read, bytes) => {
    const disk = read.disk('x86_64', 'vmware', 'ova');
    assert.ok(disk === undefined || (disk.sha256 === disk.sha256.toLowerCase() && disk.location !== ''));
    const text = bytes.toString();
    if (text.includes('\\')) return;
    const at = (value: unknown, ...keys: string[]): unknown =>
      keys.reduce(
        (of, key) =>
          typeof of === 'object' && of !== null && !Array.isArray(of) && Object.hasOwn(of, key)
            ? (of as Record<string, unknown>)[key]
            : undefined,
        value,
      );
    const second = at(JSON.parse(text), 'architectures', 'x86_64', 'artifacts', 'vmware');
    const [location, sha256] = ['location', 'sha256'].map((key) => at(second, 'formats', 'ova', 'disk', key));
    const whole = [location, sha256].every((one) => typeof one === 'string' && one !== '');
    assert.deepEqual(disk, whole ? { location, sha256: String(sha256).toLowerCase() } : undefined);
    const release = at(second, 'release');
    assert.equal(read.release('x86_64', 'vmware'), typeof release === 'string' && release !== '' ? release : undefined);
  },
};

const stub = (more: string, version = '2.2.0'): string => `{"ignition":{"version":"${version}"${more}}`;

/** User data of machines: keys, passwords and certificates are in it. */
export const ignition: Format<StubResult> = {
  name: 'user data',
  examples: [
    stub(
      `,"config":{"append":[{"source":"https://a:22623/config/worker?token=${SECRET}"}]},"security":{"tls":{"certificateAuthorities":[{"source":"data:,${SECRET}"}]}}}}`,
    ),
    stub(
      `},"passwd":{"users":[{"name":"core","passwordHash":"${SECRET}","sshAuthorizedKeys":["ssh-rsa ${SECRET}"]}]}`,
      '2.1.0',
    ),
    stub(
      `},"storage":{"files":[{"path":"/etc/a","filesystem":"root","mode":420,"contents":{"source":"data:,${SECRET}"}}]}`,
    ),
    stub(
      `},"systemd":{"units":[{"name":"a.service","enable":true,"contents":"${SECRET}"},{"name":"a.service","dropins":[{"name":"b"}]}]}`,
    ),
    stub(`},"storage":{"links":[{"path":"/l","target":"/etc/a"}],"directories":[{"path":"/d"}]}`, '3.2.0'),
  ],
  pieces: [
    ...JSON_PIECES,
    '"2.2.0"',
    '"3.0.0"',
    '"2.9.0"',
    '"files":',
    '"users":',
    '"append":',
    '"disks":[{}]',
    '"networkd":{"units":[{}]}',
    '"create":{}',
    '"filesystem":"x"',
  ],
  nest: ['{"users":[', ']}'],
  read: (bytes) => convertStub(bytes.toString(), 'worker-user-data'),
  refuses,
  check: (result, bytes) => {
    if (result.kind === 'current') return;
    const { ignition: said } = JSON.parse(result.text) as { readonly ignition: { readonly version: string } };
    assert.equal(said.version, stubVersion);
    assert.deepEqual(convertStub(result.text, 'worker-user-data'), { kind: 'current' });
    // What a machine trusts and asks comes over as it was, and nothing comes from elsewhere.
    const text = bytes.toString();
    if (text.includes('\\')) return;
    const sources = (root: unknown): readonly unknown[] => {
      const found: unknown[] = [];
      for (const left = [root]; left.length > 0; )
        for (const [key, value] of Object.entries(left.pop() ?? {}))
          if (key === 'source') found.push(value);
          else if (typeof value === 'object') left.push(value);
      return found;
    };
    const before = new Set(sources(JSON.parse(text)).map((one) => JSON.stringify(one)));
    for (const source of sources(JSON.parse(result.text)))
      assert.ok(before.has(JSON.stringify(source)), String(source));
  },
};

/** The installer's configuration, which has the password of vCenter. */
export const installConfig: Format<string> = {
  name: 'install-configs',
  examples: [
    `platform:\n  vsphere:\n    diskType: thin\n    vcenters:\n    - {server: a, user: b, password: "${SECRET}"}\npullSecret: '${SECRET}'\n`,
    `{"platform":{"vsphere":{"diskType":"eagerZeroedThick","password":"${SECRET}"}}}`,
  ],
  pieces: [
    ': ',
    '- ',
    '&a ',
    '*a',
    '!t ',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    '\n',
    'platform:',
    'diskType: thick',
    '|',
    '<<: ',
  ],
  nest: ['[', ']'],
  read: (bytes) => diskTypeFor('rhcos', { data: { 'install-config': bytes.toString() } } as never),
  refuses,
  check: (type, bytes) => {
    const at = (of: unknown, key: string): unknown => Object(of)[key] as unknown;
    const said = at(at(at(readYamlDocument(bytes.toString()), 'platform'), 'vsphere'), 'diskType');
    assert.equal(type, typeof said === 'string' ? said : '');
  },
};

/** What a ConfigMap or a Secret can hold. */
const limit = 2 ** 20;
const list = (size: number, piece: (number: string) => string): string => pieces(size, piece, ',');

export const ignitionGrowth: readonly Hostile[] = [
  ...growing(
    'a stream',
    {
      architectures: (size) => `{"architectures":{${list(size, (n) => `"a${n}":{"artifacts":{}}`)}}}`,
      nesting: (size) => `{"architectures":${'{"x86_64":'.repeat(size / 11)}1${'}'.repeat(size / 11)}}`,
      numbers: (size) => `{"architectures":[${list(size, () => '9007199254740993')}]}`,
      'no end': (size) => `{"architectures":{${list(size, (n) => `"a${n}":[]`)}`,
      'names with escapes': (size) => `{"architectures":{${list(size / 2, (n) => `"\\n${n}":1`)}}}`,
    },
    { limit, read: (text) => parseStream(text).disk('x86_64', 'vmware', 'ova') },
  ),
  ...growing(
    'user data',
    {
      files: (size) => stub(`},"storage":{"files":[${list(size, (n) => `{"path":"/${n}"}`)}]}`),
      links: (size) => stub(`},"storage":{"links":[${list(size, (n) => `{"path":"/${n}"}`)}]}`),
      'one unit many times': (size) =>
        stub(`},"systemd":{"units":[${list(size, (n) => `{"name":"a","${n}":1,"dropins":[{"name":"${n}"}]}`)}]}`),
      'one user many times': (size) =>
        stub(`},"passwd":{"users":[${list(size, (n) => `{"name":"core","${n}":1,"sshAuthorizedKeys":["${n}"]}`)}]}`),
      keys: (size) =>
        stub(`},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":[${list(size, (n) => `"${n}"`)}]}]}`),
      nesting: (size) => stub(`},"passwd":${'{"users":'.repeat(size / 11)}1${'}'.repeat(size / 11)}`),
      'names with escapes': (size) => stub(`},${list(size / 2, (n) => `"\\n${n}":1`)}`),
      'no JSON': (size) => stub(`},"storage":{"files":[${list(size, (n) => `{"path":"/${n}"}`)}`),
    },
    { limit, read: (text) => convertStub(text, 'worker-user-data') },
  ),
];
