import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../schema/json.ts';
import { pathText } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { ERAS, type Era, judge, type Write } from './eras.ts';

/** The part of ClusterVersion that the trap is made of. */
function clusterVersion(capabilities: readonly string[]): Schema {
  const names: Schema = {
    type: 'array',
    items: { type: 'string', enum: capabilities },
    'x-kubernetes-list-type': 'atomic',
  };
  return {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { channel: { type: 'string' } } },
      status: {
        type: 'object',
        properties: {
          desired: { type: 'string' },
          capabilities: { type: 'object', properties: { enabledCapabilities: names, knownCapabilities: names } },
        },
      },
    },
  };
}

const OLD = clusterVersion(['Console', 'MachineAPI']);
const STORED: JsonObject = {
  metadata: { name: 'version' },
  spec: { channel: 'a' },
  status: { desired: 'x', capabilities: { enabledCapabilities: ['Build', 'Console'] } },
};

function refused(
  write: Omit<Write, 'schema' | 'hasStatus' | 'stored'>,
  era: Era,
  schema: Schema = OLD,
): readonly string[] {
  const { causes } = judge({ ...write, stored: STORED, schema, hasStatus: true }, ERAS[era]);
  return causes.map(({ reason, path }) => `${pathText(path)} ${reason}`);
}

const ILLEGAL = 'status.capabilities.enabledCapabilities[0] FieldValueNotSupported';

test('the trap, era by era: a write of the status that leaves the illegal list alone', () => {
  const next = { ...STORED, status: { ...(STORED['status'] as JsonObject), desired: 'y' } };
  assert.deepEqual(refused({ endpoint: 'status', next }, 'E0'), [ILLEGAL]);
  assert.deepEqual(refused({ endpoint: 'status', next }, 'E1'), [ILLEGAL]);
  assert.deepEqual(refused({ endpoint: 'status', next }, 'E2'), []);
});

test('the trap: one legal value appended to the illegal list is refused in every era', () => {
  const next = { ...STORED, status: { capabilities: { enabledCapabilities: ['Build', 'Console', 'MachineAPI'] } } };
  for (const era of ['E0', 'E1', 'E2'] as const)
    assert.deepEqual(refused({ endpoint: 'status', next }, era), [ILLEGAL], era);
});

test('the trap: a label cannot be set in E0 alone, and a status of legal values is taken everywhere', () => {
  const labelled = { ...STORED, metadata: { name: 'version', labels: { a: 'b' } } };
  assert.deepEqual(refused({ endpoint: 'main', next: labelled }, 'E0'), [ILLEGAL]);
  assert.deepEqual(refused({ endpoint: 'main', next: labelled }, 'E1'), []);
  assert.deepEqual(refused({ endpoint: 'main', next: labelled }, 'E2'), []);
  const clean = { ...STORED, status: { capabilities: { enabledCapabilities: ['Console'] } } };
  for (const era of ['E0', 'E1', 'E2'] as const)
    assert.deepEqual(refused({ endpoint: 'status', next: clean }, era), [], era);
});

test('a rule of the spec refuses a write of the status before E2', () => {
  const schema: Schema = {
    ...OLD,
    properties: {
      ...OLD.properties,
      spec: {
        type: 'object',
        properties: { channel: { type: 'string', 'x-kubernetes-validations': [{ rule: "self != 'a'" }] } },
      },
    },
  };
  const next = { ...STORED, status: { desired: 'y' } };
  assert.deepEqual(refused({ endpoint: 'status', next }, 'E1', schema), ['spec.channel FieldValueInvalid']);
  assert.deepEqual(refused({ endpoint: 'status', next }, 'E2', schema), []);
});

test('a rule at the root is asked for whatever changes, in every era', () => {
  const schema: Schema = {
    ...OLD,
    'x-kubernetes-validations': [{ rule: "!has(self.spec) || self.spec.channel != 'a'", message: 'no a' }],
  };
  const next = { ...STORED, status: { desired: 'y' } };
  for (const era of ['E0', 'E1', 'E2'] as const)
    assert.deepEqual(refused({ endpoint: 'status', next }, era, schema), ['<nil> FieldValueInvalid'], era);
});

test('a transition rule refuses the healing of what it protects', () => {
  const schema: Schema = {
    type: 'object',
    properties: {
      status: {
        type: 'object',
        properties: {
          desired: { type: 'string', enum: ['z'], 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
        },
      },
    },
  };
  const next = { ...STORED, status: { desired: 'z' } };
  for (const era of ['E0', 'E1', 'E2'] as const)
    assert.deepEqual(refused({ endpoint: 'status', next }, era, schema), ['status.desired FieldValueInvalid'], era);
});

test('OWN-21 a status that is sent with the object, not to its own endpoint, is not looked at', () => {
  const legal = { ...STORED, status: { desired: 'x' } };
  const { causes } = judge({ endpoint: 'main', next: STORED, stored: legal, schema: OLD, hasStatus: true }, ERAS.E0);
  assert.deepEqual(causes, []);
});

test('a creation drops the status and is strict about everything else', () => {
  assert.deepEqual(judge({ endpoint: 'create', next: STORED, schema: OLD, hasStatus: true }, ERAS.E2).causes, []);
  const without = judge({ endpoint: 'create', next: STORED, schema: OLD, hasStatus: false }, ERAS.E2).causes;
  assert.deepEqual(
    without.map(({ path }) => pathText(path)),
    ['status.capabilities.enabledCapabilities[0]'],
  );
});

test('what cannot be evaluated here is a doubt, never a yes', () => {
  const schema: Schema = {
    type: 'object',
    'x-kubernetes-validations': [{ rule: "'%f'.format([1.5]) == '1.500000'" }],
  };
  const { causes, doubts } = judge({ endpoint: 'create', next: {}, schema, hasStatus: false }, ERAS.E2);
  assert.deepEqual([causes.length, doubts.length], [0, 1]);
});
