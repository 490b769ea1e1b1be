import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema/schema.ts';
import { crdOf } from '../testing/crd-of.ts';
import { bridge } from './bridge.ts';

const rule = { rule: "self.name != 'x'", message: 'no x' };
const item = (maxLength?: number, more: Partial<Schema> = {}): Schema => ({
  type: 'object',
  properties: { name: { type: 'string', ...(maxLength === undefined ? {} : { maxLength }) } },
  'x-kubernetes-validations': [rule],
  ...more,
});
const list = (items: Schema, more: Partial<Schema> = {}): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { list: { type: 'array', items, ...more } } } },
});

/** Rules of the items that the bridge has, and places of those that it names as left out. */
function rules(old: Schema, now: Schema): { readonly kept: number; readonly left: readonly string[] } {
  const { crd, notes, unbridged } = bridge(crdOf(old), crdOf(now));
  assert.deepEqual(unbridged, []);
  const items = crd?.versions[0]?.schema?.properties?.['spec']?.properties?.['list']?.items;
  const left = notes.filter(({ what }) => what.includes('no server would take')).map(({ path }) => path);
  return { kept: items?.['x-kubernetes-validations']?.length ?? 0, left };
}

test('TRUTH-12 a rule whose cost a server bounds no longer is left out, and named', () => {
  assert.deepEqual(rules(list(item(9), { maxItems: 4 }), list(item(9), { maxItems: 8 })), { kept: 1, left: [] });
  // One release bounds the list and not the text, the other one the text and not the list: together nothing is bounded.
  assert.deepEqual(rules(list(item(), { maxItems: 4 }), list(item(9))), { kept: 0, left: ['spec.list[]'] });
  assert.deepEqual(rules(list(item(9), { maxItems: 4 }), list(item(9))), { kept: 1, left: [] });
});

test('TRUTH-12 a rule in a field that one release alone has is judged by the bounds around it', () => {
  const inner: Schema = { type: 'object', properties: { more: list(item(9), { maxItems: 2 }) } };
  const outer = (items: Schema, maxItems?: number): Schema => list(items, maxItems === undefined ? {} : { maxItems });
  const plain: Schema = { type: 'object', properties: { a: { type: 'string' } } };
  const left = (old: Schema, now: Schema): readonly string[] =>
    bridge(crdOf(old), crdOf(now)).notes.map(({ path }) => path);
  assert.deepEqual(left(outer(plain, 4), outer(inner, 4)), []);
  assert.deepEqual(left(outer(plain), outer(inner, 4)), ['spec.list[].more.spec.list[]']);
});

test('TRUTH-12 what a rule cannot see does not count', () => {
  const wide = (maxLength: number): Schema =>
    item(9, { properties: { name: { type: 'string', maxLength: 9 }, other: { type: 'string', maxLength } } });
  assert.deepEqual(rules(list(wide(5), { maxItems: 4 }), list(wide(50), { maxItems: 4 })), { kept: 1, left: [] });
  assert.deepEqual(rules(list(wide(50), { maxItems: 4 }), list(wide(5), { maxItems: 4 })), { kept: 1, left: [] });
});

test('TRUTH-12 a rule that compares with the old value stays where values have a counterpart', () => {
  const compares = { 'x-kubernetes-validations': [{ rule: 'self.name == oldSelf.name' }] };
  const keyed: Partial<Schema> = {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    maxItems: 4,
  };
  const named = item(9, { ...compares, required: ['name'] });
  assert.deepEqual(rules(list(named, keyed), list(named, { ...keyed, maxItems: 3 })).kept, 1);
  const inner = (items: Schema): Schema => ({
    ...items,
    properties: {
      ...items.properties,
      more: { type: 'string', maxLength: 3, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
    },
  });
  const { crd, notes } = bridge(
    crdOf(list(item(9, { required: ['name'] }), { maxItems: 4 })),
    crdOf(list(inner(item(9, { required: ['name'] })), keyed)),
  );
  const items = crd?.versions[0]?.schema?.properties?.['spec']?.properties?.['list'];
  assert.equal(items?.['x-kubernetes-list-type'], 'atomic');
  assert.equal(items?.items?.properties?.['more']?.['x-kubernetes-validations'], undefined);
  assert.deepEqual(
    notes.map(({ path }) => path),
    ['spec.list[].more'],
  );
});
