import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { manifestText, payloadFiles } from '../testing/payload-files.ts';
import { readPayloadDirectory } from './directory.ts';
import { loadPayload } from './payload.ts';
import { versionHash } from './version-hash.ts';

test('own manifests come first and are templates, those of others are used as they are', () => {
  const payload = loadPayload(
    payloadFiles(
      {
        'release-manifests/0000_10_a_1.yaml': `${manifestText('ConfigMap', 'a')}\n---\n# nothing\n---\n${manifestText('ConfigMap', '{{x}}')}`,
        'manifests/0000_90_own_1.yaml':
          'kind: ConfigMap\napiVersion: v1\nmetadata: {name: "{{.Version}}"}\ndata: {cli: {{index .Images "cli"}}}\n',
      },
      { images: { cli: 'example.com/cli' } },
    ),
  );
  assert.deepEqual(
    payload.manifests.map(({ file, line, id }) => `${file}:${line} ${id.name}`),
    [
      'manifests/0000_90_own_1.yaml:1 4.14.0',
      'release-manifests/0000_10_a_1.yaml:1 a',
      'release-manifests/0000_10_a_1.yaml:4 {{x}}',
    ],
  );
  assert.deepEqual(payload.manifests[0]?.object['data'], { cli: 'example.com/cli' });
});

test('a payload that cannot be read whole is refused by file and line', () => {
  const broken: readonly (readonly [text: string, error: RegExp])[] = [
    [
      `${manifestText('ConfigMap', 'a')}\n---\na: b\nc: [\n`,
      /^release-manifests\/0000_10_a_1\.yaml cannot be read: .* in line \d\. Correct the payload/,
    ],
    ['---\n- a\n', /0000_10_a_1\.yaml:1 is no object\./],
    ['\n\n---\nkind: ConfigMap\nmetadata: {name: a}\n', /0000_10_a_1\.yaml:3: an object without apiVersion or kind\./],
    ['apiVersion: v1\nkind: ConfigMap\n', /0000_10_a_1\.yaml:1: a ConfigMap without a name\./],
    [
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {b: 1}}\n',
      /0000_10_a_1\.yaml:1: ConfigMap a: the value of its annotation b is no text: put it in quotes\./,
    ],
    ['apiVersion: v1\nkind: List\nitems: [1]\n', /item 0 of the List is no object/],
    [`a: ${'['.repeat(200)}`, /nested more than/],
  ];
  for (const [text, message] of broken)
    assert.throws(
      () => loadPayload(payloadFiles({ 'release-manifests/0000_10_a_1.yaml': text })),
      { name: 'ReleaseError', message },
      text,
    );
  const { name, files } = payloadFiles({});
  for (const [path, text, message] of [
    ['release-metadata', '{}', /release-metadata: its kind is not cincinnati-metadata-v0/],
    ['release-metadata', '{"kind":"cincinnati-metadata-v0","version":"4.14"}', /its version is no semantic version/],
    ['release-metadata', '[', /it is no JSON/],
    [
      'image-references',
      '{"kind":"ImageStream","metadata":{"name":"4.13.0"}}',
      /it is for the version 4\.13\.0, the release is 4\.14\.0/,
    ],
  ] as const) {
    const changed = new Map([...files, [`release-manifests/${path}`, text]]);
    assert.throws(() => loadPayload({ name, files: changed }), { name: 'ReleaseError', code: 'BAD_METADATA', message });
  }
  assert.throws(
    () => loadPayload({ name, files: new Map() }),
    /payload has no release-manifests\/release-metadata\. Name a folder/,
  );
});

test('a folder is read as an image has it, or flat; links are left alone, what is no text is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-payload-'));
  try {
    const { files } = payloadFiles({ 'release-manifests/0000_10_a_1.yaml': manifestText('ConfigMap', 'a') });
    for (const [path, text] of files) await writeFile(join(folder, path.slice(path.indexOf('/') + 1)), text);
    await writeFile(join(folder, 'README.md'), 'not read');
    await symlink('/etc/passwd', join(folder, 'link.yaml'));
    const flat = await readPayloadDirectory(folder);
    assert.deepEqual([...flat.files.keys()].toSorted(), [...files.keys()].toSorted());
    assert.equal(loadPayload(flat).manifests.length, 1);
    await mkdir(join(folder, 'release-manifests'));
    for (const [path, text] of files) await writeFile(join(folder, path), text);
    assert.equal(loadPayload(await readPayloadDirectory(folder)).manifests.length, 1);
    await writeFile(join(folder, 'release-manifests', 'b.yaml'), Buffer.from([0xff]));
    await assert.rejects(readPayloadDirectory(folder), /release-manifests\/b\.yaml is no text in UTF-8/);
    await assert.rejects(
      readPayloadDirectory(join(folder, 'README.md')),
      /cannot be read: it is no folder\. Name a folder with/,
    );
    await assert.rejects(readPayloadDirectory(join(folder, 'nothing')), { code: 'NO_PAYLOAD' });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the version hash is FNV-1 of the JSON: reference value, and another one for other content', () => {
  // 64-bit FNV-1 with BigInt, as it is defined.
  const slow = (text: string): string => {
    let hash = 0xcbf29ce484222325n;
    for (const byte of Buffer.from(text)) hash = ((hash * 0x100000001b3n) & 0xffffffffffffffffn) ^ BigInt(byte);
    return `${Buffer.from(hash.toString(16).padStart(16, '0'), 'hex').toString('base64url')}=`;
  };
  const { manifests } = loadPayload(
    payloadFiles({
      'release-manifests/0000_10_a_1.yaml':
        'kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {b: "<&\u2028é"}\n',
    }),
  );
  const json = '{"apiVersion":"v1","data":{"b":"\\u003c\\u0026\\u2028é"},"kind":"ConfigMap","metadata":{"name":"a"}}';
  assert.equal(versionHash(manifests), slow(json));
  assert.notEqual(versionHash([...manifests, ...manifests]), slow(json));
});
