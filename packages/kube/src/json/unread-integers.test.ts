import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactText, parseExact, withExact } from './exact-integers.ts';

/** So many levels of objects. */
function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
}

test('where no integer was read that needs its digits, a value is written without being searched, and refused for the same reasons', () => {
  const value = { b: [1, 'x'], a: null };
  assert.equal(withExact(value, BigInt), value);
  assert.equal(exactText(value), '{"b":[1,"x"],"a":null}');
  assert.equal(exactText({ wide: 9223372036854775807n }), '{"wide":9223372036854775807}');
  assert.equal(exactText(nested(10_000)).length, 59_996);
  const ring: { again?: unknown } = {};
  ring.again = ring;
  for (const wrong of [nested(10_001), ring]) assert.throws(() => exactText(wrong), { name: 'DeepJson' });
  // From the first such integer on everything is searched.
  const read = parseExact('{"a":{"wide":9223372036854775807}}');
  assert.equal(exactText({ read }), '{"read":{"a":{"wide":9223372036854775807}}}');
  const { a } = withExact(read, BigInt) as { readonly a: { readonly wide: unknown } };
  assert.equal(a.wide, 9223372036854775807n);
});
