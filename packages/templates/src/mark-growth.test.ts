import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import type { VmSummary } from '@drydock/vsphere';
import { MARK_ATTRIBUTE, MARK_KEYS, readMark } from './mark.ts';

const folder = { type: 'Folder', value: 'group-1' };
const machine = (customValue: string, replaces: string): VmSummary =>
  ({
    instanceUuid: 'u',
    parent: folder,
    isTemplate: true,
    powerState: 'poweredOff',
    extraConfig: new Map([[MARK_KEYS.replaces, replaces]]),
    customValues: new Map([[MARK_ATTRIBUTE, customValue]]),
  }) as unknown as VmSummary;

test('SAFE-1 a mark costs what it weighs, whoever wrote it', async () => {
  for (const [name, text] of Object.entries({
    nesting: (size: number) => `{"instanceUuid":"u","owner":"o","role":"retired","replaces":${'['.repeat(size)}`,
    names: (size: number) => `{${Array.from({ length: size / 10 }, (_, n) => `"n${n}":1`).join(',')},"owner":"o"}`,
    'no JSON': (size: number) => '{'.repeat(size),
  })) {
    const input = (size: number): VmSummary => machine(text(size), text(size));
    await assertLinear({ name, input, limit: 2 ** 18, read: (vm) => readMark(vm, folder) });
  }
});
