import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import { readRecord } from './ledger-record.ts';

const entry = (n: string): string =>
  `{"at":["${n}",{}],"value":{"a\\n${n}":9007199254740993},"schemaHash":"","firstSeen":"","release":""}`;

test('SAFE-1 a record of the ledger costs what it weighs, whoever wrote it', async () => {
  for (const [name, piece] of Object.entries({
    entries: entry,
    'large integers': () => '9007199254740993',
    'names with escapes': (n: string) => `{"\\"${n}":1}`,
    lists: () => '[]',
  })) {
    const input = (size: number): string => {
      const pieces: string[] = [];
      for (let length = 0; length < size; length += pieces.at(-1)?.length ?? 0)
        pieces.push(piece(pieces.length.toString(36)));
      return `{"object":"n/a","base":"1","entries":[${pieces.join(',')}]}`;
    };
    // No record is larger.
    await assertLinear({ name, input, limit: 2 ** 18, read: readRecord });
  }
});
