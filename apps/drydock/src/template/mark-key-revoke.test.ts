import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keysOfText, listKeys } from '@drydock/templates';
import { runVerbs } from '../testing/run-verbs.ts';
import { wasRevoked, withoutKey } from './mark-key.ts';

const [OLD, NEW] = ['0'.repeat(64), 'f'.repeat(64)];
const idOf = (key: string): string => keysOfText(key).keys.current?.id ?? assert.fail();
const day = '2026-10-01';

test('KEEP-3: a key file without a revoked key keeps every other byte, and never has the key again', () => {
  const text = `# of the team\n\nk2:${NEW}\r\nk1:${OLD}\nagain:${OLD}\n`;
  const left = withoutKey(text, idOf(OLD), { day });
  const comment = `# revoked ${idOf(OLD)} on ${day}: its codes do not count`;
  assert.equal(left, `# of the team\n\nk2:${NEW}\r\n${comment}\n${comment}\n`);
  assert.deepEqual(
    [wasRevoked(left, idOf(OLD)), wasRevoked(left, idOf(NEW)), wasRevoked(text, idOf(OLD))],
    [true, false, false],
  );
  const other = '3'.repeat(64);
  const { keys, problems } = keysOfText(withoutKey(text, idOf(NEW), { day, fresh: `key-2:${other}` }));
  assert.deepEqual(
    problems.filter((problem) => !/twice/.test(problem)),
    [],
  );
  assert.equal(keys.current?.id, idOf(other));
  assert.ok(!keys.known.has(idOf(NEW)) && keys.known.has(idOf(OLD)));
});

test('KEEP-3: revoke rewrites the key file, puts a new key in the place of the one that signed, and can be run again; without a yes nothing is done', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-mark-key-'));
  const file = join(folder, 'mark.key');
  const link = join(folder, 'link.key');
  await writeFile(file, `k1:${OLD}\n${NEW}\n`);
  await chmod(file, 0o640);
  await symlink('mark.key', link);
  const env = { HOME: folder, XDG_CONFIG_HOME: folder, PATH: process.env['PATH'] ?? '' };
  const revoke = (...args: readonly string[]) => ({ args: ['template', 'mark-key', 'revoke', ...args], env });
  const given = ['--mark-key', link];
  const [unknown, asked, done, again, older, none] = await runVerbs(
    [
      revoke('k9', ...given),
      revoke('k1', ...given),
      revoke('k1', '--yes', ...given),
      revoke(idOf(OLD), '--yes', ...given),
      revoke(idOf(NEW), '--yes', '-o', 'json', ...given),
      revoke('k1'),
    ],
    env,
  );
  assert.equal(unknown?.code, 2);
  assert.ok(unknown?.errors.includes(`there is no key k9 in ${link}: it has ${idOf(OLD)} (k1), ${idOf(NEW)}`));
  assert.deepEqual([asked?.code, /next: drydock.* --yes/.test(asked?.errors ?? '')], [5, true]);
  assert.equal(done?.code, 0, done?.errors ?? '');
  assert.match(done?.errors ?? '', /which templates bear its codes could not be looked up: no vCenter is named/);
  assert.match(
    done?.errors ?? '',
    new RegExp(`\nRevoked ${idOf(OLD)} \\(k1\\) in .*; [0-9a-f]{12} \\(key-2\\) signs new codes\n`),
  );
  assert.match(done?.errors ?? '', /\nnext: drydock template list -o wide/);
  assert.deepEqual([again?.code, /was revoked in .* before: nothing was done/.test(again?.errors ?? '')], [0, true]);
  assert.equal(older?.code, 0);
  assert.ok(older?.out.includes(`"id":"${idOf(NEW)}"`) && !older.out.includes('replacedBy'), older?.out ?? '');
  assert.deepEqual([none?.code, /no mark keys were named/.test(none?.errors ?? '')], [2, true]);
  const left = await readFile(file, 'utf8');
  assert.ok(!left.includes(OLD) && !left.includes(NEW));
  const [only, ...more] = listKeys(keysOfText(left).keys);
  assert.deepEqual([only?.names, only?.current, more], [['key-2'], true, []]);
  assert.equal((await stat(file)).mode & 0o777, 0o640);
  const said = [unknown, asked, done, again, older].map((ran) => `${ran?.out}${ran?.errors}`).join('');
  assert.ok(!/[0-9a-f]{64}/.test(said), 'no key is printed');
});
