import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { crdOfVersions } from '../testing/crd-of.ts';
import { ERAS } from '../validate/eras.ts';
import { preflight } from './preflight.ts';

const word: Schema = { type: 'string' };
const spec = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
});
const both = spec({ kept: word, lost: word });

/** What is told of an object that is read in v1 under a target of which v1 is as it was and v2 is stored, with this schema. */
function told(stored: Schema, value: JsonObject, more: { readonly served?: boolean } = {}): readonly string[] {
  const object: JsonObject = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: value };
  const now = crdOfVersions([{ name: 'v1', schema: both }]);
  const target = crdOfVersions([
    { name: 'v1', schema: both },
    { name: 'v2', schema: stored, storage: true, ...more },
  ]);
  const findings = preflight([object], [now], [target], { now: ERAS.E1, target: ERAS.E0 });
  return findings.map((one) => `${one.class} ${one.version} ${one.path}: ${one.what}`);
}

const values = (lost: Json): JsonObject => ({ kept: 'x', lost });

test('OWN-21 what the version that will be stored does not know is told as lost, although the version that is read knows it', () => {
  assert.deepEqual(told(spec({ kept: word }), values('y')), ['PRUNE v2 spec.lost: no field of v2, which is stored']);
  assert.deepEqual(told(both, values('y')), [], 'nothing is lost where both versions know it');
});

test('OWN-21 what the stored version refuses is told where clients may write in it, and not where none can', () => {
  const strict = spec({ kept: word, lost: { type: 'string', maxLength: 3 } });
  const [finding, ...more] = told(strict, values('longer'));
  assert.match(finding ?? '', /^BLOCK_SPEC v2 spec\.lost: /);
  assert.deepEqual(more, []);
  assert.deepEqual(told(strict, values('longer'), { served: false }), []);
});
