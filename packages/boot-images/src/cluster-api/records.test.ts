import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImage, BootImageStatus } from '@drydock/api';
import { imageNeeds } from './records.ts';

function imageOf(status: BootImageStatus, spec: BootImage['spec'] = {}): BootImage {
  return { metadata: { namespace: 'ns', name: 'capi-md-a' }, spec, status };
}

const needed = (status: BootImageStatus, name: string, keep = 0): boolean =>
  imageNeeds(() => [imageOf(status)], keep)(name) === 'bootimage ns/capi-md-a';

test('KEEP-C: an image of Cluster API that is being imported or tried, or that failed its canary, is not collected', () => {
  const canary = { group: 'g', machine: 'm', image: 'tried' };
  assert.equal(needed({ canary }, 'tried'), true);
  assert.equal(needed({ canary: { ...canary, verdict: 'Failed', message: 'no node' } }, 'tried'), true);
  assert.equal(needed({ canary: { ...canary, verdict: 'Passed', message: 'a node' } }, 'tried'), false);
  assert.equal(needed({ operation: { id: 'o', name: 'uploading', holder: 'us' } }, 'uploading'), true);
});

test('KEEP-C: the image that a set of Cluster API has, and as many before it as are kept, are not collected', () => {
  const history = ['now', 'before', 'long-ago'].map((image) => ({ id: image, image, release: image }));
  assert.deepEqual(
    history.map(({ image }) => needed({ history }, image, 1)),
    [true, true, false],
  );
});

test('KEEP-C: a pin that comes while images of Cluster API are collected keeps its image: each answer is of the moment', async () => {
  let images = [imageOf({})];
  const needs = imageNeeds(() => images, 0);
  assert.equal(needs('earlier'), undefined);
  images = [imageOf({}, { pin: { image: 'earlier' } })];
  await Promise.resolve();
  assert.equal(needs('earlier'), 'bootimage ns/capi-md-a');
});
