import assert from 'node:assert/strict';
import { type Crd, CrdError, type LedgerRecord, readCrd, readCrds, readRecord } from '@drydock/crd';
import { recordText } from '../../../packages/crd/src/project/ledger-record.ts';
import { type Format, growing, type Hostile, nested, pieces } from '../format.ts';

const HEAD = 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.x.org}\n';
const NAMES = 'group: x.org\n  names: {kind: Thing, plural: things}\n  scope: Namespaced\n';

/** Definitions, as generators write them and as servers give them. */
export const crds: Format<readonly Crd[]> = {
  name: 'definitions',
  examples: [
    `${HEAD}spec:\n  ${NAMES}  versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {status: {}}\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              a: {type: string, maxLength: 5, pattern: '^a'}\n              l: {type: array, items: {type: integer}, x-kubernetes-list-type: set}\n              m: {type: object, additionalProperties: {type: string}}\n              n: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}\n`,
    `{"kind":"List","items":[{"kind":"CustomResourceDefinition","metadata":{"name":"a.b"},"spec":{"group":"b","names":{"kind":"A","plural":"a"},"scope":"Cluster","preserveUnknownFields":false,"conversion":{"strategy":"Webhook"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"nullable":null}},"selectableFields":[{"jsonPath":".spec.a"}]},{"name":"v2"}]},"status":{"storedVersions":["v1"]}}]}`,
    `${HEAD}spec:\n  ${NAMES}  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {n: {type: integer, default: 9007199254740993}}}}}]\n---\nkind: Pod\n`,
  ],
  pieces: [
    ...[
      ': ',
      '- ',
      '&a ',
      '*a',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      '\n',
      '\n  ',
      '---\n',
      'null',
      '$ref: a',
      'properties: ',
      'items: ',
    ],
    ...[
      'additionalProperties: {}',
      'allOf: [{}]',
      'not: {}',
      'type: object',
      'openAPIV3Schema: ',
      'versions: ',
      'plural: ',
      'kind: List',
    ],
  ],
  nest: ['{properties: {a: ', '}}'],
  read: (bytes) => readCrds(bytes.toString(), 'crd.yaml'),
  refuses: (error) => error instanceof CrdError,
  check: (all) => {
    for (const crd of all) {
      assert.deepEqual(readCrd(crd.manifest, 'again'), crd);
      assert.ok(
        [crd.name, crd.group, crd.kind, crd.plural, ...crd.storedVersions].every((text) => typeof text === 'string'),
      );
    }
  },
};

/** The ledger of what a live schema could not hold: nothing in it is thrown away. */
export const ledger: Format<LedgerRecord> = {
  name: 'records of the ledger',
  examples: [
    '{"object":"n/a","base":"17","entries":[{"at":["capabilities","enabled",3],"value":"x","schemaHash":"h","firstSeen":"2026-01-01T00:00:00Z","release":"4.20"}]}',
    '{"object":"a","base":"","entries":[{"at":["a\\n"],"value":{"b":9007199254740993},"instead":null,"schemaHash":"","firstSeen":"","release":""}],"unreadable":"{"}',
  ],
  pieces: [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    'null',
    '"at":[',
    '"value":',
    '-1',
    '[0,0]',
    '"entries":',
    '9007199254740993',
  ],
  nest: ['[', ']'],
  takesAll: true,
  read: (bytes) => readRecord(bytes.toString()),
  refuses: () => false,
  check: (record, bytes) => {
    // -0 and 0 are written alike.
    const written = recordText(record);
    assert.equal(recordText(readRecord(written)), written);
    assert.equal(readRecord(written).entries.length, record.entries.length);
    const text = bytes.toString();
    if (
      record.object === '' &&
      record.entries.length === 0 &&
      record.unreadable !== undefined &&
      !text.includes('"unreadable"')
    )
      assert.equal(record.unreadable, text);
  },
};

const schema = (inner: string): string =>
  `{"kind":"CustomResourceDefinition","spec":{"group":"x","names":{"kind":"T","plural":"t"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":${inner}}}]}}`;
const entry = (n: string): string =>
  `{"at":["${n}",{}],"value":{"a\\n${n}":9007199254740993},"schemaHash":"","firstSeen":"","release":""}`;

export const crdGrowth: readonly Hostile[] = [
  ...growing(
    'a definition',
    {
      properties: (size) => schema(`{"properties":{${pieces(size, (n) => `"p${n}":{"type":"string"}`, ',')}}}`),
      nesting: (size) => schema(nested(size, '{"properties":{"a":', '{}', '}}')),
      'what is null': (size) => schema(`{"properties":{${pieces(size, (n) => `"p${n}":{"items":null}`, ',')}}}`),
      alternatives: (size) => schema(`{"anyOf":[${pieces(size, () => '{"not":{}}', ',')}]}`),
      versions: (size) =>
        schema('{}').replace('"versions":[', () => `"versions":[${pieces(size, (n) => `{"name":"v${n}"},`)}`),
      documents: (size) => `${schema('{}')}\n---\n`.repeat(size / schema('{}').length),
      'items of a list': (size) => `{"kind":"List","items":[${pieces(size, () => schema('{}'), ',')}]}`,
    },
    // The largest real one has 2 MB, and is the only one that long: a file is read at once.
    { limit: 2 ** 20, read: (text) => readCrds(text, 'crd.yaml') },
  ),
  ...growing(
    'a record of the ledger',
    Object.fromEntries(
      Object.entries({
        entries: entry,
        'large integers': () => '9007199254740993',
        'names with escapes': (n: string) => `{"\\"${n}":1}`,
        lists: () => '[]',
      }).map(([name, piece]) => [
        name,
        (size: number) => `{"object":"n/a","base":"1","entries":[${pieces(size, piece, ',')}]}`,
      ]),
    ),
    // No record is larger.
    { limit: 2 ** 18, read: readRecord },
  ),
];
