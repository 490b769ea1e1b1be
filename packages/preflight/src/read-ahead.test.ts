import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAhead } from './read-ahead.ts';

/** Sources that say what was asked of them. */
function sources(count: number, each: number) {
  const asked: string[] = [];
  const closed: number[] = [];
  const all = Array.from(
    { length: count },
    (_, source) =>
      async function* () {
        try {
          for (let at = 0; at < each; at += 1) {
            asked.push(`${source}.${at}`);
            yield `${source}.${at}`;
          }
        } finally {
          closed.push(source);
        }
      },
  );
  return { all, asked, closed };
}

test('sources are read in their order, each with its beginning, and one value ahead of the first few', async () => {
  const { all, asked, closed } = sources(4, 2);
  const seen: string[] = [];
  for await (const { source, value } of readAhead(all, 2)) {
    seen.push(value ?? `begin ${source}`);
    if (value === '0.0')
      assert.deepEqual(asked, ['0.0', '1.0', '0.1'], 'the next value, and the first of the next source');
  }
  assert.deepEqual(
    seen,
    [0, 1, 2, 3].flatMap((source) => [`begin ${source}`, `${source}.0`, `${source}.1`]),
  );
  assert.deepEqual(
    closed.toSorted((a, b) => a - b),
    [0, 1, 2, 3],
  );
});

test('who stops early closes what was opened, and nothing else was', async () => {
  const { all, closed } = sources(5, 3);
  for await (const { value } of readAhead(all, 3)) if (value === '0.1') break;
  assert.deepEqual(
    closed.toSorted((a, b) => a - b),
    [0, 1, 2],
  );
});

test('a failure is told when its turn comes, and not before', async () => {
  const failing = async function* (): AsyncGenerator<string> {
    yield await Promise.reject(new Error('no'));
  };
  const { all } = sources(1, 1);
  const seen: (string | undefined)[] = [];
  await assert.rejects(async () => {
    for await (const { value } of readAhead([...all, failing], 2)) seen.push(value);
  }, /^Error: no$/);
  assert.deepEqual(seen, [undefined, '0.0', undefined]);
});
