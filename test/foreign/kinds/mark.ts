import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { VmSummary } from '@drydock/vsphere';
import { attributeParts, readAttribute } from '../../../packages/templates/src/mark/attribute.ts';
import { BIRTH_KEY, birthConfig, CONTENT_KEY } from '../../../packages/templates/src/mark/birth-mark.ts';
import { codeOf } from '../../../packages/templates/src/mark/code.ts';
import { identityKey } from '../../../packages/templates/src/mark/identity.ts';
import { type Ledger, type LedgerEntry, openLedger } from '../../../packages/templates/src/mark/ledger.ts';
import { OWNERSHIP } from '../../../packages/templates/src/mark/ownership-record.ts';
import { contentOf, type MarkReading, readMark, testimonyOf } from '../../../packages/templates/src/mark.ts';
import { TEST_KEYS } from '../../../packages/templates/src/testing/keys.ts';
import { memoryLedger } from '../../../packages/templates/src/testing/memory-ledger.ts';
import { readLoginNotes } from '../../../packages/vsphere/src/session/login-notes.ts';
import { type Format, growing, type Hostile, pieces } from '../format.ts';

const folder = { type: 'Folder', value: 'group-1' };
const created = '2026-01-01T00:00:00Z';
const instanceUuid = '5f3b0a52-0000-4000-8000-000000000001';
const identity = { vcenter: 'vc', ref: 'vm-1', created: Date.parse(created), instanceUuid };
const content = { owner: 'o', operation: 'p', digest: 'ab12', release: '9.6.1', version: '9.6.1', publishes: 'rhcos' };
const birth = { ...content, holder: 'h', instanceUuid };

/** A VM with what a neighbour may write on it: extraConfig of a VM of his own, and custom attributes. */
const machine = (extraConfig: ReadonlyMap<string, string>, customValues = new Map<string, string>()): VmSummary => ({
  ...{ ref: { type: 'VirtualMachine', value: identity.ref }, name: 'n', parent: folder, createDate: created },
  ...{ instanceUuid, isTemplate: false, powerState: 'poweredOff', hardware: new Map(), disks: [], activeTasks: [] },
  ...{ extraConfig, customValues },
});
const witnessesOf = (ledger: Ledger) => ({
  ...{ vcenter: identity.vcenter, keys: TEST_KEYS, ledger, imported: new Set<string>() },
  uptime: { boot: 'b', now: () => 0 },
});
const witnesses = witnessesOf(openLedger(undefined));
const readBy = (vm: VmSummary): MarkReading => readMark(vm, folder, { owner: undefined, witnesses });

/** A birth mark as Drydock writes it, and ownership records likewise: what is read of a changed one must be what was signed, or nothing. */
const born = birthConfig(birth, TEST_KEYS).get(BIRTH_KEY) ?? '';
const recordText = (kind: 'imported' | 'adopted', said: object, fields: readonly string[]): string => {
  const { vcenter, ref, created: at } = identity;
  const code = codeOf(TEST_KEYS, ['drydock.ownership/1', vcenter, ref, at, instanceUuid, kind, ...fields, 'x.y']);
  const text = { id: identityKey(identity).slice(0, 12), kind, is: 'x.y', code, ...said };
  return attributeParts(OWNERSHIP, text)[0]?.[1] ?? '';
};
const RECORDS = {
  imported: recordText('imported', {}, ['o', 'p', 'ab12', '9.6.1', '9.6.1', 'rhcos']),
  adopted: recordText('adopted', { owner: 'o', release: '8', name: 'rhcos' }, ['o', '', '', '8', '', 'rhcos']),
};
const ADOPTED = { owner: 'o', operation: '', digest: '', release: '8', publishes: 'rhcos' };

const PIECES = [
  ...['{', '}', '[', ']', ':', ',', '"', '\\', 'null', '{}', '1/2 00000000 ', '"owner":1', '"release":"9.6.2"'],
  ...['"code":"test:"', '"kind":"claimed"', '"id":', '"is":"z"', '"digest":"cd34"', '"instanceUuid":"w"'],
];

interface Readings {
  /** As the birth mark of an unfinished import, of a finished one, and of one with an ownership record. */
  readonly born: readonly MarkReading[];
  /** As the ownership record of a VM with a birth mark, and of one without. */
  readonly recorded: readonly MarkReading[];
}

const recorded = (text: string, config: ReadonlyMap<string, string>): VmSummary =>
  machine(config, new Map([[OWNERSHIP, text]]));
const finished = (text: string) =>
  new Map([
    [BIRTH_KEY, text],
    [CONTENT_KEY, 'x.y'],
  ]);

/** Birth marks, which whoever creates a VM writes, and ownership records, which whoever may set a custom attribute writes. */
export const marks: Format<Readings> = {
  name: 'marks of templates',
  examples: [
    ...[born, RECORDS.imported, RECORDS.adopted],
    '{"owner":"o","operation":"p","digest":"d","release":"r","holder":"h","instanceUuid":"u"}',
    '{"id":"0123456789ab","kind":"claimed","is":"x.y","owner":"o","release":"8","name":"n","code":"test:x"}',
  ],
  pieces: PIECES,
  nest: ['[', ']'],
  takesAll: true,
  read: (bytes) => {
    const text = bytes.toString();
    return {
      born: [
        readBy(machine(new Map([[BIRTH_KEY, text]]))),
        readBy(machine(finished(text))),
        readBy(recorded(RECORDS.imported, finished(text))),
      ],
      recorded: [readBy(recorded(text, finished(born))), readBy(recorded(text, new Map()))],
    };
  },
  refuses: () => false,
  check: ({ born: births, recorded: records }, bytes) => {
    const [unfinished, claimed, paired] = births;
    // Only a code by the key makes anything count, and only as what was signed.
    for (const reading of [unfinished, paired])
      if (reading?.kind === 'ours') assert.deepEqual(contentOf(reading.mark), content);
    assert.ok(unfinished?.kind !== 'ours' || !unfinished.verified, 'a birth mark makes nothing a finished import');
    assert.notEqual(claimed?.kind, 'ours', 'the sign of a finished import proves nothing');
    const [imported, adopted] = records;
    if (imported?.kind === 'ours') assert.ok([content, ADOPTED].some((one) => isSame(contentOf(imported.mark), one)));
    if (adopted?.kind === 'ours') assert.deepEqual(contentOf(adopted.mark), ADOPTED);
    for (const reading of [...births, ...records]) assert.ok(reading.kind !== 'ours' || !reading.own);
    const vm = recorded(bytes.toString(), finished(born));
    const { record } = testimonyOf(vm, witnesses);
    if (record.kind === 'read' && record.code !== 'gone' && record.code !== 'absent')
      assert.equal(record.record.fingerprint, 'x.y');
    const attribute = readAttribute(vm.customValues, OWNERSHIP);
    assert.ok(['absent', 'value', 'torn'].includes(attribute.kind), attribute.kind);
  },
};

const isSame = (one: object, other: object): boolean => isDeepStrictEqual(one, other);

const KEY = identityKey(identity);
const entry: LedgerEntry = { stage: 'template', own: true, mark: content, fingerprint: 'x.y', holders: ['file a'] };

/** The texts of the ledger: a person may have edited the ConfigMap or the file. */
export const ledgerTexts: Format<MarkReading> = {
  name: 'entries of the ownership ledger',
  examples: [
    JSON.stringify(entry),
    '{"stage":"importing","own":true,"mark":{"owner":"o","operation":"p","digest":"d","release":"r"}}',
    '{"stage":"marking","own":false,"mark":{"owner":"o","operation":"","digest":"","release":""},"version":"v","role":"retired","at":"2026-01-01T00:00:00Z","other":"k","secureBootOff":true}',
    `{"${KEY}":{"value":"[\\"n\\"]","boot":"b","at":5}}`,
  ],
  pieces: [...PIECES, '"stage":"template"', '"own":true', '"mark":', '"holders":["a"]', '"at":-1', '"boot":"b"'],
  nest: ['[', ']'],
  read: async (bytes) => {
    const text = bytes.toString();
    const seen = openLedger(memoryLedger('cluster', new Map([['seen.vc.group-1', text]])));
    await seen.load();
    const ledger = openLedger(memoryLedger('cluster', new Map([[`vm.${KEY}`, text]])));
    await ledger.load();
    const found = ledger.get(KEY);
    const reading = readMark(machine(new Map()), folder, { owner: undefined, witnesses: witnessesOf(ledger) });
    assert.ok(reading.kind !== 'ours' || reading.own === (found?.own === true));
    if (!ledger.unreadable(KEY)) return reading;
    // The ledger does not throw: the machine is kept as one that nobody knows.
    assert.deepEqual([found, reading.kind], [undefined, 'none']);
    throw new RangeError(`the entry ${KEY} cannot be read`);
  },
  refuses: (error) => error instanceof RangeError,
  check: (reading) => {
    const { mark } = reading as { readonly mark?: object };
    for (const value of Object.values(mark ?? {})) assert.equal(typeof value, 'string', JSON.stringify(mark));
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
    nesting: (size) => `{"instanceUuid":"u","owner":"o","kind":"adopted","is":${'['.repeat(size)}`,
    names: (size) => `{${pieces(size, (n) => `"n${n}":1`, ',')},"owner":"o"}`,
    'no JSON': (size) => '{'.repeat(size),
  },
  {
    limit: 2 ** 18,
    read: (text) => [readBy(recorded(text, new Map())), readBy(machine(new Map([[BIRTH_KEY, text]])))],
  },
);
