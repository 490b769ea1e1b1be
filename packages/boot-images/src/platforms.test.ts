import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cloudPlatforms } from './cloud-platforms.ts';
import type { Platform } from './platform.ts';
import { lazyPlatforms } from './platforms.ts';

test('of all platforms that are served only the cluster’s is made, once, and its conversations end with the role', async () => {
  const made: string[] = [];
  const ended: string[] = [];
  const maker = (type: string) => (): Platform => {
    made.push(type);
    return { type, [Symbol.asyncDispose]: async () => void ended.push(type) } as Partial<Platform> as Platform;
  };
  const platforms = lazyPlatforms({ GCP: maker('GCP'), VSphere: maker('VSphere') });
  assert.deepEqual(
    [platforms.has('VSphere'), platforms.get('VSphere'), platforms.has('constructor')],
    [true, undefined, false],
  );
  for (const type of ['GCP', 'GCP', undefined, 'OpenStack', 'constructor']) await platforms.load(type);
  assert.deepEqual([made, platforms.get('GCP')?.type], [['GCP'], 'GCP']);
  await platforms[Symbol.asyncDispose]();
  assert.deepEqual(ended, ['GCP']);
});

test('each cloud has the type by which it is found, and a name in lower case', async () => {
  const makers = Object.entries(cloudPlatforms('unasked'));
  assert.ok(makers.length > 0);
  for (const [type, make] of makers) {
    const platform = await make();
    assert.deepEqual([platform.type, platform.name], [type, type.toLowerCase()]);
  }
});
