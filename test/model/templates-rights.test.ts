import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { type Plays, PROOF_PLAYS, VCENTER_PLAYS } from './templates-rights-plays.ts';

const root = resolve(import.meta.dirname, '../..');

/** Who could do what, and what not: `who could: claim` and `who could not: claim`. */
type Claims = readonly string[];

/** The rows of the table whose header begins so; claims of a cell are parted by semicolons. */
function claimsOf(page: string, header: string): Claims {
  const lines = page.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' '));
  const from = lines.findIndex((line) => line.startsWith(`| ${header} | could | could not |`));
  assert.ok(from >= 0, `there is no table "${header}"`);
  const rows = lines.slice(from + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end < 0 ? rows.length : end).flatMap((row) => {
    const [who = '', could = '', couldNot = ''] = row.split('|').slice(1, -1);
    const claims = (cell: string, how: string): Claims =>
      cell.split(';').flatMap((claim) => (claim.trim() === '' ? [] : [`${who.trim()} ${how}: ${claim.trim()}`]));
    return [...claims(could, 'could'), ...claims(couldNot, 'could not')];
  });
}

const playsOf = (plays: Plays) =>
  Object.entries(plays).flatMap(([who, { could, couldNot }]) => [
    ...Object.entries(could).map(([claim, play]) => [`${who} could: ${claim}`, play] as const),
    ...Object.entries(couldNot).map(([claim, play]) => [`${who} could not: ${claim}`, play] as const),
  ]);

for (const [path, header, plays] of [
  ['docs/security.md', 'a vCenter user who may', VCENTER_PLAYS],
  ['docs/install.md', 'a user who', PROOF_PLAYS],
] as const) {
  const played = playsOf(plays);

  test(`KEEP-11 ${path}: each claim of the table "${header}" has a play, and each play a claim`, () => {
    const claims = claimsOf(readFileSync(join(root, path), 'utf8'), header);
    assert.deepEqual(claims.toSorted(), played.map(([claim]) => claim).toSorted());
  });

  for (const [claim, play] of played) test(`KEEP-11 ${path}: ${header} ${claim}`, play);
}

test('KEEP-11 docs/security.md names tests that there are', () => {
  const page = readFileSync(join(root, 'docs/security.md'), 'utf8');
  const named = [...page.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, path = '']) => path);
  assert.ok(named.length >= 5, named.join());
  assert.deepEqual(
    named.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test('KEEP-11 negative control: a claim that nobody plays, and a row that is gone, are seen', () => {
  const page = (rows: readonly string[]): string =>
    ['| a user who | could | could not |', '| --- | --- | --- |', ...rows, '', 'text'].join('\n');
  const claims = claimsOf(page(['| reads | look; copy | have it removed |', '| writes | | |']), 'a user who');
  assert.deepEqual(claims, ['reads could: look', 'reads could: copy', 'reads could not: have it removed']);
  assert.throws(() => claimsOf(page([]), 'somebody who'), /there is no table/);
});
