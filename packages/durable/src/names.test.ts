import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import {
  checkName,
  checkPath,
  checkRelative,
  contains,
  isStagingName,
  ownName,
  parseOwn,
  stagingName,
} from './names.ts';

test('stagingName: beside the file, dotted, recognised, never twice the same', () => {
  const name = stagingName('/a/b');
  assert.ok(name.startsWith('/a/.b.'));
  assert.ok(isStagingName(name.slice('/a/'.length)));
  assert.ok(!isStagingName('b'));
  assert.ok(!isStagingName('.b.notours.staging'));
  assert.notEqual(name, stagingName('/a/b'));
});

test('own names: what they were made for is read back, also with dots, line breaks and names of ours in it', () => {
  for (const name of ['tls-cert', 'a.b.c', 'line\nbreak', '日本', '.hidden'])
    assert.deepEqual(parseOwn(basename(ownName('/d', name, 'old'))), { name, kind: 'old' });
});

test('own names: a long name is cut between characters, except where it must be found again', () => {
  const long = '日'.repeat(85);
  const staging = basename(ownName('/d', long, 'staging'));
  assert.ok(Buffer.byteLength(staging) <= 255);
  assert.ok(!staging.includes('\ufffd'));
  assert.equal(parseOwn(basename(ownName('/d', long, 'old')))?.name, long);
});

const bad: readonly (readonly [string, string])[] = [
  ['', 'is empty'],
  ['.', 'is no name'],
  ['..', 'is no name'],
  ['a/b', 'separator'],
  ['a\0b', 'NUL'],
  ['x'.repeat(256), 'longer than 255'],
  ['.a.0123456789abcdef.staging', 'reserved'],
];

for (const [name, problem] of bad) {
  test(`names: ${JSON.stringify(name.slice(0, 40))} is refused: ${problem}`, () => {
    assert.throws(() => checkName(name, '/t'), { code: 'INVALID', stage: 'validate', message: new RegExp(problem) });
  });
}

test('paths: relative ones have plain parts, absolute ones are not the root', () => {
  for (const path of ['/a', 'a//b', 'a/../b', './a', 'a/'])
    assert.throws(() => checkRelative(path, '/t'), { code: 'INVALID' });
  checkRelative('a/b.c/d', '/t');
  for (const path of ['/', '', 'a\0b']) assert.throws(() => checkPath(path), { code: 'INVALID' });
  assert.equal(checkPath('/a/../b/'), '/b');
});

test('contains: by whole parts', () => {
  assert.ok(contains('/a', '/a/b'));
  assert.ok(contains('/a', '/a'));
  assert.ok(!contains('/a', '/ab'));
});
