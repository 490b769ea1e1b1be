import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Platform } from './platform.ts';
import { cloudPlatforms, lazyPlatforms } from './platforms.ts';

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

/** The modules of rooms of clouds that a process has loaded after it was asked for a platform. */
function loadedFor(type: string): readonly string[] {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    const { cloudPlatforms, lazyPlatforms } = await import(${JSON.stringify(import.meta.resolve('./index.ts'))});
    await using platforms = lazyPlatforms(cloudPlatforms({}));
    await platforms.load(${JSON.stringify(type)});
    console.log(JSON.stringify(loaded.flatMap((url) => /boot-images\\/src\\/((?:cloud|gcp|aws|azure)\\/.*)/.exec(url)?.[1] ?? [])));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as readonly string[];
}

/** The rules of Azure's images, without its client: templates of Cluster API are read by them wherever a cluster is. */
const RULES = ['azure/image.ts', 'azure/target.ts'];

test('no client of a cloud is loaded where the cluster is elsewhere', () => {
  assert.deepEqual(loadedFor('VSphere').toSorted(), RULES);
  const loaded = loadedFor('GCP');
  assert.ok(loaded.includes('gcp/platform.ts') && loaded.includes('cloud/https.ts'), loaded.join());
  assert.deepEqual(
    loaded.filter((file) => /^(?:aws|azure)/.test(file) && !RULES.includes(file)),
    [],
  );
});
