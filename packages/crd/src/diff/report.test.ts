import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preflight } from '../preflight/preflight.ts';
import type { Schema } from '../schema/schema.ts';
import { crdOf } from '../testing/crd-of.ts';
import { ERAS } from '../validate/eras.ts';
import { createReport } from './report.ts';

function mapOf(values: Schema): Schema {
  const map: Schema = { type: 'object', additionalProperties: values };
  return { type: 'object', properties: { status: { type: 'object', properties: { map } } } };
}

test('a report does not grow with the keys of maps: beyond a thousand places they are one', () => {
  const [now, target] = [crdOf(mapOf({ type: 'string' })), crdOf(mapOf({ type: 'string', enum: ['a'] }))];
  const report = createReport();
  for (let index = 0; index < 3_000; index += 1) {
    const object = {
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: `x-${index}`, namespace: 'n' },
      status: { map: { [`key-${index}`]: 'b' } },
    };
    report.add(preflight([object], [now], [target], { now: ERAS.E2, target: ERAS.E1 }));
  }
  const { groups, verdict } = report.build();
  assert.equal(verdict, 'blocked');
  assert.equal(groups.length, 1_001);
  assert.equal(
    groups.reduce((sum, { count }) => sum + count, 0),
    3_000,
  );
  const [others] = groups.filter(({ path }) => path === '…');
  assert.deepEqual([others?.count, others?.objects], [2_000, 2_000]);
  // Whoever accepts the whole kind accepts those as well.
  assert.equal(report.build([`BLOCK_STATUS:${now.name}`]).verdict, 'clean');
});
