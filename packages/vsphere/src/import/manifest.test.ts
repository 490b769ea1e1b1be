import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import type { ManifestEntry } from '../vcenter.ts';
import { parseXml } from '../xml/xml-tree.ts';
import { checkManifest, readManifest, type SentFile } from './manifest.ts';

const file = { key: '/vm-1/disk:0', path: 'disk.vmdk', create: false };
const sent: SentFile = { file, size: 10, sha1: 'a'.repeat(40), sha256: 'b'.repeat(64) };
const good: ManifestEntry = { key: file.key, sha1: sent.sha1, checksum: sent.sha256, checksumType: 'SHA256' };

test('VS-W98 accepts what agrees, with or without digests', () => {
  checkManifest([sent], [good]);
  checkManifest([sent], [{ key: file.key }]);
  checkManifest([sent], [{ ...good, checksum: 'whatever', checksumType: 'SHA512' }]);
});

const wrong: readonly (readonly [string, readonly ManifestEntry[], readonly string[]])[] = [
  ['another SHA-1', [{ ...good, sha1: 'c'.repeat(40) }], [sent.sha1, 'c'.repeat(40)]],
  ['another SHA-256', [{ ...good, checksum: 'd'.repeat(64) }], [sent.sha256, 'd'.repeat(64)]],
];
for (const [what, manifest, named] of wrong) {
  test(`VS-W98 ${what}: the error names the file and both values`, () => {
    assert.throws(
      () => checkManifest([sent], manifest),
      (error) => isVimError(error, 'VIM_DIGEST_MISMATCH') && named.every((part) => error.message.includes(part)),
    );
  });
}

test('OWN-10 a manifest that gives the sizes of downloads, or no entry at all, fails nothing', () => {
  const answer = (entries: string) => readManifest(parseXml(`<R xmlns="urn:vim25">${entries}</R>`));
  const entry = (size: number, sha1: string): string =>
    `<returnval><key>${file.key}</key><sha1>${sha1}</sha1><size>${size}</size><disk>true</disk></returnval>`;
  checkManifest([sent], answer(entry(4711, sent.sha1)));
  checkManifest([sent], answer(entry(0, '')));
  checkManifest([sent], answer(''));
  assert.throws(
    () => checkManifest([sent], answer(entry(sent.size, 'c'.repeat(40)))),
    (error) => isVimError(error, 'VIM_DIGEST_MISMATCH'),
  );
});

test('reads the answer, whatever the case of its digests', () => {
  const answer = parseXml(
    `<R xmlns="urn:vim25"><returnval><key>k</key><sha1>ABC</sha1><checksum>DEF</checksum><checksumType>SHA256</checksumType><size>7</size></returnval>` +
      `<returnval><key>n</key><sha1/><size>0</size></returnval></R>`,
  );
  assert.deepEqual(readManifest(answer), [
    { key: 'k', sha1: 'abc', checksum: 'def', checksumType: 'SHA256' },
    { key: 'n' },
  ]);
});
