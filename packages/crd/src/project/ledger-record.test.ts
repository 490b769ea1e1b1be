import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecord, recordText } from './ledger-record.ts';

test('SAFE-1 a record that is nested too deep to be written again is kept as the text that it is', () => {
  const record = (levels: number): string =>
    `{"object":"n/a","base":"1","entries":[{"at":["a"],"value":${'['.repeat(levels)}${']'.repeat(levels)},"schemaHash":"","firstSeen":"","release":""}]}`;
  assert.equal(readRecord(record(100)).entries.length, 1);
  const deep = readRecord(record(9_900));
  assert.deepEqual([deep.entries, deep.unreadable], [[], record(9_900)]);
  assert.deepEqual(readRecord(recordText(deep)), deep);
});
