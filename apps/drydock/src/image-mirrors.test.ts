import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { UsageError } from './exit.ts';
import { imageMirrors, mirrorPairs } from './image-mirrors.ts';

test('the longest beginning that matches is replaced; what matches none stays', () => {
  const locate = imageMirrors([
    'https://rhcos.example/=https://user:pw@mirror.example/rhcos/?x=',
    'https://rhcos.example/art/=file:///srv/images/',
  ]);
  assert.equal(locate('https://rhcos.example/art/9.8/a.ova'), 'file:///srv/images/9.8/a.ova');
  assert.equal(locate('https://rhcos.example/b.ova'), 'https://user:pw@mirror.example/rhcos/?x=b.ova');
  assert.equal(locate('https://elsewhere.example/c.ova'), 'https://elsewhere.example/c.ova');
  assert.equal(imageMirrors([])('https://a/b'), 'https://a/b');
});

test('what is no pair of addresses is refused without repeating it: a password may be in it', () => {
  for (const pair of [
    '',
    'https://a/',
    'mirror.example=https://b/',
    'https://a/=b',
    'https://a/=ftp://u:hunter2@b/',
    'file:///a=https://b/',
  ])
    assert.throws(
      () => imageMirrors([pair]),
      (error) => error instanceof UsageError && !error.message.includes('hunter2'),
      pair,
    );
});

test('SAFE-9 a password of a mirror comes from a file or the environment, and is refused as an argument without being repeated', async () => {
  const pair = 'https://rhcos.example/=https://user:hunter2@mirror.example/';
  const folder = mkdtempSync(join(tmpdir(), 'mirrors-'));
  try {
    const file = join(folder, 'mirrors');
    writeFileSync(file, `# of ours\n${pair}\n\n`);
    const other = 'https://other.example/=https://mirror.example/other@2/';
    const env = { DRYDOCK_IMAGE_MIRRORS: 'https://third.example/=https://u:p@mirror.example/third/' };
    const locate = imageMirrors(await mirrorPairs({ arguments: [other], file, env }));
    assert.equal(locate('https://rhcos.example/a.ova'), 'https://user:hunter2@mirror.example/a.ova');
    assert.equal(locate('https://other.example/a.ova'), 'https://mirror.example/other@2/a.ova');
    assert.equal(locate('https://third.example/a.ova'), 'https://u:p@mirror.example/third/a.ova');
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const given of [pair, 'https://a/=https://user:p/hunter2@b/', 'https://a/=https://hunter2@b/'])
    await assert.rejects(
      mirrorPairs({ arguments: [given], env: {} }),
      (error) =>
        error instanceof UsageError &&
        /--image-mirrors-file FILE/.test(error.message) &&
        !error.message.includes('hunter2'),
      given,
    );
  await assert.rejects(
    mirrorPairs({ file: '/nonexistent', env: {} }),
    /--image-mirrors-file \/nonexistent cannot be read/,
  );
});

test('SAFE-9 who says where an image is leads nobody out of a mirror: neither its password to a host of his, nor a reader to files beside it', () => {
  const locate = imageMirrors([
    'https://images.example=https://reader:s3cret@mirror.example',
    'https://files.example/=file:///srv/images/',
    'https://more.example/x=https://mirror.example/y',
  ]);
  assert.equal(locate('https://images.example/a.ova'), 'https://reader:s3cret@mirror.example/a.ova');
  assert.equal(locate('https://files.example/9.6/a.ova'), 'file:///srv/images/9.6/a.ova');
  assert.equal(locate('https://more.example/x/a.ova'), 'https://mirror.example/y/a.ova');
  for (const location of [
    'https://images.example.evil.example/a.ova',
    'https://images.example@evil.example/a.ova',
    'https://images.example:8443/a.ova',
    'https://files.example/../../etc/shadow',
    'https://files.example/%2e%2e/%2e%2e/etc/shadow',
    'https://files.example/a/..%2f..%2f..%2f..%2fetc/shadow',
    'https://more.example/x/../z/a.ova',
  ])
    assert.equal(locate(location), location);
});
