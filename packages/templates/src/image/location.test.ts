import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { Agent } from 'undici';
import { isTemplateError } from '../errors.ts';
import type { TemplateImage } from '../wish.ts';
import { ovaCache } from './cache.ts';
import { throughProxies } from './location.ts';
import type { OvaSource } from './ova-source.ts';

/** A cache without a server. */
async function offline(): Promise<{ readonly dir: string; readonly cache: OvaSource } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'cache-'));
  const agent = new Agent();
  const dir = join(folder, 'cache');
  return {
    dir,
    cache: ovaCache({ dir, bytes: 1 << 30, dispatcher: agent }),
    [Symbol.asyncDispose]: async () => {
      await agent.destroy();
      await rm(folder, { recursive: true });
    },
  };
}

async function use(cache: OvaSource, image: TemplateImage): Promise<void> {
  await using ova = await cache.open(image, {});
  assert.ok(ova.source('disk.vmdk'));
}

test('SAFE-10 file: is a file and nothing else: a FIFO or a device is refused at once', async () => {
  await using made = await offline();
  const pipe = join(dirname(made.dir), 'pipe.ova');
  execFileSync('mkfifo', [pipe]);
  for (const location of [
    pathToFileURL(pipe).href,
    'file:///dev/zero',
    'file:///dev/tty',
    pathToFileURL(dirname(pipe)).href,
  ])
    await assert.rejects(
      use(made.cache, { release: '9.6', sha256: 'a'.repeat(64), location }),
      (error) => isTemplateError(error, 'OVA_INVALID') && /it is not a file/.test(error.message),
      location,
    );
  const elsewhere = { release: '9.6', sha256: 'a'.repeat(64), location: 'file://user:hunter2@host/x.ova' };
  await assert.rejects(
    use(made.cache, elsewhere),
    (error) => isTemplateError(error, 'DOWNLOAD_FAILED') && !error.message.includes('hunter2'),
  );
});

test('SAFE-9 an address that cannot be read is not shown, with its user and password, and no error has it', async () => {
  await using made = await offline();
  for (const location of [
    'https://user:hunter2@mirror.example:port/a.ova',
    'https://user:p/hunter2@mirror.example/a.ova',
    'ftp://user:hunter2@mirror/a.ova',
  ])
    await assert.rejects(use(made.cache, { release: '9.6', sha256: 'a'.repeat(64), location }), (error) => {
      assert.ok(isTemplateError(error, 'DOWNLOAD_FAILED'));
      assert.doesNotMatch(inspect(error, { depth: 8 }), /hunter2/);
      return /it is no address of http:\/\/ or https:\/\//.test(error.message);
    });
});

test('SAFE-9 a proxy of the environment that is no address is not shown', async () => {
  const before = process.env['https_proxy'];
  process.env['https_proxy'] = 'http://user:hunter2@proxy.example:port';
  try {
    await assert.rejects(
      throughProxies(undefined, async () => undefined),
      (error) => {
        assert.doesNotMatch(inspect(error, { depth: 8 }), /hunter2/);
        return isTemplateError(error, 'DOWNLOAD_FAILED');
      },
    );
  } finally {
    if (before === undefined) delete process.env['https_proxy'];
    else process.env['https_proxy'] = before;
  }
});
