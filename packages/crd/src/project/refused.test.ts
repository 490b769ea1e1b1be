import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../schema/json.ts';
import { parseJson } from '../schema/json.ts';
import type { CrdVersion, Schema } from '../schema/schema.ts';
import { crdOf } from '../testing/crd-of.ts';
import { entriesFor, type LedgerEntry, readRecord, recordText } from './ledger-record.ts';
import { losses } from './losses.ts';
import { project } from './project.ts';
import type { ServerCause } from './server-cause.ts';
import { nextWrite, START, type StatusState, type StatusStep, type WriteAnswer } from './status-machine.ts';

function liveOf(status: Schema): CrdVersion {
  return crdOf({ type: 'object', properties: { status } }).versions[0] as CrdVersion;
}

const items: Schema = { type: 'string', pattern: '^.{1,4}$' };
const live = liveOf({
  type: 'object',
  properties: { list: { type: 'array', items }, mode: { type: 'string' } },
});

/** Plays a write against a server that knows more than its schema says: `refuses` gives the causes for what is sent. */
function write(
  intent: JsonObject,
  refuses: (status: JsonObject) => readonly ServerCause[],
  state: StatusState = START,
): { readonly state: StatusState; readonly step: StatusStep; readonly sent: readonly JsonObject[] } {
  const sent: JsonObject[] = [];
  let ledger: readonly LedgerEntry[] = [];
  let answer: WriteAnswer | undefined;
  let next = { state, step: { kind: 'skip' } as StatusStep };
  for (let count = 0; count < 40; count += 1) {
    const object = { metadata: { uid: 'u' }, status: { mode: 'before' } };
    next = nextWrite(next.state, { intent, object, live, ledger }, answer);
    if (next.step.kind === 'record') {
      ledger = entriesFor(next.step.lost, ledger, { schemaHash: '', firstSeen: '', release: '' });
      answer = { kind: 'recorded' };
    } else if (next.step.kind === 'put') {
      sent.push(next.step.status);
      const causes = refuses(next.step.status);
      answer = causes.length === 0 ? { kind: 'ok' } : { kind: 'invalid', causes };
    } else return { ...next, sent };
  }
  throw new Error('the write does not come to an end');
}

/** Refuses these texts wherever they stand in the list, and as the mode. */
function against(...texts: readonly string[]) {
  return ({ list = [], mode = '' }: JsonObject): readonly ServerCause[] => {
    const cause = (field: string): ServerCause => ({ field, reason: 'FieldValueInvalid', message: 'not this one' });
    const inList = (list as readonly string[]).flatMap((item, index) =>
      texts.includes(item) ? [cause(`status.list[${index}]`)] : [],
    );
    return texts.includes(mode as string) ? [...inList, cause('status.mode')] : inList;
  };
}

test('a refusal names places of what was sent: what was cut before it was sent moves nothing else out', () => {
  const intent = { list: ['too long', 'a', 'b', 'odd', 'c'], mode: 'x' };
  const { sent, step } = write(intent, against('odd'));
  assert.equal(step.kind, 'done');
  assert.deepEqual(sent, [
    { list: ['a', 'b', 'odd', 'c'], mode: 'x' },
    { list: ['a', 'b', 'c'], mode: 'x' },
  ]);
  assert.deepEqual(
    losses(intent, sent.at(-1) ?? {}).map(({ value }) => value),
    ['too long', 'odd'],
  );
});

test('a second refusal names places of what was sent after the first', () => {
  const first = against('odd');
  let round = 0;
  const { sent, step } = write({ list: ['a', 'odd', 'b', 'bad', 'c'] }, (status) =>
    round++ === 0 ? first(status) : against('bad')(status),
  );
  assert.equal(step.kind, 'done');
  assert.deepEqual(sent.at(-1), { list: ['a', 'b', 'c'] });
});

test('a refusal holds for its value: another one in its place is written, and the same one elsewhere is not sent again', () => {
  const refuses = against('odd');
  const before = write({ list: ['a', 'odd'], mode: 'odd' }, refuses);
  assert.deepEqual(before.sent.at(-1), { list: ['a'] });
  const again = { ...START, refused: before.state.refused };
  const moved = write({ list: ['new', 'a', 'odd'], mode: 'odd' }, refuses, again);
  assert.deepEqual(moved.sent, [{ list: ['new', 'a'] }]);
  const other = write({ list: ['a', 'b'], mode: 'even' }, refuses, again);
  assert.deepEqual(other.sent, [{ list: ['a', 'b'], mode: 'even' }]);
  assert.equal(moved.state.refused.length, 2);
  assert.equal(other.state.refused.length, 0, 'what is not meant any more is still remembered');
  // The next illegal value in the same place is refused with the same words, and cut in its turn.
  const worse = write({ list: ['a', 'b'], mode: 'bad' }, against('odd', 'bad'), again);
  assert.equal(worse.step.kind, 'done');
  assert.deepEqual(worse.sent.at(-1), { list: ['a', 'b'] });
});

test('integers beyond 2^53 are cut, kept in a record and put back with all their digits', () => {
  const schema = liveOf({
    type: 'object',
    required: ['n'],
    properties: { n: { type: 'integer', maximum: 9, minimum: 1 } },
  });
  const intent = parseJson('{"n": 9007199254740993}') as JsonObject;
  const { status } = project(intent, { metadata: { uid: 'u' } }, { live: schema });
  assert.deepEqual(status, { n: 1 });
  const entries = entriesFor(losses(intent, status), [], { schemaHash: '', firstSeen: '', release: '' });
  const text = recordText({ object: 'n/x', base: '1', entries });
  assert.match(text, /9007199254740993/);
  assert.deepEqual(readRecord(text).entries, entries);
});

// Ten thousand looks at ten thousand items take a quarter of an hour.
test('a list of ten thousand illegal items is cut at once', { timeout: 120_000 }, () => {
  const list = Array.from({ length: 10_000 }, (_, index) => (index % 10 === 0 ? `${index % 7}` : `too long ${index}`));
  const { quarantined, status } = project({ list }, { metadata: { uid: 'u' } }, { live });
  assert.equal(quarantined.length, 9_000);
  assert.equal((status['list'] as readonly string[]).length, 1_000);
});
