import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVimError } from '../errors.ts';
import { ovfText } from '../testing/ovf.ts';
import { readOvf } from './ovf.ts';

test('reads networks, product, secure boot, files and disks', () => {
  const ovf = readOvf(ovfText({ size: 123, networks: ['VM Network', 'R&D'] }));
  assert.deepEqual(ovf.networks, ['VM Network', 'R&D']);
  assert.deepEqual(ovf.product, { name: 'Red Hat Enterprise Linux CoreOS', version: '9.8.20260428-0' });
  assert.equal(ovf.secureBoot, true);
  assert.equal(ovf.name, 'rhcos');
  assert.deepEqual(ovf.files, [{ id: 'file1', href: 'disk.vmdk', size: 123 }]);
  assert.deepEqual(ovf.disks, [{ id: 'vmdisk1', file: ovf.files[0], capacity: 16 * 2 ** 30 }]);
});

test('tells "false" from not said for secure boot', () => {
  assert.equal(readOvf(ovfText({ size: 1, secureBoot: false })).secureBoot, false);
  const silent = ovfText({ size: 1 }).replace(/<vmw:Config[^>]*efiSecureBoot[^>]*>/, '');
  assert.equal(readOvf(silent).secureBoot, undefined);
});

test('KEEP-7 reads how much a disk holds, and passes over what is no number of bytes', () => {
  const populated = (size: number) => readOvf(ovfText({ disks: [{ file: 'a', size: 1, populatedSize: size }] })).disks;
  assert.equal(populated(3_000)[0]?.populatedSize, 3_000);
  assert.equal(populated(-1)[0]?.populatedSize, undefined);
  assert.equal(populated(2 ** 60)[0]?.populatedSize, undefined);
});

const bad: readonly (readonly [string, string])[] = [
  ['another document', '<Module/>'],
  ['no virtual system', '<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1"><References/></Envelope>'],
  ['broken XML', ovfText({ size: 1 }).slice(0, -20)],
  ['a DOCTYPE', `<!DOCTYPE x [<!ENTITY a "b">]>${ovfText({ size: 1 }).split('?>')[1]}`],
  ['a size that is no number', ovfText({ size: 1 }).replace('ovf:size="1"', 'ovf:size="big"')],
  ['a disk without its file', ovfText({ size: 1 }).replace('ovf:fileRef="file1"', 'ovf:fileRef="file2"')],
  ['an unknown unit', ovfText({ size: 1 }).replace('byte * 2^30', 'furlong')],
  ['more than 4 MiB', ovfText({ size: 1, version: 'x'.repeat(5 << 20) })],
];
for (const [what, text] of bad) {
  test(`refuses ${what}`, () => {
    assert.throws(
      () => readOvf(text),
      (error) => isVimError(error, 'VIM_OVF_REFUSED'),
    );
  });
}
