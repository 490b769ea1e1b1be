import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from './exit.ts';
import { chosen } from './watch-lists.ts';

test('a list is the built-in one, another one, or the built-in one with changes', () => {
  const of = (text?: string): string => chosen('--list', text, ['a', 'b']).join();
  assert.equal(of(), 'a,b');
  assert.equal(of('default'), 'a,b');
  assert.equal(of('default, c,-a'), 'b,c');
  assert.equal(of('c,d,c'), 'c,d');
  for (const [text, says] of [
    ['default,-x', /--list: x is not in the list/],
    ['-a', /begin with default/],
    ['', /empty/],
    ['default,-a,-b', /empty/],
  ] as const)
    assert.throws(
      () => of(text),
      (error) => error instanceof UsageError && says.test(error.message),
      text,
    );
});
