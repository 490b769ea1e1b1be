import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/crd';
import type { KubeObject } from '@drydock/kube';
import { type Manifest, readManifestFile } from '../../payload/manifest.ts';
import { MADE_BY } from '../merge/metadata.ts';
import { stepFor } from '../step.ts';
import { claimOf, writtenKeys } from './claims.ts';
import type { InventoryEntry } from './entry.ts';

const owner = { name: 'Payload tools' };
type Texts = Readonly<Record<string, string>>;

const configMap = (data: Texts, labels: Texts = {}, metadata: object = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'n', labels, ...metadata },
  data,
});
const manifestOf = (object: JsonObject): Manifest => {
  const [manifest] = readManifestFile('0000_10_a_1.yaml', JSON.stringify(object));
  assert.ok(manifest !== undefined);
  return manifest;
};
const live = (data: Texts, labels: Texts = {}, version = '7', uid = 'u1'): JsonObject =>
  configMap(data, labels, { uid, resourceVersion: version });
const id = manifestOf(configMap({})).id;
const entryOf = (more: Partial<InventoryEntry>): InventoryEntry => ({
  ...{ id, version: 'v1', file: 'f', releases: ['2'], uid: 'u1', made: true, written: {}, ...more },
});

/** What the inventory has after `wanted` was written over `before`. */
const written = (wanted: JsonObject, before: JsonObject | undefined, after: JsonObject, entry?: InventoryEntry) =>
  writtenKeys({ id, wanted, before, after, claim: claimOf(entry, before, owner) });

/** The live object after a step for `wanted`, by what the inventory knows. */
const after = (wanted: JsonObject, is: JsonObject, entry: InventoryEntry | undefined): JsonObject => {
  const step = stepFor(manifestOf(wanted), is as unknown as KubeObject, entry, 'updating', owner);
  return step.action === 'update' ? step.object : is;
};
const labelsOf = (object: JsonObject) => (object['metadata'] as JsonObject)['labels'];

test('RB-R12 a label and a key that a release brought are gone when an older one comes back; without an inventory they stay', () => {
  const newer = configMap({ both: '1', newer: '1' }, { both: '1', newer: '1' });
  const older = configMap({ both: '1' }, { both: '1' });
  const is = live({ both: '1', newer: '1' }, { both: '1', newer: '1' });
  const known = entryOf({ written: written(newer, undefined, is) });
  const back = after(older, is, known);
  assert.deepEqual([labelsOf(back), back['data']], [{ both: '1' }, { both: '1' }]);
  const upstream = after(older, is, undefined);
  assert.deepEqual([labelsOf(upstream), upstream['data']], [is['metadata'] && labelsOf(is), is['data']]);
});

test('RB-R12 what others put in, or changed since, stays', () => {
  const newer = configMap({ mine: '1', changed: '1' }, { mine: '1' });
  const made = live({ mine: '1', changed: '1' }, { mine: '1' });
  const known = entryOf({ written: written(newer, undefined, made) });
  const edited = live({ mine: '1', changed: 'by somebody', theirs: 'x' }, { mine: '1', theirs: 'x' }, '9');
  const back = after(configMap({}), edited, known);
  assert.deepEqual([labelsOf(back), back['data']], [{ theirs: 'x' }, { changed: 'by somebody', theirs: 'x' }]);
});

test('what was there with the same value before we came is not ours', () => {
  const before = live({ same: '1', other: '0' });
  const wanted = configMap({ same: '1', other: '1', fresh: '1' });
  const is = live({ same: '1', other: '1', fresh: '1' }, {}, '8');
  const keys = Object.keys(written(wanted, before, is)['data'] ?? {});
  assert.deepEqual(keys.toSorted(), ['fresh', 'other']);
});

test('a key that somebody took out and we put back is ours as before; one that they changed to what we want is theirs', () => {
  const wanted = configMap({ a: '1', b: '1' });
  const is = live({ a: '1', b: '1' });
  const first = entryOf({ written: written(wanted, undefined, is) });
  const edited = live({ b: '2' }, {}, '8');
  const again = written(configMap({ a: '1', b: '2' }), edited, live({ a: '1', b: '2' }, {}, '9'), first);
  assert.deepEqual(Object.keys(again['data'] ?? {}), ['a']);
});

const sent = configMap({ a: 'new' });
const intent = (resourceVersion: string) => ({
  resourceVersion,
  written: written(sent, undefined, sent),
});
const CRASHES: readonly (readonly [title: string, entry: InventoryEntry, is: JsonObject | undefined, ours: string])[] =
  [
    [
      'an object that was never made is not claimed',
      entryOf({ uid: '', made: false, intent: intent('') }),
      undefined,
      'nothing',
    ],
    [
      'nor is one of the same name that somebody else made',
      entryOf({ uid: '', made: false, intent: intent('') }),
      live({ a: 'new' }),
      'nothing',
    ],
    [
      'one that has our mark was made, answer or not',
      entryOf({ uid: '', made: false, intent: intent('') }),
      configMap({ a: 'new' }, {}, { uid: 'u2', resourceVersion: '5', annotations: { [MADE_BY]: owner.name } }),
      'made u2 a',
    ],
    [
      'a change that never came leaves what was ours',
      entryOf({ written: written(configMap({ b: '1' }), undefined, live({ b: '1' })), intent: intent('7') }),
      live({ b: '1' }),
      'made u1 b',
    ],
    ['a change that came is ours', entryOf({ intent: intent('6') }), live({ a: 'new' }), 'made u1 a'],
    ['a change that somebody wrote over is theirs', entryOf({ intent: intent('6') }), live({ a: 'theirs' }), 'made u1'],
    [
      'an object that was made anew by somebody is theirs',
      entryOf({ written: written(sent, undefined, sent) }),
      live({ a: 'new' }, {}, '9', 'u9'),
      'nothing',
    ],
  ];

for (const [title, entry, is, ours] of CRASHES)
  test(`after a crash: ${title}`, () => {
    const claim = claimOf(entry, is, owner);
    const text = [claim.made ? 'made' : '', claim.uid, ...Object.keys(claim.written['data'] ?? {})].join(' ').trim();
    assert.equal(text === '' ? 'nothing' : text, ours);
  });

test('what was sent lends its digest only to what the server kept of it', () => {
  const wanted = configMap({ kept: '1', changed: '1' }, { l: '1' });
  const answer = live({ kept: '1', changed: '2' }, { l: '1' });
  const claim = claimOf(undefined, undefined, owner);
  const keys = written(wanted, undefined, wanted);
  const sent = { object: wanted, keys };
  assert.deepEqual(
    writtenKeys({ id, wanted, before: undefined, after: answer, claim, sent }),
    written(wanted, undefined, answer),
  );
  assert.notDeepEqual(written(wanted, undefined, answer), keys);
});

test('fields of a pod that a release brought go with it, those of an administrator stay', () => {
  const deployment = (spec: JsonObject, metadata: object = {}): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', namespace: 'n', ...metadata },
    spec: { template: { spec: { containers: [{ name: 'c' }], ...spec } } },
  });
  const newer = manifestOf(deployment({ hostPID: true, nodeSelector: { ours: 'x' } }));
  const made = deployment({ hostPID: true, nodeSelector: { ours: 'x' } }, { uid: 'u1', resourceVersion: '7' });
  const keys = writtenKeys({
    id: newer.id,
    wanted: newer.object,
    before: undefined,
    after: made,
    claim: claimOf(undefined, undefined, owner),
  });
  const edited = deployment(
    { hostPID: true, nodeSelector: { ours: 'x', theirs: 'y' }, priority: 5 },
    { uid: 'u1', resourceVersion: '8' },
  );
  const step = stepFor(
    manifestOf(deployment({})),
    edited as unknown as KubeObject,
    { ...entryOf({ written: keys }), id: newer.id },
    'updating',
    owner,
  );
  assert.ok(step.action === 'update');
  assert.deepEqual(
    step.differences.map(({ path, is }) => `${path} ${is}`),
    ['spec.template.spec.hostPID undefined', 'spec.template.spec.nodeSelector.ours undefined'],
  );
});
