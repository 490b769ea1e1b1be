import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from './exit.ts';
import { imageMirrors } from './image-mirrors.ts';

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
