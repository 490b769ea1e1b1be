import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VmSummary } from '@drydock/vsphere';
import { TEST_KEYS } from '../testing/keys.ts';
import { type Identity, identityKey, identityOf } from './identity.ts';
import { readOwnership, writeOwnership } from './ownership-record.ts';

const vm = {
  ref: { type: 'VirtualMachine', value: 'vm-12' },
  name: 'rhcos',
  createDate: '2026-01-01T00:00:00.123456Z',
  instanceUuid: '50000000-0000-4000-8000-00000000000A',
};
const identity = identityOf('vc', vm) ?? assert.fail();
const OTHERS: readonly Identity[] = [
  { ...identity, vcenter: 'another' },
  { ...identity, ref: 'vm-13' },
  { ...identity, created: identity.created + 1 },
  { ...identity, instanceUuid: '50000000-0000-4000-8000-00000000000b' },
];

test('KEEP-1 each part of an identity makes another VM, and a date written in another way the same one', () => {
  assert.equal(new Set([identity, ...OTHERS].map(identityKey)).size, 5);
  const other = identityOf('vc', { ...vm, createDate: '2026-01-01T01:00:00.123+01:00' });
  assert.deepEqual(other, identity);
});

test('KEEP-1 a VM without a creation date or an instance UUID has no identity', () => {
  const { createDate: _, ...undated } = vm;
  const { instanceUuid: __, ...unnamed } = vm;
  assert.equal(identityOf('vc', undated), undefined);
  assert.equal(identityOf('vc', unnamed), undefined);
});

test('KEEP-1 the code of a record counts for no other identity, even where the shortened key of the record fits', async () => {
  const values = new Map<string, string>();
  const vcenter = {
    setCustomValue: async (_: unknown, name: string, value: string) => void values.set(name, value),
    vm: async () => ({ ...vm, customValues: values }) as unknown as VmSummary,
  };
  const mark = { owner: 'us', operation: '0123456789abcdef', digest: 'd'.repeat(64), release: '9.6' };
  const record = { kind: 'imported', mark, fingerprint: 'x.y' } as const;
  await writeOwnership(vcenter, vm, identity, record, TEST_KEYS, {});
  const [name, text] = [...values][0] ?? assert.fail();
  assert.equal(values.size, 1, 'one attribute value');
  const own = readOwnership({ customValues: values }, identity, mark, TEST_KEYS);
  assert.ok(own.kind === 'read' && own.code === 'current');
  for (const other of OTHERS) {
    assert.equal(readOwnership({ customValues: values }, other, mark, TEST_KEYS).kind, 'moved');
    const forged = new Map([[name, JSON.stringify({ ...JSON.parse(text), id: identityKey(other).slice(0, 12) })]]);
    const reading = readOwnership({ customValues: forged }, other, mark, TEST_KEYS);
    assert.ok(reading.kind === 'read' && reading.code === 'gone', JSON.stringify(other));
  }
});
