import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema/schema.ts';
import { reachesLists, reachOf, within } from './cel-reach.ts';

const VALUE = { spec: { a: 1, b: { c: [2] } }, status: { namespace: 'x', 'a-b': 3 }, metadata: { name: 'n' } };

test('of a value a rule sees the fields that it names, and all below the last of them', () => {
  for (const [rule, seen] of [
    ['self.spec.a > 0', { spec: { a: 1 } }],
    ['has(self.spec.b) && self.spec.b.c.all(x, x > 1)', { spec: { b: { c: [2] } } }],
    ["self.spec.b.c[0] == 2 || self.metadata.name == 'self'", { spec: { b: { c: [2] } }, metadata: { name: 'n' } }],
    ['self.status.__namespace__ == self.status.a__dash__b', { status: { namespace: 'x', 'a-b': 3 } }],
    ['self.spec == oldSelf.spec && self.spec.a == 1', { spec: VALUE.spec }],
    ['self.spec.a == 1 && has(self.spec)', { spec: { a: 1 } }],
    ['has(self.status) && has( self.spec.b )', { status: {}, spec: { b: {} } }],
    ['has(self.spec) && self.spec == oldSelf.spec', { spec: VALUE.spec }],
    ['has(self.spec.a)', { spec: { a: 1 } }],
    ['self . spec . a == 1', { spec: { a: 1 } }],
    ['true', {}],
    ['size(self) > 0', VALUE],
    ['self.exists(key, key == "a")', VALUE],
    ["self['spec'].a == 1", VALUE],
    ['self.?spec.hasValue()', VALUE],
    ['self == oldSelf', VALUE],
    ['self.spec.a == 1 && self != oldSelf', VALUE],
  ] as const)
    assert.deepEqual(within(VALUE, reachOf(rule)), seen, rule);
});

test('lists count where they are within reach', () => {
  const list: Schema = { type: 'array', items: {}, 'x-kubernetes-list-type': 'set' };
  const schema: Schema = { properties: { spec: { properties: { list, a: {} } }, status: {} } };
  for (const [rule, reaches] of [
    ['self.spec.a == 1', false],
    ['self.status == 1', false],
    ['self.spec.list == []', true],
    ['self.spec == 1', true],
    ['self == oldSelf', true],
    // A name in another form than the schema's.
    ['self.__spec__ == 1', true],
  ] as const)
    assert.equal(reachesLists(schema, reachOf(rule)), reaches, rule);
});
