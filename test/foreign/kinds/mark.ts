import assert from 'node:assert/strict';
import type { VmSummary } from '@drydock/vsphere';
import { readAttribute } from '../../../packages/templates/src/mark/attribute.ts';
import { MARK_ATTRIBUTE, MARK_KEYS, type MarkReading, readMark } from '../../../packages/templates/src/mark.ts';
import { readLoginNotes } from '../../../packages/vsphere/src/session/login-notes.ts';
import { type Format, growing, type Hostile, pieces } from '../format.ts';

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
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\',
  'null',
  '"role":',
  '"retired"',
  '"owner":1',
  '{}',
  '1/2 00000000 ',
];

/** Marks, which whoever may set a custom attribute writes. */
export const marks: Format<MarkReading> = {
  name: 'marks of templates',
  examples: [
    '{"instanceUuid":"u","owner":"o","role":"retired","at":"2026-01-01T00:00:00Z","by":"v","name":"n"}',
    '{"instanceUuid":"u","owner":"o","role":"adopted","replaces":{"ref":"vm-1","instanceUuid":"w","name":"n"}}',
  ],
  pieces: PIECES,
  nest: ['[', ']'],
  takesAll: true,
  read: (bytes) => readMark(machine(bytes.toString(), bytes.toString()), folder),
  refuses: () => false,
  check: (reading, bytes) => {
    // Whatever is written there, it is no proof.
    assert.ok(!JSON.stringify(reading).includes('"proven":true'));
    const attribute = readAttribute(new Map([[MARK_ATTRIBUTE, bytes.toString()]]), MARK_ATTRIBUTE);
    assert.ok(['absent', 'value', 'torn'].includes(attribute.kind), attribute.kind);
  },
};

/** Refused logins as they are noted on a Lease and in a file. */
export const loginNotes: Format<ReturnType<typeof readLoginNotes>> = {
  name: 'notes of logins',
  examples: [
    '[{"server":"s","user":"u","origin":"o","versions":["ab12"],"refusals":2,"last":"2026-01-01T00:00:00Z"}]',
    '[{"server":"s","user":"u","origin":"o","versions":[],"refusals":0,"last":"2026-01-01T00:00:00Z"},{"server":"t"}]',
  ],
  pieces: [...PIECES, '"versions":', '"last":"x"', '-1'],
  nest: ['[', ']'],
  takesAll: true,
  read: (bytes) => readLoginNotes(bytes.toString()),
  refuses: () => false,
  check: (notes) => {
    assert.equal(JSON.stringify(readLoginNotes(JSON.stringify(notes))), JSON.stringify(notes));
    for (const { refusals, versions, last } of notes) {
      assert.ok(Number.isSafeInteger(refusals) && refusals >= 0, `${refusals} refusals`);
      assert.ok(versions.every((version) => typeof version === 'string') && Number.isFinite(Date.parse(last)));
    }
  },
};

export const markGrowth: readonly Hostile[] = growing(
  'a mark',
  {
    nesting: (size) => `{"instanceUuid":"u","owner":"o","role":"retired","replaces":${'['.repeat(size)}`,
    names: (size) => `{${pieces(size, (n) => `"n${n}":1`, ',')},"owner":"o"}`,
    'no JSON': (size) => '{'.repeat(size),
  },
  { limit: 2 ** 18, read: (text) => readMark(machine(text, text), folder) },
);
